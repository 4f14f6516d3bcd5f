"""Check signatures of minisign: whether the owner of a public key signed a file.

``minisign -S -m model.glslnn`` writes ``model.glslnn.minisig``. glsl-infer checks signatures and does not create them.
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
_KEY_BYTES, _SIGNATURE_BYTES, _GLOBAL_BYTES = 42, 74, 64
_LARGEST = 4096
_LARGEST_FILE = 1 << 30
"""Largest signed file. Unhashed signatures need the entire file in memory."""
_AT_ONCE = 1 << 20
_TRUSTED = "trusted comment: "


class _Signature(NamedTuple):
    hashed: bool
    key_id: bytes
    signature: bytes
    comment: bytes
    global_signature: bytes


def require(path: Path, key: str) -> None:
    """Refuse a file without a valid signature in ``FILE.minisig``.

    Args:
        path: the file.
        key: public key as minisign prints it, or the path of a file with one.

    Raises:
        InputError: the key is malformed, or the signature is missing or belongs to another key or file.
        MissingExtraError: the package cryptography is not installed.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise MissingExtraError.of("cryptography", "cryptography", "checking signatures") from None
    key_id, public = _key(key)
    signature_file = path.with_name(path.name + SUFFIX)
    signature = _signature(signature_file)
    if signature.key_id != key_id:
        raise InputError(
            f"{signature_file}: a signature by another key than the required one; get the file from its maker"
        )
    try:
        with reading(path) as file:
            signed = _signed(file, signature.hashed)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    public_key = Ed25519PublicKey.from_public_bytes(public)
    try:
        public_key.verify(signature.signature, signed)
        public_key.verify(signature.global_signature, signature.signature + signature.comment)
    except InvalidSignature:
        raise InputError(
            f"{path}: is not the file that was signed in {signature_file.name}; do not use it, get both again"
        ) from None


def _signed(file: BinaryIO, hashed: bool) -> bytes:
    """Return the signed bytes: the content of the file, or its BLAKE2b hash."""
    if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
        raise ValueError(f"it is larger than {_LARGEST_FILE >> 30} GiB, as no model is")
    if not hashed:
        return file.read(_LARGEST_FILE)
    digest = hashlib.blake2b()
    while block := file.read(_AT_ONCE):
        digest.update(block)
    return digest.digest()


def _key(key: str) -> tuple[bytes, bytes]:
    """Return the identifier (8 bytes) and the 32 bytes of a public key."""
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
        data, global_signature = (base64.b64decode(lines[index], validate=True) for index in (1, 3))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; a signature is required, and it must be next to the model") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, IndexError):
        raise InputError(f"{path}: not a signature of minisign") from None
    algorithm, comment = data[:2], lines[2]
    complete = len(data) == _SIGNATURE_BYTES and len(global_signature) == _GLOBAL_BYTES and comment.startswith(_TRUSTED)
    if not complete or algorithm not in (_PLAIN, _HASHED):
        raise InputError(f"{path}: not a signature of minisign")
    comment_bytes = comment[len(_TRUSTED) :].encode()
    return _Signature(algorithm == _HASHED, data[2:10], data[10:], comment_bytes, global_signature)


def _small(path: Path) -> str:
    with reading(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("it is too large")
    return data.decode("utf-8")
