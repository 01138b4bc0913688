"""The cache folder: its place, its owner and permissions, and entries that are whole or absent.

Entries become native code of this process, so any user who can write to the folder could run code as this user. A
folder of another user, or one that others can write to, is refused, and so is each file of another user. Folders and
symbolic links that lead there must belong to this user or root; others may write to them only with the sticky bit.

A file is its content followed by a seal: MAGIC and the SHA-256 of name and content. An entry that is damaged, truncated
or renamed does not match its seal and counts as absent.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shlex
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from ironbird.errors import CacheWarning, CompileError

MAGIC = b"\nironbird cache 1\n"
SEAL = len(MAGIC) + hashlib.sha256().digest_size
LARGEST = 1 << 28  # most bytes of an entry
MOST_LINKS = 40  # as many as Linux follows
ELSEWHERE = "set IRONBIRD_CACHE to a folder of your own"
# s of waiting for another process that builds the same entry: until a message, until an error
SAY_AFTER_S, GIVE_UP_S = 20.0, 1200.0


def cache_folder() -> Path:
    """Folder of compiled libraries and models: IRONBIRD_CACHE, or the user's cache folder."""
    named = os.environ.get("IRONBIRD_CACHE")
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ironbird"
    except RuntimeError as error:  # no HOME, and no entry of this user in the system's list
        raise CompileError(f"this user has no home folder for the cache; {ELSEWHERE}") from error


def trusted_users(folder: Path) -> set[int]:
    """Users who may own the cache folder and its entries: this user and root; for root also the owner of a named
    folder.

    A container runs as root on a folder of the user who started it; setting IRONBIRD_CACHE permits this, unless any
    user could have made that folder there.
    """
    users = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("IRONBIRD_CACHE"):
        with contextlib.suppress(OSError):  # of the nearest one that is there
            nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists()).resolve()
            owner = nearest.stat().st_uid
            outside = next(
                path for path in (*nearest.parents, Path("/")) if path.stat().st_uid != owner or path == Path("/")
            )
            if not outside.stat().st_mode & stat.S_IWOTH:
                users.add(owner)
    return users


def problem_of(folder: Path) -> str:
    """Why a cache folder must not be used, with advice; empty if it may be used or does not exist."""
    try:
        status = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return f"the cache folder {folder} cannot be looked at ({error.strerror}); {ELSEWHERE}"
    name = shlex.quote(str(folder))
    if not stat.S_ISDIR(status.st_mode):
        return f"the cache folder {folder} is a file; remove it, or {ELSEWHERE}"
    if status.st_uid not in trusted_users(folder):
        return (
            f"the cache folder {folder} belongs to another user (number {status.st_uid}), who could run code as you; "
            f"{ELSEWHERE}"
        )
    if _has_other_writers(status):  # also with the sticky bit: others could make the folders inside first
        return (
            f"others can write to the cache folder {folder} (mode {stat.S_IMODE(status.st_mode):o}) and so run code as "
            f"you; say 'chmod go-w {name}', or {ELSEWHERE}"
        )
    return ""


def _has_other_writers(status: os.stat_result) -> bool:
    private_group = status.st_gid == status.st_uid  # each user has a private group
    return bool(status.st_mode & (stat.S_IWOTH | (0 if private_group else stat.S_IWGRP)))


def _way_to(folder: Path) -> Iterator[Path]:
    """All folders and symbolic links that lead to a folder, from the root on; not the folder itself."""
    parts, at, links = [*reversed(folder.absolute().parts[1:])], Path("/"), 0
    while parts:
        yield at
        part = parts.pop()
        at = at.parent if part == ".." else at / part
        if at.is_symlink() and links < MOST_LINKS:
            yield at
            links += 1
            target = Path(os.readlink(at))
            parts += reversed(target.parts[1:] if target.is_absolute() else target.parts)
            at = Path("/") if target.is_absolute() else at.parent


def _problem_above(folder: Path) -> str:
    """Why what leads to the cache must not be trusted: others could put another folder in its place."""
    trusted = trusted_users(folder)
    for above in _way_to(folder):
        try:
            status = above.lstat()
        except OSError:
            continue
        leads = f"the cache folder {folder} lies in {above}"
        if stat.S_ISLNK(status.st_mode):
            leads = f"the link {above} leads to the cache folder {folder}"
        if status.st_uid not in trusted:
            whose = f"belongs to another user (number {status.st_uid}), who could run code as you"
            return f"{leads}, which {whose}; {ELSEWHERE}"
        sticky = status.st_mode & stat.S_ISVTX
        if not stat.S_ISLNK(status.st_mode) and _has_other_writers(status) and not sticky:
            return (
                f"{leads}, to which others can write (mode {stat.S_IMODE(status.st_mode):o}) and so run code as you; "
                f"{ELSEWHERE}"
            )
    return ""


def checked_folder() -> Path:
    """The cache folder, after a check of owner and permissions, its own and those of the folders that it lies in."""
    folder = cache_folder()
    problem = problem_of(folder) or _problem_above(folder)
    if problem:
        raise CompileError(problem)
    return folder


def make_folder(*names: str) -> Path:
    """A folder inside the cache, created with access for its user only; raises an error with advice."""
    root = checked_folder()
    folder = root.joinpath(*names)
    if folder.is_dir():
        return _checked(root, folder)
    try:
        for path in (*reversed(folder.parents), folder):
            if not path.exists():
                path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return _checked(checked_folder(), folder)  # another user may have made the cache folder since


def _checked(root: Path, folder: Path) -> Path:
    """A folder inside the cache, after a check that it and those between belong to no other user."""
    inside = folder
    while inside != root:
        if problem := problem_of(inside):
            raise CompileError(problem)
        inside = inside.parent
    return folder


def cannot_write(path: Path, error: OSError) -> CompileError:
    """The error for a file or folder of the cache that cannot be written, with advice."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        cure = f"make room, or {ELSEWHERE} on another disk"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        cure = f"{ELSEWHERE} that you can write to"
    else:
        cure = ELSEWHERE
    return CompileError(f"cannot write to the cache, {path}: {error.strerror or error}; {cure}")


def _seal(path: Path, content: bytes) -> bytes:
    return MAGIC + hashlib.sha256(path.name.encode() + b"\0" + content).digest()


def read_entry(path: Path) -> bytes | None:
    """Content of an entry; None, with a warning, if it is damaged or another user's; None if there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        _say(path, f"cannot be read ({error.strerror})")
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            _say(path, "is no file of the cache")
            return None
        if status.st_uid not in trusted_users(cache_folder()):
            _say(path, f"belongs to another user (number {status.st_uid})")
            return None
        try:
            data = file.read()
        except OSError as error:
            _say(path, f"cannot be read ({error.strerror})")
            return None
    content = data[:-SEAL]
    if data[-SEAL:] != _seal(path, content):
        _say(path, "is damaged or was not made by this version")
        return None
    return content


def _say(path: Path, what: str) -> None:
    warnings.warn(f"{path} in the cache {what}; it is not used and built again", CacheWarning, stacklevel=4)


def write_entry(path: Path, content: bytes) -> None:
    """Write an entry whole or not at all; raises `OSError` on failure."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"build-{path.stem}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.write(_seal(path, content))
        os.chmod(name, 0o644)  # other users may read a shared cache
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock against other processes that build the same entry; the system releases it when the process ends."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        begin, warned = time.monotonic(), False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - begin
                if waited > GIVE_UP_S:
                    raise CompileError(
                        f"another process has been building {path.stem} for {waited:.0f} s; end it "
                        f"('fuser {shlex.quote(str(path))}' names it) and try again"
                    ) from None
                if waited > SAY_AFTER_S and not warned:
                    warned = True
                    warnings.warn(f"waiting for another process that builds {path.stem}", CacheWarning, stacklevel=3)
                time.sleep(min(0.2, 0.005 + waited / 10))
            except OSError:  # a file system without locks: entries are still whole, only work may be done twice
                break
        yield
    finally:
        os.close(handle)
