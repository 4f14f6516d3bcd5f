"""The bundle file, ``.glslnn``: a zip with manifest.json, passes.bin, graph.json, shaders/*, weights/* and labels.txt.

docs/bundle-format.md specifies it. Nothing in a bundle is executed but GLSL.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from glsl_infer.bundle import manifest_json, probe, uniforms, vertex_shaders, zip_directory
from glsl_infer.bundle.format_constants import MAX_BYTES, MAX_GRAPH_BYTES, MAX_MANIFEST_BYTES
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check
from glsl_infer.bundle.network import Layer, Network, from_json
from glsl_infer.bundle.network import check as check_network
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.program.layout import FixedPoint, Value
from glsl_infer.program.texels import shape_of
from glsl_infer.support.files import cannot_be_written, not_a_file, writing

MANIFEST = "manifest.json"
SUFFIX = ".glslnn"

SMALLER = "give the network fewer channels or a smaller picture (a convolution over more than 32 channels takes most)"
"""Advice where a model is larger than readers take."""

_GIVE = f"give a *{SUFFIX} file that 'glsl-infer export' wrote"
_AGAIN = "export or copy the file again"

_MAX_MESSAGE = 400
_MEMBER_NAME = re.compile(
    r"((manifest|graph)\.json|passes\.bin|labels\.txt|(shaders|weights)/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)"
)


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: its manifest and the bytes of every member but manifest.json.

    Attributes:
        path: the file that it was read from.
        digest: sha256 of that file's manifest.json, which has the hash of every member; None for one made in memory.
    """

    manifest: Manifest
    members: Mapping[str, bytes]
    path: Path | None = None
    digest: str | None = field(default=None, compare=False)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The lines of labels.txt, verbatim."""
        return split_labels(self.members[LABELS].decode("utf-8"))

    @cached_property
    def network(self) -> Network:
        """What the layers mean, from graph.json.

        Raises:
            BundleError: it does not follow the format, or is not what the manifest draws.
        """
        try:
            network = from_json(_parse(self.members[GRAPH], GRAPH))
            check_network(network, self.manifest, {name: len(data) for name, data in self.members.items()})
        except BundleError as error:
            raise BundleError(f"{self.path or 'bundle'}: {_line(error)}") from None
        return network

    @cached_property
    def graph(self) -> Graph:
        """The network, with its weights as the shaders have them, for the reference.

        Raises:
            BundleError: layers and weights do not fit together.
        """
        network = self.network
        try:
            with np.errstate(all="ignore"):  # what numbers cannot be is an error or an infinity, never a warning
                nodes = [self._node(layer) for layer in network.layers]
            graph = Graph(self.manifest.name, tuple(nodes), network.output)
            for name, shape in graph.shapes.items():
                if shape_of(self.values[name]) != shape:
                    raise ValueError(f"the output of layer '{name}' is {shape}, not {shape_of(self.values[name])}")
            return graph
        except (ModelError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
            raise BundleError(f"{self.path or 'bundle'}: its layers do not fit together ({_line(error)})") from error

    @cached_property
    def values(self) -> dict[str, Value]:
        """Where the output of each layer lies, by layer name."""
        return {layer.name: layer.output for layer in self.network.layers}

    def _node(self, layer: Layer) -> Node:
        node = Node(layer.name, layer.op, layer.inputs, layer.attrs)
        if not node.activation.fits(shape_of(layer.output)[-1]):
            raise ValueError(f"layer '{layer.name}' has an activation for other channels than its own")
        members = [self.members[name] for name in layer.members]
        inputs = [self.values[name] for name in layer.inputs]
        return replace(node, weights=node.operator.read_weights(node, layer.weights, members, inputs))


def split_labels(text: str) -> tuple[str, ...]:
    """Return the lines of a labels file; only a line feed (or CR LF) ends one, and the last may lack it."""
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    return tuple(lines[:-1] if lines and not lines[-1] else lines)


def classes_of(output: Value) -> int:
    """Return how many labels an output needs: none where it is a feature map."""
    return output.length if isinstance(output, FixedPoint) else 0


def write(bundle: Bundle, path: str | Path, *, read_back: bool = False) -> None:
    """Write the file: the same bundle gives the same bytes. An existing file is replaced only when all is written.

    Args:
        bundle: what to write.
        path: the file.
        read_back: read the file before it takes its name, as everybody who gets it will.

    Raises:
        InputError: the folder does not exist or cannot be written.
        ModelError: with ``read_back``, the file is refused; an existing one stays as it is.
    """
    path = Path(path)
    text = json.dumps(
        manifest_json.to_json(bundle.manifest), ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    members = {
        **bundle.members,
        MANIFEST: text.encode("utf-8"),
    }
    try:
        with writing(path) as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name in sorted(members):
                    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                    info.compress_type = zipfile.ZIP_DEFLATED
                    info.create_system = 3  # Unix on every system, so that the bytes are the same
                    info.external_attr = 0o644 << 16
                    archive.writestr(info, members[name], compresslevel=9)
            if read_back:
                _read_back(file, path)
    except (OSError, ValueError) as error:
        raise cannot_be_written(path, error) from None


def _read_back(file: BinaryIO, path: Path) -> None:
    """Read what was written for ``path``, as everybody who gets it will, and say why nobody could."""
    try:
        zip_directory.check(file)
        _verified(path, *_unpack_all(file, path.suffix))
    except BundleError as error:
        reason = str(error).removeprefix(f"{path}: ").removesuffix(f"; {_AGAIN}")
        raise ModelError(
            f"{path}: not written, for no reader would take it: {reason}; {SMALLER}; if it is small, report a bug"
        ) from None


def read(path: str | Path) -> Bundle:
    """Read and verify a bundle: every hash, every field, and that the parts fit together.

    Raises:
        BundleError: the file is missing, truncated, foreign, damaged or of a newer version.
    """
    path = Path(path)
    try:
        return _verified(path, *_read_members(path))
    except UnicodeDecodeError:
        raise BundleError(f"{path}: damaged (a text in it is not UTF-8); {_AGAIN}") from None
    except BundleError as error:
        raise BundleError(f"{path}: {_line(error)}") from None


def _verified(path: Path, data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
    missing = [name for name in (PASSES, GRAPH) if name not in members]
    if missing:
        raise BundleError(f"member '{missing[0]}' is missing")
    listed = data.get("members")
    if isinstance(listed, dict) and isinstance(listed.get(PASSES), str):
        _check_hash(PASSES, listed[PASSES], members)  # before its bytes are taken for passes
    manifest = manifest_json.from_json(data, members[PASSES])
    _check_hashes(manifest, members)
    check(manifest, {name: len(member) for name, member in members.items()})
    vertex_shaders.check(manifest.programs, members)
    uniforms.check(manifest.programs, members)
    bundle = Bundle(manifest, members, path, digest)
    probe.check(manifest.probe, members[manifest.probe.member])
    classes = classes_of(manifest.outputs[0].value)
    if len(bundle.labels) != classes:
        raise BundleError(f"{len(bundle.labels)} labels for {classes} classes")
    return bundle


def _line(error: Exception) -> str:
    """Return a message as one short line, whatever characters and however many a name in the file has."""
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error))
    return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]} ..."


def _read_members(path: Path) -> tuple[Any, str, dict[str, bytes]]:
    """Return the manifest, parsed, its sha256, and the bytes of every other member."""
    try:
        kind = not_a_file(path)
        if kind:
            raise BundleError(f"is {kind}, not a model file; give a *{SUFFIX} file")
        file = path.open("rb")
    except FileNotFoundError:
        raise BundleError("no such file") from None
    except (OSError, ValueError) as error:
        raise BundleError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    try:
        with file:
            zip_directory.check(file)
            return _unpack_all(file, path.suffix)
    except zipfile.BadZipFile:
        raise BundleError(f"not a glsl-infer model, or cut off before its end; {_AGAIN}") from None
    except (zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        raise BundleError(f"damaged or not readable ({error}); {_AGAIN}") from None


def _unpack_all(file: BinaryIO, suffix: str) -> tuple[Any, str, dict[str, bytes]]:
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        manifest = next((info for info in infos if info.filename == MANIFEST), None)
        if manifest is None and suffix == ".keras":
            raise BundleError("a Keras model; make a model file of it with: glsl-infer export")
        if manifest is None:
            raise BundleError(f"a zip file, but not a glsl-infer model (it has no manifest.json); {_GIVE}")
        _check_container([manifest])
        if manifest.file_size > MAX_MANIFEST_BYTES:
            raise BundleError(f"manifest.json unpacks to more than {MAX_MANIFEST_BYTES >> 20} MiB")
        text = _unpack(archive, manifest)
        data = _parse(text, MANIFEST)
        manifest_json.check_version(data)  # first of all: in a newer version the rest may look different
        _check_container(infos)
        if any(info.filename == GRAPH and info.file_size > MAX_GRAPH_BYTES for info in infos):
            raise BundleError(f"graph.json unpacks to more than {MAX_GRAPH_BYTES >> 20} MiB")
        others = {info.filename: _unpack(archive, info) for info in infos if info.filename != MANIFEST}
        return data, hashlib.sha256(text).hexdigest(), others


def _check_container(infos: Sequence[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for info in infos:
        if not _MEMBER_NAME.fullmatch(info.filename) or info.filename in seen:
            raise BundleError(f"not allowed in a model: member '{info.filename:.60}'; {_GIVE}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"member '{info.filename}' is compressed in a way that is not supported")
        seen.add(info.filename)
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise BundleError(f"unpacks to more than {MAX_BYTES >> 20} MiB")


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes; unpacking ends at the declared size, where ``archive.read`` would go on to 2 GiB."""
    with archive.open(info) as file:
        return file.read(info.file_size + 1)


def _parse(data: bytes, member: str) -> Any:
    def no_constant(name: str) -> None:
        raise BundleError(f"{member}: {name} is not a number")

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise BundleError(f"{member}: an object has the same key twice")
        return dict(pairs)

    try:
        return json.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=no_duplicates)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{member} is no JSON ({error}); {_GIVE}") from None


def _check_hashes(manifest: Manifest, members: Mapping[str, bytes]) -> None:
    missing, extra = sorted(set(manifest.members) - set(members)), sorted(set(members) - set(manifest.members))
    if missing or extra:
        what = "missing" if missing else "not in the manifest"
        raise BundleError(f"member '{(missing or extra)[0]}' is {what}; {_AGAIN}")
    for name, digest in manifest.members.items():
        _check_hash(name, digest, members)


def _check_hash(name: str, digest: str, members: Mapping[str, bytes]) -> None:
    if hashlib.sha256(members[name]).hexdigest() != digest:
        raise BundleError(f"member '{name}' is damaged (its sha256 differs); {_AGAIN}")
