"""Container of a bundle: a zip file whose members are unpacked within size limits and compared with their hashes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from glsl_infer.bundle import manifest_json, zip_directory
from glsl_infer.bundle.format_constants import (
    CPU_PROFILE,
    FILE_PATTERN,
    MAX_BYTES,
    MAX_GRAPH_BYTES,
    MAX_LABELS_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_TABLE_BYTES,
    PART_FOLDER_PATTERN,
    PROFILE,
)
from glsl_infer.bundle.manifest_check import GRAPH, LABELS
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.rules import rule
from glsl_infer.bundle.zip_directory import Entry
from glsl_infer.errors import BundleError, InputError
from glsl_infer.support import json_text
from glsl_infer.support.files import not_a_file, reading

MANIFEST = "manifest.json"
SUFFIX = ".glslnn"
EXPORT_AGAIN = zip_directory.EXPORT_AGAIN

_KERAS = "a Keras model; convert it: glsl-infer export MODEL.keras -o MODEL.glslnn"
_GIVE_EXPORTED = f"give a *{SUFFIX} file that 'glsl-infer export' wrote"
MAX_MEMBER_BYTES = {
    MANIFEST: MAX_MANIFEST_BYTES,
    GRAPH: MAX_GRAPH_BYTES,
    PASSES: MAX_TABLE_BYTES,
    LABELS: MAX_LABELS_BYTES,
}
"""Maximum unpacked size of these members in bytes."""


def read_members(path: Path) -> tuple[Any, str, dict[str, bytes]]:
    """Return the parsed manifest, its sha256, and the bytes of every other member."""
    try:
        kind = not_a_file(path)
        if kind:
            raise BundleError(f"is {kind}, not a model file; give a *{SUFFIX} file")
        file = reading(path)
    except InputError as error:  # the file was replaced after the check
        raise BundleError(str(error)) from None
    except FileNotFoundError:
        raise BundleError("no such file") from None
    except (OSError, ValueError) as error:
        raise BundleError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    try:
        with file:
            return unpack_all(file, path.suffix)
    except (ValueError, OSError) as error:
        raise BundleError(f"damaged or not readable ({error}); {EXPORT_AGAIN}", "container") from None


def unpack_all(file: BinaryIO, suffix: str) -> tuple[Any, str, dict[str, bytes]]:
    """Return the same as ``read_members`` for an open file; ``suffix`` is the suffix of its name.

    Raises:
        BundleError: the file is not a bundle, or one of another version.
    """
    with rule("container"):
        try:
            entries = zip_directory.read(file)
        except BundleError:
            if suffix == ".keras":
                raise BundleError(_KERAS) from None
            raise
        return _unpacked(file, entries, suffix)


def _unpacked(file: BinaryIO, entries: Sequence[Entry], suffix: str) -> tuple[Any, str, dict[str, bytes]]:
    """Return the manifest's data, its digest, and all other members of a zip file.

    Raises:
        BundleError: it is not a bundle of a known version, or a member is damaged.
    """
    manifest = next((entry for entry in entries if entry.name == MANIFEST), None)
    if manifest is None and suffix == ".keras":
        raise BundleError(_KERAS)
    if manifest is None:
        raise BundleError(f"a zip file, but not a glsl-infer model (it has no manifest.json); {_GIVE_EXPORTED}")
    _check_container([manifest], parted=False)
    zip_directory.check(file, entries)
    text = zip_directory.unpack(file, manifest)
    with rule("keys"):
        data = parse(text, MANIFEST)
    manifest_json.check_version(data, (PROFILE, CPU_PROFILE))  # first, because other versions can differ in any field
    _check_container(entries, parted=data["profile"] == CPU_PROFILE)
    others = {entry.name: zip_directory.unpack(file, entry) for entry in entries if entry.name != MANIFEST}
    return data, hashlib.sha256(text).hexdigest(), others


def _check_container(entries: Sequence[Entry], *, parted: bool) -> None:
    """Refuse unknown members, and members with too many unpacked bytes. In a bundle of parts, parts have folders."""
    seen: set[str] = set()
    for entry in entries:
        name = re.sub(f"^{PART_FOLDER_PATTERN}", "", entry.name) if parted else entry.name
        outside = parted and name == entry.name and name not in (MANIFEST, LABELS)
        if not re.fullmatch(FILE_PATTERN, name) or entry.name in seen or outside:
            raise BundleError(f"not allowed in a model: member '{entry.name:.60}'; {_GIVE_EXPORTED}")
        if entry.method not in (0, 8) or (entry.method == 0 and entry.packed != entry.size):
            raise BundleError(f"member '{entry.name}' is compressed in a way that is not supported")
        most = MAX_MEMBER_BYTES.get(name, MAX_BYTES)
        if entry.size > most:
            raise BundleError(f"{entry.name} unpacks to more than {most >> 20} MiB")
        seen.add(entry.name)
    if sum(entry.size for entry in entries) > MAX_BYTES:
        raise BundleError(f"unpacks to more than {MAX_BYTES >> 20} MiB")


def parse(data: bytes, member: str) -> Any:
    """Return a member as JSON data; NaN, infinities and repeated keys are refused.

    Raises:
        BundleError: the member is not valid JSON; names the member.
    """

    def no_constant(name: str) -> None:
        raise BundleError(f"{member}: {name} is not a number")

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise BundleError(f"{member}: an object has the same key twice")
        return dict(pairs)

    try:
        return json_text.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=no_duplicates)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{member} is no JSON ({error}); {_GIVE_EXPORTED}") from None


def check_hashes(digests: Mapping[str, str], members: Mapping[str, bytes]) -> None:
    """Refuse members whose names or hashes differ from the manifest's list.

    Raises:
        BundleError: names the member.
    """
    missing, extra = sorted(set(digests) - set(members)), sorted(set(members) - set(digests))
    if missing or extra:
        state = "missing" if missing else "not in the manifest"
        raise BundleError(f"member '{(missing or extra)[0]}' is {state}; {EXPORT_AGAIN}", "container")
    for name, digest in digests.items():
        check_hash(name, digest, members)


def check_hash(name: str, digest: str, members: Mapping[str, bytes]) -> None:
    """Refuse a member with another hash.

    Raises:
        BundleError: names the member.
    """
    if hashlib.sha256(members[name]).hexdigest() != digest:
        raise BundleError(f"member '{name}' is damaged (its sha256 differs); {EXPORT_AGAIN}", "container")
