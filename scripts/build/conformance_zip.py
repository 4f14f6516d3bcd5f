"""Bundles as zip files: sound ones, and ambiguous ones that two readers could read differently."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable


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
    entries, at = bytearray(archive[directory:-22]), 0
    while at < len(entries):
        entries[at + 42 : at + 46] = struct.pack("<L", struct.unpack_from("<L", entries, at + 42)[0] + len(before))
        at += 46 + struct.unpack_from("<H", entries, at + 28)[0]
    end = archive[-22:-6] + struct.pack("<L", directory + len(before) + len(between)) + archive[-2:]
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
