"""Reading and writing files with care.

Only regular files are opened (``reading``): a pipe or a terminal may let a reader wait for ever. What is written
appears under its name when it is complete, and on the disk. Only a regular file is replaced, never a device, a pipe, a
socket or a folder.

Every file that is made beside its name first is made here. Such a temporary has a random name and must be new
(``O_EXCL``, ``O_NOFOLLOW``), and it is written through the descriptor that made it: neither a link that another user
has put there nor another process with the same number can get at it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from glsl_infer.errors import InputError

TEMPORARY = ".tmp-"
"""What the names of temporaries begin with; a random number and the end of the file's own name follow."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_HERE, _EXCHANGE = -100, 2  # Linux: AT_FDCWD, RENAME_EXCHANGE
_NAME_END = 50  # characters of a name, at most 200 bytes: a temporary's name must not be longer than names may be


def not_a_file(path: str | Path) -> str | None:
    """Return what ``path`` is instead of a regular file ('a folder', 'a pipe' ...), or None where it is one.

    Raises:
        OSError, ValueError: nothing is there, or it may not be looked at.
    """
    return _KINDS.get(stat.S_IFMT(Path(path).stat().st_mode))


def reading(path: str | Path) -> BinaryIO:
    """Open a regular file. Nothing else is waited for, not even where it takes the file's place in this moment.

    Raises:
        InputError: something else is there.
        OSError, ValueError: nothing is there, or it may not be read.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    kind = _KINDS.get(stat.S_IFMT(os.fstat(file.fileno()).st_mode))
    if kind is not None:
        file.close()
        raise InputError(f"{path}: is {kind}; give a file")
    return file


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def output_file(path: str | Path) -> Path:
    """Return the file that is made or replaced when ``path`` is written: ``path``, or what a symbolic link leads to.

    Raises:
        InputError: something else than a regular file is there, or it may not be looked at.
    """
    path = Path(path)
    try:
        kind = not_a_file(path)
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(path)) if path.is_symlink() else path
    except (OSError, ValueError) as error:
        raise cannot_be_written(path, error) from None
    if kind == "a folder":
        raise InputError(f"{path}: is a folder; name a file")
    if kind is not None:
        advice = f"name a file, and copy it there: cat FILE > {path}"
        raise InputError(f"{path}: is {kind}, which a file would replace; {advice}")
    if not target.exists():  # /dev/stdout of a file that was removed
        raise InputError(f"{path}: leads to a file that has no name any more; name a file")
    return target


def cannot_be_written(path: Path, error: Exception) -> InputError:
    """Return the error to raise where ``error`` was met in writing ``path``."""
    return InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})")


def _mode_of(path: Path) -> int | None:
    """Return the mode of the file that a new one replaces; None where there is none.

    Raises:
        InputError: it is read-only.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, ValueError):
        return None
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(f"{path}: is read-only; name another file, or allow it to be replaced: chmod u+w {path}")
    return mode & 0o777


class Replacement:
    """A new file next to ``path``, to be filled, and then to take its name, and the mode of the file that it replaces.

    Args:
        path: the name in the end; a symbolic link there stays, and the file that it leads to is replaced.
        private: nobody but this user may read it, and a symbolic link at ``path`` is replaced, not followed: for a
            folder that other users may be able to write to.

    Attributes:
        file: to write to.
        target: the file that will be made or replaced.

    Raises:
        InputError: something else than a regular file is at ``path``, or a read-only one.
        OSError, ValueError: no file can be made in the folder.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self.target = path if private and path.is_symlink() else output_file(path)
        self._mode = None if private else _mode_of(self.target)
        self._temporary = self.target.parent / f"{TEMPORARY}{os.urandom(8).hex()}-{self.target.name[-_NAME_END:]}"

        self._rescued = False

        def opener(name: str, flags: int) -> int:
            return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o600 if private else 0o666)

        # The mode x is O_CREAT | O_EXCL. The umask takes its share of the rights, as of any new file's.
        self.file = cast(BinaryIO, open(self._temporary, "x+b", opener=opener))  # noqa: SIM115

    def commit(self) -> None:
        """Give the file its name, once its bytes are on the disk.

        Raises:
            OSError: that failed.
        """
        self.file.flush()
        if self._mode is not None:
            self._temporary.chmod(self._mode)
        os.fsync(self.file.fileno())
        self.file.close()
        self._temporary.replace(self.target)
        _sync_folder(self.target.parent)

    def rescue(self, target: Path) -> Path:
        """Keep what was written so far as ``target``, in the same folder; where that fails, under its present name.

        Returns:
            Where it lies. Nothing is raised: a disk that is full, or a pipe at ``target``, may be why it is rescued.
        """
        with contextlib.suppress(OSError, ValueError):
            self.file.flush()
            os.fsync(self.file.fileno())
        with contextlib.suppress(OSError, ValueError):
            self.file.close()
        self._rescued = True
        try:
            place = output_file(target)
            self._temporary.replace(place)
        except (OSError, InputError):
            return self._temporary
        _sync_folder(place.parent)
        return place

    def discard(self) -> None:
        """Close the file and remove it; after ``commit`` or ``rescue`` nothing is left to do."""
        if self._rescued:
            return
        with contextlib.suppress(OSError, ValueError):
            self.file.close()
        with contextlib.suppress(OSError, ValueError):
            self._temporary.unlink()


@contextlib.contextmanager
def writing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to fill, which takes the name ``path`` in the end; after an error nothing has changed.

    It can be sought in, and its ``name`` has the suffix of ``path``, for writers that choose the format by it.
    Arguments and errors are those of ``Replacement``.
    """
    replacement = Replacement(path, private=private)
    try:
        yield replacement.file
        replacement.commit()
    finally:
        replacement.discard()


def write_text(path: Path, text: str, errors: str = "strict") -> None:
    """Write a text file as UTF-8; until all is written, what was there stays.

    Args:
        path: the file; see ``Replacement``, also for what is raised.
        text: what is to be in it.
        errors: what to do with what is no UTF-8, as ``str.encode`` knows it.
    """
    with writing(path) as file:
        file.write(text.encode("utf-8", errors))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Do as ``writing``, for writers that want a path: yield one of that name in a folder of its own, and copy it."""
    import shutil
    import tempfile

    with writing(path) as file, tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        made = Path(folder) / path.name
        yield made
        with made.open("rb") as source:
            shutil.copyfileobj(source, file)


def put_folder(new: Path, target: Path) -> None:
    """Give a folder that is complete its name; an older one of that name comes to where the new one was.

    Both change at once where the system can do that (Linux); elsewhere there is a moment with neither.

    Raises:
        OSError: that failed.
    """
    for path in sorted(new.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        else:
            _sync_folder(path)
    _sync_folder(new)
    if not target.exists():
        new.rename(target)
    elif not _exchanged(new, target):
        aside = new.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")
        target.rename(aside)
        new.rename(target)
        aside.rename(new)
    _sync_folder(target.parent)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two files or folders take each other's names at once; return whether the system did."""
    import ctypes

    if sys.platform != "linux":
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # glibc 2.28
    return call is not None and call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0


def _sync_folder(folder: Path) -> None:
    """Write a folder's names to the disk, where the system can: Windows cannot, nor can every file system."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_own(status: os.stat_result) -> bool:
    """Return whether a file is a regular one that only this user can have written."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # Windows, where other users' rights are not in the mode
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_own_folder(folder: Path) -> bool:
    """Return whether a folder belongs to this user, and others cannot change its entries."""
    status = folder.stat()
    if not hasattr(os, "geteuid"):
        return stat.S_ISDIR(status.st_mode)
    own = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return own and stat.S_ISDIR(status.st_mode)


def is_led_elsewhere(folder: Path) -> bool:
    """Return whether a folder, which need not exist, is a symbolic link, or another user's link is on the way to it.

    Links of this user and of root on the way are followed: homes lie behind some.
    """
    folder = folder.absolute()
    with contextlib.suppress(OSError, ValueError):
        if folder.is_symlink():
            return True
    trusted = {0, os.geteuid()} if hasattr(os, "geteuid") else set()
    for parent in folder.parents if trusted else ():
        with contextlib.suppress(OSError, ValueError):
            status = parent.lstat()
            if stat.S_ISLNK(status.st_mode) and status.st_uid not in trusted:
                return True
    return False


def user_caches() -> Path:
    """Return the folder of this user's caches: ``XDG_CACHE_HOME``, where that is absolute, else ``~/.cache``.

    Raises:
        RuntimeError: a user without a home.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"
