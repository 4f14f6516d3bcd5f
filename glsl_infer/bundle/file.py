"""Bundle files: writing, reading, and all checks required of a reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from glsl_infer.bundle import manifest_json, probe, uniforms, vertex_shaders
from glsl_infer.bundle.bundle import Bundle, classes_of
from glsl_infer.bundle.container import (
    AGAIN,
    MANIFEST,
    check_hash,
    check_hashes,
    read_members,
    unpack_all,
)
from glsl_infer.bundle.format_constants import CPU_PROFILE
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.rules import named, one_line, rule
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.support.files import output

SMALLER = "give the network fewer channels or a smaller picture (a convolution over more than 32 channels takes most)"
"""Advice for models that exceed the limits of readers."""

Known = Callable[[str], bool]
"""Function that returns whether the shaders of the bundle (or part) with a digest have passed before."""


def write(bundle: Bundle, path: str | Path, *, read_back: bool = False) -> None:
    """Write the file; equal bundles give equal bytes. An existing file is replaced only after the new one is complete.

    Args:
        bundle: the bundle to write.
        path: the file.
        read_back: before the file takes its name, read it with all checks.

    Raises:
        InputError: the folder does not exist or cannot be written.
        ModelError: with ``read_back``, the file is refused; an existing file is not changed.
    """
    import zipfile  # imported here because readers use zip_directory, and start sooner without it

    path = Path(path)
    members = {**bundle.members, MANIFEST: manifest_bytes(bundle)}
    with output(path) as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in sorted(members):
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.create_system = 3  # Unix on every system, so that the bytes are the same
                info.external_attr = 0o644 << 16
                archive.writestr(info, members[name], compresslevel=9)
        if read_back:
            _read_back(file, path)


def manifest_bytes(bundle: Bundle) -> bytes:
    """Return the member manifest.json."""
    if bundle.parts:
        from glsl_infer.bundle import parted_json

        data = parted_json.to_json(bundle.manifest, bundle.parts)
    else:
        data = manifest_json.to_json(bundle.manifest)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _read_back(file: BinaryIO, path: Path) -> None:
    """Read the new file for ``path`` with all checks of a reader, and raise with the reason if it is refused."""
    try:
        _verified(path, *unpack_all(file, path.suffix), lambda digest: False)
    except BundleError as error:
        reason = str(error).removeprefix(f"{path}: ").removesuffix(f"; {AGAIN}")
        raise ModelError(
            f"{path}: not written, for no reader would take it: {reason}; {SMALLER}; if it is small, report a bug"
        ) from None


def read(path: str | Path, known: Known = lambda digest: False) -> Bundle:
    """Read and verify a bundle: every hash, every field, and the consistency of its parts.

    Args:
        path: the file.
        known: if it returns True for a digest, the source of the shaders is not parsed.

    Raises:
        BundleError: the file is missing, truncated, foreign, damaged or of a newer version.
    """
    path = Path(path)
    try:
        return _verified(path, *read_members(path), known)
    except BundleError as error:
        raise BundleError(f"{path}: {one_line(error)}{named(error.rule)}", error.rule) from None


def _verified(path: Path, data: Any, digest: str, members: Mapping[str, bytes], known: Known) -> Bundle:
    if data["profile"] == CPU_PROFILE:
        return _verified_parts(path, data, digest, members, known)
    return _verified_whole(path, data, digest, members, known)


def _verified_parts(path: Path, data: Any, digest: str, members: Mapping[str, bytes], known: Known) -> Bundle:
    from glsl_infer.bundle import parted

    def read_part(data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
        return _verified_whole(path, data, digest, members, known)

    manifest, parts = parted.verified(data, members, read_part)
    bundle = Bundle(manifest, members, path, digest, parts)
    with rule("labels"):
        _check_labels(bundle)
    return bundle


def _verified_whole(path: Path, data: Any, digest: str, members: Mapping[str, bytes], known: Known) -> Bundle:
    missing = [name for name in (PASSES, GRAPH, LABELS) if name not in members]
    if missing:
        raise BundleError(f"member '{missing[0]}' is missing; {AGAIN}", "members")
    listed = data.get("members")
    if isinstance(listed, dict) and isinstance(listed.get(PASSES), str):
        check_hash(PASSES, listed[PASSES], members)  # before its bytes are read as passes
    manifest = manifest_json.from_json(data, members[PASSES])
    check_hashes(manifest.members, members)
    check(manifest, {name: len(member) for name, member in members.items()})
    with rule("vertex shaders"):
        vertex_shaders.check(manifest.programs, members)
    if not known(digest):
        uniforms.check_values(manifest, members, uniforms.check(manifest.programs, members))
    with rule("probe"):
        probe.check(manifest.probe, members[manifest.probe.member])
    bundle = Bundle(manifest, members, path, digest)
    with rule("labels"):
        _check_labels(bundle)
    return bundle


def _check_labels(bundle: Bundle) -> None:
    classes = classes_of(bundle.manifest.outputs)
    try:
        text = bundle.members[LABELS]
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        if lines > classes + 1:  # before splitting: a list of millions of lines takes a hundred times their bytes
            raise BundleError(f"{lines} labels for {classes} classes; give a line for each class")
        labels = bundle.labels
    except UnicodeDecodeError:
        raise BundleError(f"labels.txt is not UTF-8; {AGAIN}") from None
    if len(labels) != classes:
        raise BundleError(f"{len(labels)} labels for {classes} classes; give a line for each class")
