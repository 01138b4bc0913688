#!/usr/bin/env bash
# Installs the system packages that the tests use, if they are missing and this machine lets us:
#   qemu-system-arm  a second opinion on firmware images (interrupts, instructions)
#   qemu-user   runs the kernel that was cross-compiled to aarch64 (bit-exactness across machines)
#   chromium    opens the report page as a browser does
#   gcc         a second compiler, which must give the same bytes, and the sanitizers; these need libc6-dev too
#   cppcheck    looks at exported C (rules of MISRA)
#   wine64      runs the Windows library of an exported model
#   postgresql  the store of campaigns on a server
#   nodejs      runs exported WebAssembly modules (version 18 or later)
#   valgrind    counts the kernel's instructions by part
#   zsh, fish  shells in which Tab completes names, beside bash
#   i2c-tools, gpsd, gpsd-clients  programs of others that read our chips
# A test whose package is missing is skipped with the reason; in CI (CI=true) that is a failure.
set -u
packages=()
command -v qemu-aarch64 >/dev/null || packages+=(qemu-user)
command -v qemu-system-arm >/dev/null || packages+=(qemu-system-arm)
command -v chromium >/dev/null || packages+=(chromium)
command -v gcc >/dev/null || packages+=(gcc)
command -v cppcheck >/dev/null || packages+=(cppcheck)
command -v wine64 >/dev/null || [ -e /usr/lib/wine/wine64 ] || packages+=(wine64)
[ -e /usr/include/stdint.h ] || packages+=(libc6-dev)
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || packages+=(postgresql)
command -v node >/dev/null || packages+=(nodejs)
command -v valgrind >/dev/null || packages+=(valgrind)
command -v zsh >/dev/null || packages+=(zsh)
command -v fish >/dev/null || packages+=(fish)
command -v i2cget >/dev/null || [ -x /usr/sbin/i2cget ] || packages+=(i2c-tools)
command -v gpsd >/dev/null || [ -x /usr/sbin/gpsd ] || packages+=(gpsd)
command -v gpspipe >/dev/null || packages+=(gpsd-clients)
if [ ${#packages[@]} -eq 0 ]; then
    echo "   all there: qemu, chromium, gcc, libc6-dev, cppcheck, wine64, postgresql, nodejs, valgrind, zsh, fish, i2c-tools, gpsd, gpsd-clients"
    exit 0
fi
echo "   missing: ${packages[*]}"
if ! command -v apt-get >/dev/null; then
    echo "   no apt-get here: install them by hand, or the tests that use them are skipped"
    exit 0
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "   not root and no password-free sudo: run 'sudo apt-get install ${packages[*]}', or some tests are skipped"
        exit 0
    fi
    sudo="sudo -n"
fi
log=$(mktemp)
if $sudo apt-get update >"$log" 2>&1 && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends "${packages[@]}" >>"$log" 2>&1; then
    echo "   installed"
else
    echo "   apt-get failed; the tests that use them are skipped:"
    tail -n 5 "$log"
fi
rm -f "$log"
