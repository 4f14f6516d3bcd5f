"""Read and write files safely.

``reading`` opens only regular files, because a pipe or a terminal could block for ever. A written file gets its name
once it is complete and on the disk. Only regular files are replaced, never a device, pipe, socket or folder.

All temporary files are created here. They have a random name, must be new (``O_EXCL``, ``O_NOFOLLOW``) and are written
through the descriptor that created them. Therefore another user's symbolic link cannot redirect them, and processes do
not share one.
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
"""Prefix of temporary files; a random number and the end of the target's name follow."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_CURRENT_FOLDER, _EXCHANGE = -100, 2  # Linux: AT_FDCWD, RENAME_EXCHANGE
_NAME_END = 50  # characters of the target's name, at most 200 bytes: file systems allow 255 in all


def not_a_file(path: str | Path) -> str | None:
    """Return the kind of a path other than a regular file ('a folder', 'a pipe' ...), or None for a regular file.

    Raises:
        OSError, ValueError: the path does not exist, or its status cannot be read.
    """
    return _KINDS.get(stat.S_IFMT(Path(path).stat().st_mode))


def reading(path: str | Path) -> BinaryIO:
    """Open a regular file for reading, without blocking on anything else, even if the path is replaced meanwhile.

    Raises:
        InputError: the path is not a regular file.
        OSError, ValueError: the path does not exist, or cannot be read.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    file_type = _KINDS.get(stat.S_IFMT(os.fstat(file.fileno()).st_mode))
    if file_type is not None:
        file.close()
        raise InputError(f"{path}: is {file_type}; give a file")
    return file


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def output_file(path: str | Path) -> Path:
    """Return the file to create or replace when writing to ``path``: ``path``, or the target of a symbolic link.

    Raises:
        InputError: the path exists and is not a regular file, or its status cannot be read.
    """
    path = Path(path)
    try:
        file_type = not_a_file(path)
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(path)) if path.is_symlink() else path
    except (OSError, ValueError) as error:
        raise cannot_be_written(path, error) from None
    if file_type == "a folder":
        raise InputError(f"{path}: is a folder; name a file")
    if file_type is not None:
        advice = f"name a file, and copy it there: cat FILE > {path}"
        raise InputError(f"{path}: is {file_type}, which a file would replace; {advice}")
    if not target.exists():  # /dev/stdout, after its file was removed
        raise InputError(f"{path}: leads to a file that has no name any more; name a file")
    return target


def check_output(path: Path, *suffixes: str, option: str = "") -> None:
    """Check, before any other work, that a file can be written.

    Args:
        path: the file.
        suffixes: accepted suffixes in lower case; by default all.
        option: option that names the file, for messages.

    Raises:
        InputError: the file has another suffix, its folder does not exist, or it is not a regular file.
    """
    argument = f"{option} {path}".lstrip()
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{argument}: name the file *{' or *'.join(suffixes)}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{argument}: no such folder: {path.parent}")
    output_file(path)


def cannot_be_written(path: Path, error: Exception) -> InputError:
    """Return the ``InputError`` for an exception raised while writing ``path``."""
    return InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})")


def _mode_of(path: Path) -> int | None:
    """Return the permissions of an existing file that is to be replaced; None for a new file.

    Raises:
        InputError: the file is read-only, or this user has no right to write it.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except (OSError, ValueError):
        return None
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise InputError(f"{path}: is read-only; name another file, or allow it to be replaced: chmod u+w {path}")
    return mode & 0o777


class Replacement:
    """A temporary file in the folder of ``path``, to be filled and then renamed. It keeps the mode of a replaced file.

    Args:
        path: final name. A symbolic link stays, and its target is replaced.
        private: make the file readable by this user only, and replace a symbolic link at ``path`` instead of following
            it. For folders writable by other users.

    Attributes:
        file: the open temporary file.
        target: the file created or replaced by ``commit``.

    Raises:
        InputError: ``path`` is not a regular file, or is read-only.
        OSError, ValueError: the folder does not allow new files.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self.target = path if private and path.is_symlink() else output_file(path)
        self._mode = None if private else _mode_of(self.target)
        self._temporary = self.target.parent / f"{TEMPORARY}{os.urandom(8).hex()}-{self.target.name[-_NAME_END:]}"

        self._rescued = False

        def opener(name: str, flags: int) -> int:
            return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o600 if private else 0o666)

        # Mode x is O_CREAT | O_EXCL. The umask applies as to any new file.
        self.file = cast(BinaryIO, open(self._temporary, "x+b", opener=opener))  # noqa: SIM115

    def commit(self) -> None:
        """Rename the file to its final name, once its bytes are on the disk.

        Raises:
            OSError: the file cannot be synced or renamed.
        """
        self.file.flush()
        if self._mode is not None:
            self._temporary.chmod(self._mode)
        os.fsync(self.file.fileno())
        self.file.close()
        self._temporary.replace(self.target)
        _sync_folder(self.target.parent)

    def rescue(self, target: Path) -> Path:
        """Keep an incomplete file as ``target`` in the same folder, or else under its temporary name.

        Returns:
            The path of the file. Errors are not raised, because one of them (a full disk) may be why it is rescued.
        """
        with contextlib.suppress(OSError, ValueError):
            self.file.flush()
            os.fsync(self.file.fileno())
        with contextlib.suppress(OSError, ValueError):
            self.file.close()
        self._rescued = True
        try:
            destination = output_file(target)
            self._temporary.replace(destination)
        except (OSError, InputError):
            return self._temporary
        _sync_folder(destination.parent)
        return destination

    def discard(self) -> None:
        """Close and remove the temporary file; no effect after ``commit`` or ``rescue``."""
        if self._rescued:
            return
        with contextlib.suppress(OSError, ValueError):
            self.file.close()
        with contextlib.suppress(OSError, ValueError):
            self._temporary.unlink()


@contextlib.contextmanager
def writing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Yield a temporary file, which replaces ``path`` at the end of the block; after an error ``path`` is unchanged.

    The file is seekable, and its ``name`` has the suffix of ``path``, by which some writers choose the format.
    Arguments and errors are those of ``Replacement``.
    """
    replacement = Replacement(path, private=private)
    try:
        yield replacement.file
        replacement.commit()
    finally:
        replacement.discard()


def write_text(path: Path, text: str, errors: str = "strict") -> None:
    """Replace a text file, in UTF-8; the old content stays until the new one is complete.

    Args:
        path: the file; errors are those of ``Replacement``.
        text: the new content.
        errors: treatment of surrogates, as in ``str.encode``.
    """
    with writing(path) as file:
        file.write(text.encode("utf-8", errors))


@contextlib.contextmanager
def output(path: Path) -> Iterator[BinaryIO]:
    """Do as ``writing`` for a file that the user named: every error of the system is an ``InputError``."""
    try:
        with writing(path) as file:
            yield file
    except (OSError, ValueError) as error:
        raise cannot_be_written(path, error) from None


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file that the user named; text in UTF-8.

    Raises:
        InputError: the file cannot be written.
    """
    with output(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Do as ``writing``, but yield a path of the same name in a temporary folder, for writers without file objects."""
    import shutil
    import tempfile

    with writing(path) as file, tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        temporary = Path(folder) / path.name
        yield temporary
        with temporary.open("rb") as source:
            shutil.copyfileobj(source, file)


def put_folder(new: Path, target: Path) -> None:
    """Rename a complete folder to ``target``; an existing folder of this name gets the name of the new one.

    Linux exchanges both atomically. Elsewhere neither exists for a moment.

    Raises:
        OSError: the folder cannot be synced or renamed.
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


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange the names of two files or folders atomically; return whether the system supports it."""
    import ctypes

    if sys.platform != "linux":
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # glibc 2.28
    return (
        call is not None
        and call(_CURRENT_FOLDER, os.fsencode(first), _CURRENT_FOLDER, os.fsencode(second), _EXCHANGE) == 0
    )


def _sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, if the system supports it (Windows and some file systems do not)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_own(status: os.stat_result) -> bool:
    """Return whether a file is regular and writable by this user only."""
    return stat.S_ISREG(status.st_mode) and _is_writable_by_user_only(status)


def is_own_folder(folder: Path) -> bool:
    """Return whether a folder belongs to this user, and others cannot change its entries."""
    status = folder.stat()
    return stat.S_ISDIR(status.st_mode) and _is_writable_by_user_only(status)


def _is_writable_by_user_only(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # Windows: the mode does not contain other users' rights
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_led_elsewhere(folder: Path) -> bool:
    """Return whether a folder is a symbolic link, or its path contains a link owned by another user.

    The folder need not exist. Links of this user and of root in its path are trusted, since some home directories
    are reached through one.
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
    """Return this user's cache folder: ``XDG_CACHE_HOME`` if absolute, else ``~/.cache``.

    Raises:
        RuntimeError: the user has no home directory.
    """
    cache_home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return cache_home if cache_home.is_absolute() else Path.home() / ".cache"
