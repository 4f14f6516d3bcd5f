"""Fetch the source of a model: a local file, or a download with a required hash."""

from __future__ import annotations

import base64
import hashlib
import threading
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException, InvalidURL
from pathlib import Path

from glsl_infer.errors import InputError, RunError
from glsl_infer.support import signatures
from glsl_infer.support.files import not_a_file
from glsl_infer.tools.deploy.description import Model, shown

MAX_BYTES = 1 << 30
"""Largest download in bytes."""

_TIMEOUT = 30.0
"""Seconds without a byte after which a download fails."""

SECONDS = 900.0
"""Default time limit of a download in seconds; ``--timeout`` changes it."""

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Sources:
    """Location of the sources, and their requirements.

    Attributes:
        base: folder that relative paths start from.
        folder: folder for downloads.
        seconds: time limit of a download.
        key: minisign public key; every source must have its signature. None requires no signatures.
    """

    base: Path
    folder: Path
    seconds: float = SECONDS
    key: str | None = None


def fetch(model: Model, sources: Sources) -> Path:
    """Return the file of a model's source.

    Raises:
        InputError: the file does not exist, or its hash or signature is wrong.
        RunError: the download failed.
    """
    name = f"{model.name}{'.glslnn' if model.is_bundle else '.keras'}"
    path = _downloaded(model, sources, model.source, name) if model.is_url else sources.base / model.source
    try:
        file_type = not_a_file(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"model '{model.name}': {path}: cannot be read ({reason})") from None
    if file_type:
        raise InputError(f"model '{model.name}': {path}: is {file_type}, not a model file")
    digest = sha256_of(path)
    if model.sha256 and digest != model.sha256:
        raise InputError(
            f"model '{model.name}': {model.shown} has the sha256 {digest}, not {model.sha256}; if you "
            "expect this file, write its sha256 into the deployment file"
        )
    if sources.key is not None:
        if model.is_url:
            address, question, query = model.source.partition("?")
            _downloaded(model, sources, address + signatures.SUFFIX + question + query, name + signatures.SUFFIX)
        signatures.require(path, sources.key)
    return path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _downloaded(model: Model, sources: Sources, url: str, name: str) -> Path:
    """Download in a separate thread, because no timeout limits slow name resolution, headers and data together."""
    path = sources.folder / name
    failed: list[BaseException] = []

    def work() -> None:
        try:
            _copy(url, path)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="download", daemon=True)
    thread.start()
    thread.join(sources.seconds)
    subject = f"model '{model.name}': {shown(url)}"
    if thread.is_alive():
        raise RunError(
            f"{subject} was not downloaded in {sources.seconds:g} seconds; try again, or give --timeout SECONDS"
        )
    for error in failed:
        if isinstance(error, InputError):
            raise error
        if not isinstance(error, (urllib.error.URLError, HTTPException, OSError, ValueError)):
            raise error
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        reason = "its address cannot be used" if isinstance(error, InvalidURL) else getattr(error, "reason", None)
        raise RunError(f"{subject} cannot be downloaded ({reason or error})") from None
    return path


def _copy(url: str, path: Path) -> None:
    parts = urllib.parse.urlsplit(url)
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    request = urllib.request.Request(urllib.parse.urlunsplit(address))
    if parts.username is not None:
        words = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        credentials = base64.b64encode(words.encode()).decode("ascii")
        request.add_unredirected_header("Authorization", f"Basic {credentials}")
    size = 0
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, path.open("xb") as file:
        for chunk in iter(lambda: answer.read(_CHUNK), b""):
            size += len(chunk)
            if size > MAX_BYTES:
                raise InputError(f"{shown(url)}: is larger than {MAX_BYTES >> 30} GiB")
            file.write(chunk)
