"""Signatures of minisign: who made a file, for those who have that person's public key.

``minisign -S -m model.glslnn`` writes ``model.glslnn.minisig``. Here such signatures are only checked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path
from typing import BinaryIO, NamedTuple

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.support.files import reading

SUFFIX = ".minisig"

_PUBLIC, _PLAIN, _HASHED = b"Ed", b"Ed", b"ED"
_KEY_BYTES, _SIGNATURE_BYTES, _ALL = 42, 74, 64
_LARGEST = 4096
_LARGEST_FILE = 1 << 30
"""No model is larger, and plain signatures are of the file as a whole, in memory; others are of its hash."""
_AT_ONCE = 1 << 20
_TRUSTED = "trusted comment: "


class _Signature(NamedTuple):
    hashed: bool
    key_number: bytes
    signature: bytes
    comment: bytes
    of_all: bytes


def require(path: Path, key: str) -> None:
    """Refuse a file that has no signature by a key beside it.

    Args:
        path: the file.
        key: a public key as minisign prints it, or the path of a file that holds one.

    Raises:
        InputError: the key is none, the signature is missing or is one of another key or another file.
        MissingExtraError: the package cryptography is not installed.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise MissingExtraError.of("cryptography", "cryptography", "checking signatures") from None
    number, public = _key(key)
    beside = path.with_name(path.name + SUFFIX)
    signature = _signature(beside)
    if signature.key_number != number:
        raise InputError(f"{beside}: a signature by another key than the required one; get the file from its maker")
    try:
        with reading(path) as file:
            signed = _signed(file, signature.hashed)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    checked = Ed25519PublicKey.from_public_bytes(public)
    try:
        checked.verify(signature.signature, signed)
        checked.verify(signature.of_all, signature.signature + signature.comment)
    except InvalidSignature:
        raise InputError(
            f"{path}: is not what was signed in {beside.name}; do not use it, get both from their maker"
        ) from None


def _signed(file: BinaryIO, hashed: bool) -> bytes:
    """Return what a signature of a file is of."""
    if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
        raise ValueError(f"it is larger than {_LARGEST_FILE >> 30} GiB, as no model is")
    if not hashed:
        return file.read(_LARGEST_FILE)
    made = hashlib.blake2b()
    while part := file.read(_AT_ONCE):
        made.update(part)
    return made.digest()


def _key(key: str) -> tuple[bytes, bytes]:
    """Return the number and the 32 bytes of a public key."""
    text = key.strip()
    if not _is_key(text):
        try:
            text = (_small(Path(key)).strip().splitlines() or [""])[-1].strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--require-signature {key}: neither a key of minisign nor a file ({reason})") from None
    if not _is_key(text):
        raise InputError(f"--require-signature {key}: holds no public key of minisign, which is a line like RW...")
    data = base64.b64decode(text)
    return data[2:10], data[10:]


def _is_key(text: str) -> bool:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(data) == _KEY_BYTES and data.startswith(_PUBLIC)


def _signature(path: Path) -> _Signature:
    try:
        lines = _small(path).splitlines()
        data, of_all = (base64.b64decode(lines[index], validate=True) for index in (1, 3))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; a signature is required, and it must be next to the model") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, IndexError):
        raise InputError(f"{path}: not a signature of minisign") from None
    kind, comment = data[:2], lines[2]
    whole = len(data) == _SIGNATURE_BYTES and len(of_all) == _ALL and comment.startswith(_TRUSTED)
    if not whole or kind not in (_PLAIN, _HASHED):
        raise InputError(f"{path}: not a signature of minisign")
    said = comment[len(_TRUSTED) :].encode()
    return _Signature(kind == _HASHED, data[2:10], data[10:], said, of_all)


def _small(path: Path) -> str:
    with reading(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("it is too large")
    return data.decode("utf-8")
