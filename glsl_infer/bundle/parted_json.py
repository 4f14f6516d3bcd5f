"""The manifest of a bundle of parts as JSON, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.cpu_part import CpuPart, check_operator
from glsl_infer.bundle.format_constants import (
    CPU_PROFILE,
    FORMAT,
    MAX_INPUTS,
    MAX_OPERATORS,
    MAX_OUTPUTS,
    MAX_PARTS,
    MAX_RANK,
    MAX_TENSORS,
    PART_KINDS,
    RANGES,
    VERSION,
)
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import Input, Manifest
from glsl_infer.bundle.network import attribute_from_json
from glsl_infer.bundle.parted_ends import (
    TensorOutput,
    input_from_json,
    input_to_json,
    output_from_json,
    output_to_json,
)
from glsl_infer.bundle.rules import rule
from glsl_infer.cpu import KERNELS
from glsl_infer.errors import BundleError
from glsl_infer.graph.node import Node, Shape
from glsl_infer.program.quantize import plain

if TYPE_CHECKING:
    from typing import Union

    from glsl_infer.bundle.bundle import Bundle

    BundlePart = Union[Bundle, CpuPart]

GPU, CPU = PART_KINDS

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class PartEntry:
    """A part as the manifest has it; the GPU's are bundles in folders of their own.

    Attributes:
        kind: ``gpu`` or ``cpu``.
        inputs, outputs: names of the tensors that it reads and makes.
        nodes: of a CPU part, without weights.
        weights: the shapes of each node's weights.
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...] = ()
    weights: tuple[Mapping[str, Shape], ...] = ()


@dataclass(frozen=True)
class PartedManifest:
    """What manifest.json of a bundle of parts says."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[TensorOutput, ...]
    parts: tuple[PartEntry, ...]
    members: Mapping[str, str]


def to_json(manifest: Manifest, parts: Sequence[BundlePart]) -> dict[str, Any]:
    """Return the manifest of a bundle of parts as JSON data."""
    outputs = [output for output in manifest.outputs if isinstance(output, TensorOutput)]
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": CPU_PROFILE,
        "name": manifest.name,
        "inputs": [input_to_json(entry) for entry in manifest.inputs],
        "outputs": [output_to_json(entry) for entry in outputs],
        "parts": [_part_to_json(part) for part in parts],
        "members": dict(manifest.members),
    }


def from_json(data: Any) -> PartedManifest:
    """Read the manifest of a bundle of parts, whose version and profile were looked at.

    Raises:
        BundleError: anything missing, unknown, of the wrong type or out of range.
    """
    with rule("keys"):
        fields = Fields(data, "manifest")
        for key in ("format", "version", "profile"):
            fields.any(key)
        name = fields.text("name")
        inputs = _entries(fields, "inputs", input_from_json, 1, MAX_INPUTS)
        outputs = _entries(fields, "outputs", output_from_json, 1, MAX_OUTPUTS)
        parts = _entries(fields, "parts", _part_from_json, 2, MAX_PARTS)
        members = {
            key: json_fields.text(value, f"members['{key:.60}']") for key, value in fields.mapping("members").items()
        }
        fields.done()
    return PartedManifest(name, inputs, outputs, parts, members)


def _entries(fields: Fields, key: str, read: Callable[[Any, str], Entry], least: int, most: int) -> tuple[Entry, ...]:
    entries = fields.any(key)
    with rule(key):
        entries = json_fields.items(entries, f"{fields.where}: '{key}'")
        if not least <= len(entries) <= most:
            raise BundleError(f"{len(entries)} {key}; a model of parts has {least} to {most}")
        return tuple(read(entry, f"{key}[{i}]") for i, entry in enumerate(entries))


def _part_to_json(part: BundlePart) -> dict[str, Any]:
    if not isinstance(part, CpuPart):
        ends = (part.manifest.inputs, part.manifest.outputs)
        inputs, outputs = ([entry.name for entry in entries] for entries in ends)
        return {"kind": GPU, "inputs": inputs, "outputs": outputs}
    operators = [_operator_to_json(node) for node in part.nodes]
    return {"kind": CPU, "inputs": list(part.inputs), "outputs": list(part.outputs), "operators": operators}


def _operator_to_json(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "op": node.op,
        "inputs": list(node.inputs),
        "attrs": {key: plain(value) for key, value in node.attrs.items() if not _is_implied(node.op, key, value)},
        "weights": {key: list(weight.shape) for key, weight in node.weights.items()},
    }


def _is_implied(op: str, key: str, value: Any) -> bool:
    """Return whether a bundle leaves out an attribute that has its default, as those before it do."""
    return op in KERNELS and key in KERNELS[op].implied and plain(value) == plain(KERNELS[op].attrs[key])


def _part_from_json(data: Any, where: str) -> PartEntry:
    fields = Fields(data, where)
    kind = fields.text("kind", one_of=PART_KINDS)
    inputs, outputs = fields.texts("inputs"), fields.texts("outputs")
    for key, names in (("inputs", inputs), ("outputs", outputs)):
        if not names or len(set(names)) != len(names):
            raise BundleError(f"{where}: its {key} are {list(names)!s:.100}; name at least one, and each once")
    entries = fields.items("operators") if kind == CPU else []
    fields.done()
    if kind == GPU:
        return PartEntry(kind, inputs, outputs)
    if not 1 <= len(entries) <= MAX_OPERATORS:
        raise BundleError(f"{where}: {len(entries)} operators; a part has 1 to {MAX_OPERATORS}")
    read = [_operator_from_json(entry, f"{where}.operators[{i}]") for i, entry in enumerate(entries)]
    return PartEntry(kind, inputs, outputs, tuple(node for node, _ in read), tuple(shapes for _, shapes in read))


def _operator_from_json(data: Any, where: str) -> tuple[Node, Mapping[str, Shape]]:
    fields = Fields(data, where)
    name, op, inputs = fields.text("name"), fields.text("op"), fields.texts("inputs")
    attrs = {
        key: attribute_from_json(value, f"{where}.attrs['{key:.60}']") for key, value in fields.mapping("attrs").items()
    }
    weights = {
        key: tuple(json_fields.integer(size, f"{where}.weights['{key:.60}']", *RANGES["count"]) for size in sizes)
        for key, sizes in (
            (key, json_fields.items(sizes, f"{where}.weights['{key:.60}']"))
            for key, sizes in fields.mapping("weights").items()
        )
    }
    fields.done()
    if not 1 <= len(inputs) <= MAX_TENSORS:
        raise BundleError(f"{where}: {len(inputs)} inputs; an operator reads 1 to {MAX_TENSORS} tensors")
    if any(len(shape) > MAX_RANK for shape in weights.values()):
        raise BundleError(f"{where}: a weight has more than {MAX_RANK} axes")
    if op in KERNELS:
        attrs = {**{key: KERNELS[op].attrs[key] for key in KERNELS[op].implied}, **attrs}
    node = Node(name, op, inputs, attrs)
    check_operator(node, f"{where} ('{name:.60}')")
    return node, weights
