"""Zip file of a bundle: a strict subset, with a directory and members that can be read in only one way.

Members follow one another from the first byte on. The directory and its end record come next, and end the file. Each
member's header must agree with the directory. So every reader finds the same members.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from typing import BinaryIO

from glsl_infer.bundle.format_constants import MAX_DIRECTORY_BYTES
from glsl_infer.errors import BundleError
from glsl_infer.support.records import dataclass

_END, _ENTRY, _LOCAL = struct.Struct("<4s4H2LH"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s5H3L2H")
_FLAGS = 0x0806  # the deflate level, and UTF-8 names
_DEFLATED = 8


EXPORT_AGAIN = "export or copy the file again"
_NO_ZIP = f"not a glsl-infer model, or cut off before its end; {EXPORT_AGAIN}"


@dataclass(frozen=True)
class Entry:
    """A directory entry; ``offset`` is the position of the member's header, ``header`` its expected bytes."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    header: bytes


def read(file: BinaryIO) -> list[Entry]:
    """Return the members, in the order of the directory.

    Args:
        file: open for reading; its position afterwards is undefined.

    Raises:
        BundleError: the file does not end with a directory and its end record, or the directory is larger than
            ``MAX_DIRECTORY_BYTES`` or has extra fields or comments.
    """
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - _END.size))
    end = file.read()
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise BundleError(_NO_ZIP)
    _, disk, directory_disk, entries_on_disk, count, size, offset, comment = _END.unpack(end)
    if size > MAX_DIRECTORY_BYTES:
        raise BundleError(
            f"the directory of the zip is larger than {MAX_DIRECTORY_BYTES >> 20} MiB, which no model's is"
        )
    if disk or directory_disk or entries_on_disk != count or comment or offset + size != length - _END.size:
        raise BundleError(_NO_ZIP)
    file.seek(offset)
    return _entries(file.read(size), count)


def _entries(directory: bytes, count: int) -> list[Entry]:
    entries = []
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(directory) or not directory.startswith(b"PK\x01\x02", at):
            raise BundleError(_NO_ZIP)
        _, _, _, flags, method, _, _, crc, packed, size, name, extra, comment, *_, offset = _ENTRY.unpack_from(
            directory, at
        )
        name_begin = at + _ENTRY.size
        if extra or comment or name_begin + name > len(directory):
            raise BundleError("the directory of the zip has more than a model's: extra fields or comments")
        raw = directory[name_begin : name_begin + name]
        header = b"PK\x03\x04" + directory[at + 6 : at + 32] + raw
        entries.append(Entry(raw.decode("latin-1"), flags, method, crc, packed, size, offset, header))
        at = name_begin + name
    if at != len(directory):
        raise BundleError(_NO_ZIP)
    return entries


def check(file: BinaryIO, entries: Sequence[Entry]) -> None:
    """Refuse a file with other data before, between or after members, or with headers that contradict the directory.

    Raises:
        BundleError: names the member.
    """
    at = 0
    for entry in entries:
        if entry.flags & ~_FLAGS:
            raise BundleError(f"member '{entry.name:.60}' is encrypted, or its size is after it")
        file.seek(at)
        if entry.offset != at or file.read(len(entry.header)) != entry.header:
            raise BundleError(
                f"member '{entry.name:.60}' differs from the directory in place or description; {EXPORT_AGAIN}"
            )
        at += len(entry.header) + entry.packed
    file.seek(-_END.size + 16, os.SEEK_END)
    if int.from_bytes(file.read(4), "little") != at:
        raise BundleError(f"there are bytes between the members and the directory of the zip; {EXPORT_AGAIN}")


def unpack(file: BinaryIO, entry: Entry) -> bytes:
    """Return a member's bytes; unpacking stops at the declared size.

    Raises:
        BundleError: the bytes are damaged, or their number differs from the directory.
    """
    file.seek(entry.offset + len(entry.header))
    data = file.read(entry.packed)
    complete = len(data) == entry.packed
    if entry.method == _DEFLATED:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = inflater.decompress(data, entry.size + 1)
        except zlib.error:
            complete = False
        complete = complete and inflater.eof and not inflater.unused_data and not inflater.unconsumed_tail
    if not complete or len(data) != entry.size or zlib.crc32(data) != entry.crc:
        raise BundleError(f"member '{entry.name}' is damaged, or is not as large as is declared")
    return data
