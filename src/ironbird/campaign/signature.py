"""Signatures of evidence packs: SSH keys, which most engineers have, by OpenSSH's own `ssh-keygen -Y` [SSHSIG].

The signed text is the list of hashes of all files. Ironbird never reads a private key: ssh-keygen does, and asks for
its passphrase or uses the agent.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ironbird.errors import StoreError

NAMESPACE = "ironbird-evidence"  # a signature made for another purpose is refused
_WHO = "signer"


def sign(data: bytes, key: Path) -> bytes:
    """Sign bytes with a private key (or a public one whose private part an agent holds)."""
    check_key(key)
    done = _run(["-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE], data)
    if done.returncode != 0 or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise StoreError(f"cannot sign with {key}: {_words(done)}")
    return done.stdout


def check_key(key: Path) -> None:
    """Refuse a key that is not there."""
    if not key.is_file():
        raise StoreError(f"there is no key {key}: give a private SSH key, or make one with 'ssh-keygen -t ed25519'")


def check(data: bytes, signature: bytes, signer: Path) -> None:
    """Raise if the signature is not of these bytes by the owner of a public key."""
    try:
        fields = signer.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot read the public key {signer}: {error}") from None
    if len(fields) < 2 or not fields[0].startswith(("ssh-", "ecdsa-", "sk-")):
        raise StoreError(f"{signer} is no public SSH key: give the .pub file of who signed")
    with tempfile.TemporaryDirectory(prefix="ironbird-") as folder:
        allowed, file = Path(folder) / "allowed", Path(folder) / "signature"
        allowed.write_text(f'{_WHO} namespaces="{NAMESPACE}" {fields[0]} {fields[1]}\n')
        file.write_bytes(signature)
        done = _run(["-Y", "verify", "-f", str(allowed), "-I", _WHO, "-n", NAMESPACE, "-s", str(file)], data)
    if done.returncode != 0:
        raise StoreError(f"the signature is not that of {signer}, or something was changed after it: {_words(done)}")


def fits(data: bytes, signature: bytes) -> bool:
    """Whether a signature is of these bytes, by whoever made it."""
    with tempfile.TemporaryDirectory(prefix="ironbird-") as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)
        return _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(file)], data).returncode == 0


def _run(arguments: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *arguments], input=data, capture_output=True, timeout=120)
    except FileNotFoundError:
        raise StoreError("ssh-keygen is not installed: it signs and checks (package openssh-client)") from None
    except subprocess.TimeoutExpired:
        raise StoreError("ssh-keygen gave no answer in two minutes") from None


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    text = (done.stderr or done.stdout).decode(errors="replace").strip()
    return text.splitlines()[-1] if text else f"ssh-keygen ended with code {done.returncode}"
