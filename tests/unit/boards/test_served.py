"""Boards behind the device files of unmodified programs: Debian's i2c-tools and gpsd, and a C program of ours."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironbird.boards.board import load_board
from ironbird.boards.chips.trace import read_trace
from ironbird.boards.serve import Served, serve
from ironbird.boards.served import ServedBoard
from ironbird.faults.catalog import parse_fault
from ironbird.flight.prepare import inject
from ironbird.host.process import passed_on
from ironbird.host.virtual_time.run import become

BOARD = load_board("pilotpi")
PROBE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/spi/spidev.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <arpa/inet.h>
#include <sys/time.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    unsigned char out[15] = {0xF5}, in[15] = {0};
    struct spi_ioc_transfer one = {.tx_buf = (unsigned long)out, .rx_buf = (unsigned long)in, .len = 2};
    int f = open("/dev/spidev0.0", O_RDWR), none = open("/dev/spidev7.0", O_RDWR), error = errno;
    printf("who %d %02x\n", ioctl(f, SPI_IOC_MESSAGE(1), &one), in[1]);
    printf("absent %d %s\n", none, strerror(error));
    unsigned char wake[2] = {0x4E, 0x0F}, first[1] = {0x9F};
    if (write(f, wake, 2) != 2) return 1;
    usleep(200000);
    struct spi_ioc_transfer two[2] = {{.tx_buf = (unsigned long)first, .len = 1},
                                      {.rx_buf = (unsigned long)in, .len = 6}};
    printf("two %d %d\n", ioctl(f, SPI_IOC_MESSAGE(2), two), (signed char)in[4] < 0 ? -1 : 1);
    int pair = open("/dev/i2c-1", O_RDWR), quick[2];
    struct i2c_smbus_ioctl_data look = {.read_write = I2C_SMBUS_READ, .size = I2C_SMBUS_QUICK};
    for (int k = 0; k < 2; k++) ioctl(pair, I2C_SLAVE, k ? 0x41L : 0x40L), quick[k] = ioctl(pair, I2C_SMBUS, &look);
    printf("quick %d %d %s\n", quick[0], quick[1], strerror(errno));
    unsigned char many[1024];
    struct timespec t = {0, 0}, begin, end;
    ioctl(pair, I2C_SLAVE, 0x40L);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int got = (int)read(pair, many, sizeof many);
    clock_gettime(CLOCK_MONOTONIC, &end);
    long took_ms = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
    printf("slow %d %d\n", got, took_ms >= 23);
    struct timeval v = {0, 0};
    int a = clock_settime(CLOCK_REALTIME, &t), b = settimeofday(&v, 0);
    printf("clock %d %d %s\n", a, b, strerror(errno));
    struct sockaddr_in far = {AF_INET, htons(9), {htonl(0x08080808)}};
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    printf("far %zd %s\n", sendto(s, "x", 1, 0, (struct sockaddr *)&far, sizeof far), strerror(errno));
    printf("raw %d\n", socket(AF_PACKET, SOCK_RAW, 0));
    int line = open("/dev/ttySC0", O_RDWR | O_NOCTTY);
    struct termios settings;
    struct stat about;
    int n = tcgetattr(line, &settings), r = fstat(line, &about);
    printf("tty %d %d %d %d\n", n, isatty(line), r, S_ISCHR(about.st_mode));
    printf("root %d\n", geteuid() == 0);
    int export = open("/sys/class/pwm/pwmchip0/export", O_WRONLY);
    int once = dprintf(export, "%d", 1), twice = dprintf(export, "1"), busy = errno, far_ = dprintf(export, "2");
    printf("export %d %d %s, %d %s\n", once, twice, strerror(busy), far_, strerror(errno));
    int duty = open("/sys/class/pwm/pwmchip0/pwm1/duty_cycle", O_RDWR), early = dprintf(duty, "1500000"), why = errno;
    FILE *period = fopen("/sys/class/pwm/pwmchip0/pwm1/period", "w"), *back;
    fprintf(period, "%d", 2500000);
    int closed = fclose(period), value = 0;
    for (int k = 0; k < 3; k++) dprintf(duty, "%d", 1500000 + k);
    back = fopen("/sys/class/pwm/pwmchip0/pwm1/duty_cycle", "re");
    if (!back || fscanf(back, "%d", &value) != 1) return 1;
    printf("duty %d %s, %d, %d\n", early, strerror(why), closed, value);
    int pins = open("/sys/class/gpio/export", O_WRONLY), pin, high;
    if (write(pins, "573", 3) != 3) return 1;
    pin = open("/sys/class/gpio/gpio573/value", O_RDWR);
    high = (int)pwrite(pin, "1", 1, 0);
    why = errno;
    if (write(open("/sys/class/gpio/gpio573/direction", O_WRONLY), "out", 3) != 3) return 1;
    printf("pin %d %s, %d", high, strerror(why), (int)pwrite(pin, "1", 1, 0));
    printf(", %c\n", pread(pin, in, 1, 0) == 1 ? in[0] : '?');
    return 0;
}
"""


def _run(command: list[str], capfd: pytest.CaptureFixture[str], *orders: str, **more: object) -> tuple[Served, str]:
    served = serve(BOARD, command, faults=[parse_fault(order) for order in orders], order=inject, **more)  # type: ignore[arg-type]
    return served, capfd.readouterr().out


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: i2c-tools, gpsd, gpsd-clients)")
    return found


@pytest.fixture(scope="module")
def probe() -> Iterator[Path]:
    """The program, where every user may go: pytest closes its own folders at the start of each run on the machine."""
    with tempfile.TemporaryDirectory(prefix="ironbird-probe-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        source, made = folder / "probe.c", folder / "probe"
        source.write_text(PROBE)
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.28", "-O1"]
        subprocess.run([*compiler, str(source), "-o", str(made)], check=True)
        yield made


@pytest.mark.parametrize("transport", ["memory", "socket"])
def test_a_c_program_reads_the_chips_and_cannot_touch_the_host(
    probe: Path, capfd: pytest.CaptureFixture[str], transport: str
) -> None:
    served, out = _run([str(probe)], capfd, transport=transport)
    said = dict(line.split(" ", 1) for line in out.splitlines())
    assert said["who"] == "2 47"  # WHO_AM_I of the ICM-42688-P
    assert said["absent"].startswith("-1 No such file")
    assert said["two"].startswith("7 ")  # write, then read while the chip stays selected
    assert said["quick"] == "0 -1 Remote I/O error"
    assert said["slow"] == "1024 1"  # 9225 bits at 400 kHz
    assert said["clock"].startswith("-1 -1 Operation not permitted")
    assert said["far"].startswith("-1 Network is unreachable") and said["raw"] == "-1"
    assert said["tty"] == "0 1 0 1" and said["root"] == "0"
    assert said["export"] == "1 -1 Device or resource busy, -1 No such device"
    assert said["duty"] == "-1 Invalid argument, 0, 1500002"  # no pulse without a period; a write replaces the value
    assert said["pin"] == "-1 Operation not permitted, 1, 1"  # an input is not written
    assert served.code == 0 and served.requests >= 3


def test_a_shell_drives_an_output_and_a_pin_of_the_board() -> None:
    script = (
        "p=/sys/class/pwm/pwmchip0; cat $p/npwm; echo 0 > $p/export; echo 20000000 > $p/pwm0/period; "
        "echo 1500000 > $p/pwm0/duty_cycle; echo 1 > $p/pwm0/enable; cat $p/pwm0/duty_cycle $p/pwm0/enable; "
        "echo 600 > /sys/class/gpio/export; echo high > /sys/class/gpio/gpio600/direction; "
        "cat /sys/class/gpio/gpio600/value"
    )
    folder = Path(tempfile.mkdtemp(prefix="ironbird-chips-"))  # the program is another user's, if we are root
    board = ServedBoard(BOARD, folder)
    try:
        done = subprocess.run(
            ["sh", "-c", script], env=board.variables(passed_on()), text=True, capture_output=True, check=False,
            preexec_fn=lambda: become(board.owner),
        )  # fmt: skip
        assert (done.stdout.split(), done.stderr) == (["2", "1500000", "1", "1"], "")
        assert board.chips.pulse_s(0) == 1.5e-3 and board.chips.pulse_s(1) == 0.0
        assert board.chips.memory.pin[600 - 571].value == 1
        assert board.chips.requests == 6
    finally:
        board.close()
        shutil.rmtree(folder)


def test_i2cdetect_finds_the_chips_of_the_board_and_not_one_without_power(capfd: pytest.CaptureFixture[str]) -> None:
    tool = [_tool("i2cdetect"), "-y", "1"]
    _, whole = _run(tool, capfd)
    words = [word for line in whole.splitlines()[1:] for word in line.split()[1:] if word != "--"]
    assert words == ["0f", "40", "48", "70", "76"]
    for how in ("-q", "-r"):  # by quick writes, by reads of a byte
        assert _run([tool[0], "-y", how, "1"], capfd)[1] == whole
    served, broken = _run(tool, capfd, "chip.off@1:instance=baro")
    assert "76" not in broken.split("70:")[-1] and "0f" in broken
    assert "of baro from" in served.witnesses[0]


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ("wire.sda_short_low@1:instance=i2c1", 2),
        ("wire.scl_short_low@1:instance=i2c1", 2),
        ("wire.sda_open_high@1:instance=i2c1", 2),
        ("wire.nack@1:instance=mag", 2),
    ],
)
def test_i2cget_reports_a_broken_line_as_an_error_of_the_bus(
    order: str, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    tool = [_tool("i2cget"), "-y", "1", "0x0f", "0x00"]
    assert _run(tool, capfd)[1].strip() == "0x10"
    served, out = _run(tool, capfd, order)
    assert served.code == code and "0x" not in out
    assert "ineffective" not in served.witnesses[0]


def test_i2cdump_reads_through_a_swapped_identity(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tool = [_tool("i2cdump"), "-y", "-r", "0-15", "1", "0x0f", "b"]
    _, out = _run(tool, capfd, "chip.identity@1:instance=mag", trace=tmp_path / "trace.txt")
    assert out.splitlines()[1].split()[1] == "4a"  # 0x10 with the bits of another part
    assert sum(t.bus == "I2C" for t in read_trace((tmp_path / "trace.txt").read_text())) == 16


def test_gpsd_gets_a_fix_from_the_receiver_and_none_over_a_dead_line(capfd: pytest.CaptureFixture[str]) -> None:
    _tool("gpspipe")
    script = (
        f"{_tool('gpsd')} -N -n -b -S $0 -F $PWD/control /dev/ttySC0 2>gpsd.log & "
        "for i in 1 2 3 4 5 6 7 8 9; do timeout 20 gpspipe -w -n 7 127.0.0.1:$0 && break; sleep 0.5; done; kill $!"
    )

    def flown(*orders: str, seconds: float | None = None) -> list[dict[str, object]]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        _, out = _run(["sh", "-c", script, str(port)], capfd, *orders, until_s=seconds)
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    fixes = [m for m in flown() if m["class"] == "TPV"]
    assert fixes and fixes[-1]["mode"] == 3
    home = fixes[-1]
    assert abs(float(str(home["lat"]))) > 1.0 and float(str(home["speed"])) < 1.0
    assert not [m for m in flown("wire.rx_short_high@1:instance=gps", seconds=4.0) if m["class"] == "TPV"]
