"""The directory at the end of a zip file: looked at before the standard library reads all of it."""

from __future__ import annotations

import os
from typing import BinaryIO

from glsl_infer.bundle.format_constants import MAX_DIRECTORY_BYTES
from glsl_infer.errors import BundleError

_END, _END_BYTES = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_BYTES = b"PK\x06\x07", 20


def check(file: BinaryIO) -> None:
    """Refuse a zip with more entries than memory should hold: ``ZipFile`` makes an object of each as it opens.

    Its end record is looked for as ``ZipFile`` does. One with 64-bit sizes is no bundle: those begin at 4 GiB.

    Args:
        file: open for reading; where it stands afterwards is undefined.

    Raises:
        BundleError: the directory declares more than ``format_constants.MAX_DIRECTORY_BYTES``, or is a 64-bit one.
    """
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - _END_BYTES - 0xFFFF - _LOCATOR_BYTES))
    tail = file.read()
    at = len(tail) - _END_BYTES
    if not (at >= 0 and tail.startswith(_END, at) and tail.endswith(b"\0\0")):
        at = tail.rfind(_END)
    if at < 0 or at + _END_BYTES > len(tail):
        return  # for ZipFile to refuse
    long = tail.startswith(_LOCATOR, at - _LOCATOR_BYTES) if at >= _LOCATOR_BYTES else False
    if long or int.from_bytes(tail[at + 12 : at + 16], "little") > MAX_DIRECTORY_BYTES:
        raise BundleError(
            f"the directory of the zip is larger than {MAX_DIRECTORY_BYTES >> 20} MiB, which no model's is"
        )
