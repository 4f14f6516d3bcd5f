"""Bundle files: writing, reading, and all checks required of a reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from glsl_infer.bundle import manifest_json, probe, program_check
from glsl_infer.bundle.bundle import Bundle, classes_of
from glsl_infer.bundle.container import (
    EXPORT_AGAIN,
    MANIFEST,
    check_hash,
    check_hashes,
    read_members,
    unpack_all,
)
from glsl_infer.bundle.format_constants import CPU_PROFILE
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.rules import named, one_line, rule
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.support.files import output

SMALLER = "give the network fewer channels or a smaller image (a convolution over more than 32 channels takes most)"
"""Advice for models beyond the limits of readers."""

HasPassed = Callable[[str], bool]
"""Function that returns whether the bundle (or part) with a digest has passed ``check_content`` before."""


def has_never_passed(digest: str) -> bool:
    """Return False, so that the content of any bundle is checked."""
    return False


def write(
    bundle: Bundle, path: str | Path, *, read_back: bool = False, has_passed: HasPassed = has_never_passed
) -> None:
    """Write the file; equal bundles give equal bytes. An existing file is replaced only after the new one is complete.

    Args:
        bundle: the bundle to write.
        path: the file.
        read_back: before the file takes its name, read it with all checks.
        has_passed: with ``read_back``, as for ``read``.

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
                info.create_system = 3  # Unix on every system, for the same bytes
                info.external_attr = 0o644 << 16
                archive.writestr(info, members[name], compresslevel=9)
        if read_back:
            _read_back(file, path, has_passed)


def manifest_bytes(bundle: Bundle) -> bytes:
    """Return the member manifest.json."""
    if bundle.nested:
        from glsl_infer.bundle import parts

        data = parts.to_json(bundle.manifest, bundle.nested)
    else:
        data = manifest_json.to_json(bundle.manifest)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _read_back(file: BinaryIO, path: Path, has_passed: HasPassed) -> None:
    """Read the new file for ``path`` with all checks of a reader, and raise with the reason if it is refused."""
    try:
        _verified(path, *unpack_all(file, path.suffix), has_passed)
    except BundleError as error:
        reason = str(error).removeprefix(f"{path}: ").removesuffix(f"; {EXPORT_AGAIN}")
        raise ModelError(
            f"{path}: not written, for no reader would take it: {reason}; {SMALLER}; if it is small, report a bug"
        ) from None


def read(path: str | Path, has_passed: HasPassed = has_never_passed) -> Bundle:
    """Read and verify a bundle: every hash, every field, and the consistency of its parts.

    Args:
        path: the file.
        has_passed: if it returns True for a digest, the content is read, but not checked again.

    Raises:
        BundleError: the file is missing, truncated, foreign, damaged or of a newer version.
    """
    path = Path(path)
    try:
        return _verified(path, *read_members(path), has_passed)
    except BundleError as error:
        raise BundleError(f"{path}: {one_line(error)}{named(error.rule)}", error.rule) from None


def _verified(path: Path, data: Any, digest: str, members: Mapping[str, bytes], has_passed: HasPassed) -> Bundle:
    """Return the bundle of a manifest and its members after all checks.

    Raises:
        BundleError: the members do not fit the manifest.
    """
    if data["profile"] == CPU_PROFILE:
        from glsl_infer.bundle import parts

        def read_part(data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
            bundle = Bundle(_verified_gpu(data, digest, members, has_passed), members, path, digest)
            _check_labels(bundle)
            return bundle

        manifest, nested = parts.verified(data, members, read_part)
        bundle = Bundle(manifest, members, path, digest, nested)
    else:
        bundle = Bundle(_verified_gpu(data, digest, members, has_passed), members, path, digest)
    _check_labels(bundle)
    return bundle


def _verified_gpu(data: Any, digest: str, members: Mapping[str, bytes], has_passed: HasPassed) -> Manifest:
    """Return the manifest of a part for the GPU."""
    missing = [name for name in (PASSES, GRAPH, LABELS) if name not in members]
    if missing:
        raise BundleError(f"member '{missing[0]}' is missing; {EXPORT_AGAIN}", "members")
    listed = data.get("members")
    if isinstance(listed, dict) and isinstance(listed.get(PASSES), str):
        check_hash(PASSES, listed[PASSES], members)  # before its bytes are read as passes
    passed = has_passed(digest)
    manifest = manifest_json.from_json(data, members[PASSES], delay_probe=passed)
    check_hashes(manifest.members, members)
    if not passed:
        check_content(manifest, members)
    return manifest


def check_content(manifest: Manifest, members: Mapping[str, bytes]) -> None:
    """Refuse a part for the GPU whose contents contradict one another, or whose shaders can harm a driver.

    The result depends on nothing but the arguments.

    Args:
        manifest: the result of ``manifest_json.from_json``.
        members: bytes of every member.

    Raises:
        BundleError: names the first fault.
    """
    check(manifest, {name: len(member) for name, member in members.items()})
    with rule("vertex shaders"):
        program_check.check_vertex_shaders(manifest.programs, members)
    shaders = program_check.check_fragment_shaders(manifest.programs, members)
    program_check.check_values(manifest, members, shaders)
    with rule("probe"):
        probe.check(manifest.probe, members[manifest.probe.member])


def _check_labels(bundle: Bundle) -> None:
    text, classes = bundle.members[LABELS], classes_of(bundle.manifest.outputs)
    with rule("labels"):
        count = text.count(b"\n") + (not text.endswith(b"\n"))
        try:  # a list of millions of lines is not split: that would take a hundred times their bytes
            count = count if count > classes + 1 else len(bundle.labels)
        except UnicodeDecodeError:
            raise BundleError(f"labels.txt is not UTF-8; {EXPORT_AGAIN}") from None
        if count != classes:
            raise BundleError(f"{count} labels for {classes} classes; give a line for each class")
