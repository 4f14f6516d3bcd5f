"""Gets the source of a model: a file, or a download that must have the hash it is said to have."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from glsl_infer.errors import InputError, RunError
from glsl_infer.support.files import not_a_file
from glsl_infer.tools.deploy.description import Model

MAX_BYTES = 1 << 30
"""Most bytes of a download."""

_TIMEOUT = 30.0
"""Seconds without a byte after which a download is given up."""

_CHUNK = 1 << 16


def fetch(model: Model, base: Path, folder: Path, done: Callable[[int], object]) -> Path:
    """Return the file of a model's source; what is downloaded lies in ``folder``.

    Args:
        model: whose source.
        base: what a relative path begins at.
        folder: where to download to.
        done: hears of every byte that came.

    Raises:
        InputError: there is no such file, or it has another hash.
        RunError: the download failed.
    """
    path = _downloaded(model, folder, done) if model.is_url else base / model.source
    try:
        kind = not_a_file(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"model '{model.name}': {path}: cannot be read ({reason})") from None
    if kind:
        raise InputError(f"model '{model.name}': {path}: is {kind}, not a model file")
    digest = sha256_of(path)
    if model.sha256 and digest != model.sha256:
        raise InputError(
            f"model '{model.name}': {model.source} has the sha256 {digest}, not {model.sha256}; it is another file "
            "than the one that was described: if that is right, write its hash into the deployment file"
        )
    return path


def sha256_of(path: Path) -> str:
    """Return the hash of a file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _downloaded(model: Model, folder: Path, done: Callable[[int], object]) -> Path:
    path, size = folder / f"{model.name}{'.glslnn' if model.is_bundle else '.keras'}", 0
    try:
        with urllib.request.urlopen(model.source, timeout=_TIMEOUT) as answer, path.open("wb") as file:
            for chunk in iter(lambda: answer.read(_CHUNK), b""):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise InputError(f"model '{model.name}': {model.source} is larger than {MAX_BYTES >> 30} GiB")
                file.write(chunk)
                done(len(chunk))
    except (urllib.error.URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise RunError(f"model '{model.name}': {model.source} cannot be downloaded ({reason})") from None
    return path
