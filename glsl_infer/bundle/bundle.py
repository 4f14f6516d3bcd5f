"""The bundle file, ``.glslnn``: a zip with manifest.json, passes.bin, graph.json, shaders/*, weights/* and labels.txt.

docs/bundle-format.md specifies it. Nothing in a bundle is executed but GLSL.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Union

import numpy as np

from glsl_infer.bundle import joined, manifest_json, parted, parted_json, probe, uniforms, vertex_shaders
from glsl_infer.bundle.container import (
    AGAIN,
    MANIFEST,
    check_hash,
    check_hashes,
    parse,
    read_members,
    unpack_all,
)
from glsl_infer.bundle.cpu_part import CpuPart
from glsl_infer.bundle.format_constants import CPU_PROFILE
from glsl_infer.bundle.manifest import CLASSES, Manifest, Output
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check
from glsl_infer.bundle.network import Layer, Network, from_json
from glsl_infer.bundle.network_check import check as check_network
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError, InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.program.layout import Value
from glsl_infer.program.texels import shape_of
from glsl_infer.support.files import cannot_be_written, writing

SMALLER = "give the network fewer channels or a smaller picture (a convolution over more than 32 channels takes most)"
"""Advice where a model is larger than readers take."""

_MAX_MESSAGE = 400


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: its manifest and the bytes of every member but manifest.json.

    Attributes:
        path: the file that it was read from.
        digest: sha256 of that file's manifest.json, which has the hash of every member; None for one made in memory.
        parts: of a bundle of parts, in order: a bundle for each GPU part, and the CPU parts. Its manifest has inputs,
            outputs and limits, and neither textures nor passes.
    """

    manifest: Manifest
    members: Mapping[str, bytes]
    path: Path | None = None
    digest: str | None = field(default=None, compare=False)
    parts: tuple[Union[Bundle, CpuPart], ...] = ()

    @property
    def gpu_parts(self) -> tuple[Bundle, ...]:
        """The bundles that the GPU executes: the parts for it, or the whole where there are none."""
        return tuple(part for part in self.parts if isinstance(part, Bundle)) or (self,)

    @property
    def cpu_operators(self) -> tuple[str, ...]:
        """The names of the operators of CPU parts, each once."""
        names = [name for part in self.parts if isinstance(part, CpuPart) for name in part.operators]
        return tuple(dict.fromkeys(names))

    def require_whole(self, what: str) -> None:
        """Refuse a bundle of parts; ``what`` needs one that the GPU computes alone.

        Raises:
            InputError: naming the operators of its CPU parts.
        """
        if self.parts:
            raise InputError(
                f"{self.path or self.manifest.name} runs in {len(self.parts)} parts, some of them on the CPU "
                f"({', '.join(self.cpu_operators)}); {what} needs a model that the GPU computes alone"
            )

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
        self.require_whole("graph.json")
        try:
            network = from_json(parse(self.members[GRAPH], GRAPH))
            check_network(network, self.manifest, {name: len(data) for name, data in self.members.items()})
        except BundleError as error:
            raise BundleError(f"{self.path or 'bundle'}: {_line(error)}{_named(error.rule)}", error.rule) from None
        return network

    @cached_property
    def graph(self) -> Graph:
        """The network, with its weights as the shaders have them, for the reference.

        Raises:
            BundleError: layers and weights do not fit together.
        """
        if self.parts:
            return self._joined()
        network = self.network
        try:
            with np.errstate(all="ignore"):  # what numbers cannot be is an error or an infinity, never a warning
                nodes = [self._node(layer) for layer in network.layers]
            outputs = tuple(
                GraphOutput(output.name, output.layers, output.steps, entry.purpose)
                for output, entry in zip(network.outputs, self.manifest.outputs)
            )
            graph = Graph(self.manifest.name, tuple(nodes), outputs)
            for name, shape in graph.shapes.items():
                if shape_of(self.values[name]) != shape:
                    raise ValueError(f"the output of layer '{name}' is {shape}, not {shape_of(self.values[name])}")
            return graph
        except (ModelError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
            raise BundleError(
                f"{self.path or 'bundle'}: its layers do not fit together ({_line(error)})", "graph"
            ) from error

    def _joined(self) -> Graph:
        try:
            graph = joined.graph(self)
            _ = graph.shapes
        except (ModelError, LookupError, ValueError, TypeError) as error:
            raise BundleError(
                f"{self.path or 'bundle'}: its parts do not fit together ({_line(error)})", "parts"
            ) from error
        return graph

    @cached_property
    def values(self) -> dict[str, Value]:
        """Where the output of each layer lies, by layer name; in a bundle of parts in the textures of its part."""
        if self.parts:
            return {name: value for part in self.gpu_parts for name, value in part.values.items()}
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


def classes_of(outputs: Sequence[Output]) -> int:
    """Return how many labels a model with these outputs needs: none where no output is for classes."""
    return next((output.shape[0] for output in outputs if output.purpose == CLASSES), 0)


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
    members = {**bundle.members, MANIFEST: manifest_bytes(bundle)}
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


def manifest_bytes(bundle: Bundle) -> bytes:
    """Return the member manifest.json."""
    data = (
        parted_json.to_json(bundle.manifest, bundle.parts) if bundle.parts else manifest_json.to_json(bundle.manifest)
    )
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _read_back(file: BinaryIO, path: Path) -> None:
    """Read what was written for ``path``, as everybody who gets it will, and say why nobody could."""
    try:
        _verified(path, *unpack_all(file, path.suffix))
    except BundleError as error:
        reason = str(error).removeprefix(f"{path}: ").removesuffix(f"; {AGAIN}")
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
        return _verified(path, *read_members(path))
    except BundleError as error:
        raise BundleError(f"{path}: {_line(error)}{_named(error.rule)}", error.rule) from None


def _named(rule_name: str | None) -> str:
    """Return how a message ends that is about a rule."""
    return f" (rule: {rule_name})" if rule_name else ""


def _verified(path: Path, data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
    if data["profile"] == CPU_PROFILE:
        return _verified_parts(path, data, digest, members)
    return _verified_whole(path, data, digest, members)


def _verified_parts(path: Path, data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
    def read_part(data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
        return _verified_whole(path, data, digest, members)

    manifest, parts = parted.verified(data, members, read_part)
    bundle = Bundle(manifest, members, path, digest, parts)
    with rule("labels"):
        _check_labels(bundle)
    return bundle


def _verified_whole(path: Path, data: Any, digest: str, members: Mapping[str, bytes]) -> Bundle:
    missing = [name for name in (PASSES, GRAPH, LABELS) if name not in members]
    if missing:
        raise BundleError(f"member '{missing[0]}' is missing; {AGAIN}", "members")
    listed = data.get("members")
    if isinstance(listed, dict) and isinstance(listed.get(PASSES), str):
        check_hash(PASSES, listed[PASSES], members)  # before its bytes are taken for passes
    manifest = manifest_json.from_json(data, members[PASSES])
    check_hashes(manifest.members, members)
    check(manifest, {name: len(member) for name, member in members.items()})
    with rule("vertex shaders"):
        vertex_shaders.check(manifest.programs, members)
    uniforms.check(manifest.programs, members)
    with rule("probe"):
        probe.check(manifest.probe, members[manifest.probe.member])
    bundle = Bundle(manifest, members, path, digest)
    with rule("labels"):
        _check_labels(bundle)
    return bundle


def _check_labels(bundle: Bundle) -> None:
    classes = classes_of(bundle.manifest.outputs)
    try:
        if bundle.members[LABELS].count(b"\n") > classes + 1:  # millions of lines take a hundred times their bytes
            raise BundleError(f"more than {classes} labels for {classes} classes; give a line for each class")
        labels = bundle.labels
    except UnicodeDecodeError:
        raise BundleError(f"labels.txt is not UTF-8; {AGAIN}") from None
    if len(labels) != classes:
        raise BundleError(f"{len(labels)} labels for {classes} classes; give a line for each class")


def _line(error: Exception) -> str:
    """Return a message as one short line, whatever characters and however many a name in the file has."""
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error))
    return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]} ..."
