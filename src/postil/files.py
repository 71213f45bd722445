"""Writing files: the one place for models, checkpoints, converted text, reports and logs.

A file is written under another name and renamed: at any moment there is the old file or the new one. A process that is
killed while it writes leaves ``.NAME.*.partial``, which nothing reads and the next run that writes NAME removes. Errors
name the file that was asked for.
"""

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast, final

_BUFFER = 1 << 18


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of the file if the block ends well, and vanishes if not."""
    asked = Path(path)
    if asked.exists() and not asked.is_file() and not asked.is_dir():  # a device or a named pipe
        with _opened(asked, "wb", asked) as stream:
            yield stream
        return
    target = Path(os.path.realpath(asked))  # a link goes on pointing to the same place
    with naming(asked):
        remove_abandoned(target)
    with _partial_file(target, asked) as (temporary, stream):
        yield stream
        with naming(asked):
            stream.flush()
            os.fsync(stream.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
    if os.name != "nt":  # Windows cannot open a folder
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)  # the disk holds the folder's new name for the file
        finally:
            os.close(handle)


def append_line(path: str | os.PathLike[str], line: str, *, sync: bool = False) -> None:
    """Add a whole line to the end of a file, or nothing. An unfinished line that stands there is ended first.

    With ``sync`` the disk holds it when this returns.
    """
    path = Path(path)
    with naming(path), path.open("ab+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            line = line if file.read(1) == b"\n" else f"\n{line}"
        try:
            content = f"{line}\n".encode()
            while content:  # a disk that fills up takes a part of it
                content = content[file.write(content) :]
            if sync:
                os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


@contextlib.contextmanager
def held_alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes out while the block runs: BlockingIOError if one of them is inside.

    The lock is on ``.NAME.lock`` next to the file, which may be replaced meanwhile. A process that is killed leaves
    that file behind, but not the lock.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    with naming(Path(path)):
        while True:
            file = lock.open("ab")
            if not _lock(file, by_hand=True):
                file.close()
                raise BlockingIOError(errno.EWOULDBLOCK, "another process uses this file")
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                    break
            file.close()  # the process that held it has just removed it
    try:
        yield
    finally:
        if os.name != "nt":  # Windows removes no file that is open
            lock.unlink(missing_ok=True)
        file.close()


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files that killed processes left next to a file; those of living ones are locked."""
    target = Path(os.path.realpath(path))
    for found in target.parent.iterdir():
        if not is_temporary(found, target):
            continue
        with contextlib.suppress(OSError), found.open("rb") as file:
            if _lock(file):
                found.unlink()


def is_temporary(path: Path, target: Path) -> bool:
    """Whether a file has the name of an unfinished ``target``."""
    is_ours = path.name.startswith(f".{target.name}.") and path.name.endswith(".partial")
    return is_ours and path.parent == target.parent


@final
class _Named(io.FileIO):
    """A file whose errors of writing name the file that was asked for."""

    def __init__(self, path: Path, mode: str, asked: Path) -> None:
        self._asked = asked
        super().__init__(path, mode)

    def write(self, content: Any) -> int:
        with naming(self._asked):
            return super().write(content)


def _opened(path: Path, mode: str, asked: Path) -> BinaryIO:
    with naming(asked):
        return cast(BinaryIO, io.BufferedWriter(_Named(path, mode, asked), _BUFFER))


@contextlib.contextmanager
def naming(asked: Path) -> Iterator[None]:
    """Errors in the block name the file or folder that was asked for: nobody asked for a temporary one."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(asked)) from None


@contextlib.contextmanager
def _partial_file(target: Path, asked: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file next to the target, locked while it is written and gone afterwards, unless it was renamed."""
    while True:
        path = target.with_name(f".{target.name}.{os.urandom(4).hex()}.partial")
        with _opened(path, "xb", asked) as stream:
            try:
                if not _lock(stream) or not path.exists():
                    continue  # another process took it for an abandoned one before it was locked
                yield path, stream
                return
            finally:
                path.unlink(missing_ok=True)


def _lock(file: BinaryIO, *, by_hand: bool = False) -> bool:
    """Lock a file until it is closed; False if another process holds it.

    Windows removes no file that is open, so partial files need no lock there; others are locked ``by_hand``.
    """
    if sys.platform == "win32":
        import msvcrt

        with contextlib.suppress(OSError):
            if by_hand:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            return True
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True
