"""Bundles as zip files: sound ones, and ambiguous ones that two readers could read differently.

The zip files of this module have no comments and no extra fields, so the end record is the last ``_END`` bytes.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

_END = 22
"""Bytes of the end record; its bytes 16 to 19 are the offset of the directory."""

_ENTRY, _NAME_LENGTH, _OFFSET = 46, 28, 42
"""Bytes of a directory entry before its name, and the positions of the name's length and of the member's offset."""


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a zip file whose bytes depend only on the members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(info, members[name], compresslevel=9)
    return buffer.getvalue()


def _shifted(archive: bytes, before: bytes, between: bytes) -> bytes:
    """Return a zip file with extra bytes before its members, or between them and the directory, and correct offsets."""
    directory = struct.unpack("<L", archive[-6:-2])[0]
    entries, at = bytearray(archive[directory:-_END]), 0
    while at < len(entries):
        offset = struct.unpack_from("<L", entries, at + _OFFSET)[0]
        struct.pack_into("<L", entries, at + _OFFSET, offset + len(before))
        at += _ENTRY + struct.unpack_from("<H", entries, at + _NAME_LENGTH)[0]
    end = archive[-_END:-6] + struct.pack("<L", directory + len(before) + len(between)) + archive[-2:]
    return before + archive[:directory] + between + bytes(entries) + end


def _local(archive: bytes) -> bytes:
    """Return a zip file with a member whose local header has another name than the directory."""
    return archive.replace(b"labels.txt", b"labels.txu", 1)


TWO_MEANINGS: dict[str, Callable[[bytes], bytes]] = {
    "before": lambda archive: _shifted(archive, b"#!/bin/sh\n", b""),
    "between": lambda archive: _shifted(archive, b"", b"PK\3\4"),
    "behind": lambda archive: archive + b"\n",
    "comment": lambda archive: archive[:-2] + b"\1\0x",
    "header": _local,
}
"""Changes that make a file ambiguous: one reader could see another model than the next."""
