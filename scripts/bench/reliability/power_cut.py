"""Possible disk contents after a power cut: a process's calls, traced by strace and replayed up to any call.

The model is the worst case of file systems with a journal. Changes of names (created, renamed, removed) reach the disk
in order, and those in a folder at the latest when the folder is synced. Of the data written to a file since its last
sync, nothing, half or everything is on the disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAMES = "openat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,symlink"
DATA = "write,pwrite64,fsync,fdatasync,ftruncate,sendfile,copy_file_range"
CALLS = f"{NAMES},{DATA}"
"""Calls to trace and replay, apart from ``lseek``."""

SHARES = (0.0, 0.5, 1.0)

_LINE = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_DESCRIPTOR = re.compile(r"(?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>")

Tree = dict[str, int]
"""The index of the file or folder at each path."""


@dataclass(frozen=True)
class Call:
    """One call that succeeded.

    Attributes:
        name: name of the call.
        paths: its paths; for descriptors, the paths they were opened with.
        data: the bytes written.
        number: its result.
        words: all of its arguments.
    """

    name: str
    paths: tuple[str, ...]
    data: bytes
    number: int
    words: str


def calls(trace: str) -> Iterator[tuple[int, Call]]:
    """Yield the calls of a trace (``strace -y -xx -s 99999999``), each with its index among those of ``CALLS``."""
    index = 0
    for line in trace.splitlines():
        match = _LINE.match(line)
        name = line.partition("(")[0]
        index += name in CALLS.split(",")
        if not match or int(match[3]) < 0:
            continue
        words = match[2]
        base = [_plain(match).decode() for match in _DESCRIPTOR.findall(words)]
        strings = [_plain(match) for match in _STRING.findall(words)]
        if name in ("write", "pwrite64"):
            yield index, Call(name, tuple(base[:1]), strings[0] if strings else b"", int(match[3]), words)
        elif strings:
            relative = [os.fsdecode(text) for text in strings]
            absolute = [os.path.join(base[0], name) if base else name for name in relative]  # noqa: PTH118
            yield index, Call(name, tuple(absolute), b"", int(match[3]), words)
        else:
            yield index, Call(name, tuple(base), b"", int(match[3]), words)


def _plain(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


@dataclass
class _File:
    """Writes to a file as (index in the trace, offset, bytes), and the indices of its syncs in the trace."""

    before: bytes = b""
    writes: list[tuple[int, int, bytes]] = field(default_factory=list)
    synced: list[int] = field(default_factory=list)

    def content(self, cut: int, share: float) -> bytes:
        """Return the contents after a cut: all synced data, and a share of the rest."""
        safe = max((index for index in self.synced if index < cut), default=-1)
        loose = [write for write in self.writes if safe < write[0] < cut]
        writes = [write for write in self.writes if write[0] <= safe]
        if share == 1.0:
            writes += loose
        elif share > 0.0 and loose:
            half = loose[: (len(loose) + 1) // 2]
            index, offset, data = half[-1]
            writes += [*half[:-1], (index, offset, data[: len(data) // 2])]
        contents = bytearray(self.before)
        for _, offset, data in writes:
            if offset < 0:  # truncated to a length
                del contents[-offset - 1 :]
                continue
            contents[len(contents) : offset] = bytes(max(0, offset - len(contents)))
            contents[offset : offset + len(data)] = data
        return bytes(contents)


class Disk:
    """A folder before the start of a process, and all calls of the process on it."""

    def __init__(self, folder: Path, trace: list[Call]) -> None:
        self._files: list[_File] = []
        self._names: list[tuple[int, frozenset[int], str, tuple[str, ...], int]] = []
        self._synced: list[tuple[int, int]] = []
        self._start: Tree = {}
        for path in [folder, *sorted(folder.rglob("*"))]:
            self._start[str(path)] = self._new(path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
        self.length = len(trace)
        self._replay(trace)

    def _new(self, data: bytes = b"") -> int:
        self._files.append(_File(data))
        return len(self._files) - 1

    def _replay(self, trace: list[Call]) -> None:
        tree, offsets = dict(self._start), dict[int, int]()
        for index, call in enumerate(trace):
            inside = [path for path in call.paths if path in tree or os.path.dirname(path) in tree]  # noqa: PTH120
            if not inside:
                continue
            path = inside[0]
            if call.name == "openat":
                if "O_CREAT" in call.words and path not in tree:
                    self._name(tree, index, "make", (path,), self._new())
                elif "O_TRUNC" in call.words:
                    self._files[tree[path]].writes.append((index, -1, b""))
                offsets[tree.get(path, -1)] = 0
            elif call.name.startswith("mkdir"):
                self._name(tree, index, "make", (path,), self._new())
            elif call.name.startswith("rename"):
                self._name(tree, index, "swap" if "RENAME_EXCHANGE" in call.words else "move", call.paths[:2], -1)
            elif call.name in ("unlink", "unlinkat", "rmdir"):
                self._name(tree, index, "drop", (path,), -1)
            elif call.name in ("fsync", "fdatasync"):
                self._files[tree[path]].synced.append(index)
                self._synced.append((index, tree[path]))
            elif path in tree:
                self._write(tree[path], index, call, offsets)

    def _write(self, file: int, index: int, call: Call, offsets: dict[int, int]) -> None:
        data, at = call.data[: max(0, call.number)], offsets.get(file, 0)
        if call.name == "lseek":
            offsets[file] = call.number
            return
        if call.name == "ftruncate":
            self._files[file].writes.append((index, -int(call.words.rpartition(",")[2]) - 1, b""))
            return
        if call.name == "pwrite64":
            self._files[file].writes.append((index, int(call.words.rpartition(",")[2]), data))
            return
        if call.name in ("sendfile", "copy_file_range"):
            source = call.paths[1] if call.name == "sendfile" else call.paths[0]
            data = Path(source).read_bytes()[at : at + call.number]
        self._files[file].writes.append((index, at, data))
        offsets[file] = at + len(data)

    def _name(self, tree: Tree, index: int, change: str, paths: tuple[str, ...], file: int) -> None:
        folders = frozenset(tree[os.path.dirname(path)] for path in paths if os.path.dirname(path) in tree)  # noqa: PTH120
        self._names.append((index, folders, change, paths, file))
        _apply(tree, change, paths, file)

    def states(self, target: str) -> Iterator[tuple[int, dict[str, bytes] | None]]:
        """Yield (index of the cut, possible contents of ``target``): None if missing, else bytes by relative path."""
        for cut in range(self.length + 1):
            names = [name for name in self._names if name[0] < cut]
            sure = 0
            for count, (index, folders, *_) in enumerate(names, 1):
                if any(index < synced < cut and file in folders for synced, file in self._synced):
                    sure = count
            tree = dict(self._start)
            for _, _, change, paths, file in names[:sure]:
                _apply(tree, change, paths, file)
            for count in range(sure, len(names) + 1):
                if count > sure:
                    _apply(tree, *names[count - 1][2:])
                inside = {path: file for path, file in tree.items() if f"{path}/".startswith(f"{target}/")}
                for share in SHARES:
                    yield (
                        cut,
                        {path[len(target) :]: self._files[file].content(cut, share) for path, file in inside.items()}
                        or None,
                    )


def _apply(tree: Tree, change: str, paths: tuple[str, ...], file: int) -> None:
    """Apply a call's changes of names; the contents of a folder move with the folder."""

    def detached(top: str) -> Tree:
        return {path: tree.pop(path) for path in list(tree) if f"{path}/".startswith(f"{top}/")}

    if change == "make":
        tree[paths[0]] = file
    elif change == "drop":
        detached(paths[0])
    else:
        first, second = detached(paths[0]), detached(paths[1])
        tree.update({paths[1] + path[len(paths[0]) :]: entry for path, entry in first.items()})
        if change == "swap":
            tree.update({paths[0] + path[len(paths[1]) :]: entry for path, entry in second.items()})
