"""Unpack a bundle, and pack its members again with correct hashes."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

Members = dict[str, bytes]
"""Contents of members by their names."""

MANIFEST = "manifest.json"


def unpacked(data: bytes) -> Members:
    """Return the members of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file of members in the given order; names can repeat."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about repeated names
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def rehashed(members: Members) -> bytes:
    """Return a zip file of members, with their sha256 in the manifest corrected."""
    manifest = json.loads(members[MANIFEST])
    return packed(with_manifest(members, {**manifest, "members": hashes(members)}))


def hashes(members: Members) -> dict[str, str]:
    """Return the sha256 of each member but the manifest."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != MANIFEST}


def with_manifest(members: Members, manifest: Any) -> list[tuple[str, bytes]]:
    """Return the members with another manifest."""
    return list({**members, MANIFEST: json.dumps(manifest).encode()}.items())
