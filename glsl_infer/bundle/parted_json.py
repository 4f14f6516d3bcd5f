"""Conversion of the manifest of a bundle of parts to and from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glsl_infer.bundle.cpu_part import CpuPart, operator_problem
from glsl_infer.bundle.described import Described, FieldError
from glsl_infer.bundle.format_constants import CPU_PROFILE, FORMAT, MAX_NUMBER, MAX_RESULT, PART_KINDS, VERSION
from glsl_infer.bundle.manifest import PICTURE, Input, Manifest
from glsl_infer.bundle.manifest_json import MAKE, OWN, PICTURE_CHANNELS, steps_to_json
from glsl_infer.bundle.parted_ends import TensorOutput, input_value
from glsl_infer.bundle.rules import rule
from glsl_infer.cpu import KERNELS
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.node import Node, Shape
from glsl_infer.program.layout import FeatureMap
from glsl_infer.program.quantize import plain

if TYPE_CHECKING:
    from typing import Union

    from glsl_infer.bundle.bundle import Bundle

    BundlePart = Union[Bundle, CpuPart]

GPU, CPU = PART_KINDS

TENSOR_RANKS = (1, 3)
"""Possible ranks of an input: a vector, or a map or picture."""


@dataclass(frozen=True)
class PartEntry:
    """Manifest entry of a part. GPU parts are bundles in their own folders.

    Attributes:
        kind: ``gpu`` or ``cpu``.
        inputs, outputs: names of the tensors it reads and computes.
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
    """Contents of manifest.json of a bundle of parts."""

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
        "inputs": [_input_to_json(entry) for entry in manifest.inputs],
        "outputs": [_output_to_json(entry) for entry in outputs],
        "parts": [_part_to_json(part) for part in parts],
        "members": dict(manifest.members),
    }


def _input_to_json(entry: Input) -> dict[str, Any]:
    data: dict[str, Any] = {"name": entry.name, "kind": entry.kind}
    if entry.fit is None:
        return {**data, "shape": list(entry.shape)}
    assert isinstance(entry.value, FeatureMap)
    meaning = {"scales": list(entry.value.scales), "zeros": list(entry.value.zeros)}
    return {**data, "fit": entry.fit, "shape": list(entry.shape), **meaning}


def _output_to_json(entry: TensorOutput) -> dict[str, Any]:
    steps = steps_to_json(entry.steps)
    return {"name": entry.name, "purpose": entry.purpose, "tensors": list(entry.tensors), "steps": steps}


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
    """Return whether an attribute is omitted because it has its default, for compatibility with older bundles."""
    return op in KERNELS and key in KERNELS[op].implied and plain(value) == plain(KERNELS[op].attrs[key])


def from_json(data: Any) -> PartedManifest:
    """Read the manifest of a bundle of parts after the check of its version and profile.

    Raises:
        BundleError: anything missing, unknown, of the wrong type or out of range.
    """
    with rule("keys"):
        return PartedManifest(*READERS.read("parted", data)[3:])


def _input(
    name: str,
    kind: str,
    fit: str | None,
    shape: Shape,
    scales: tuple[float, ...] | None,
    zeros: tuple[float, ...] | None,
) -> Input:
    if len(shape) not in TENSOR_RANKS or math.prod(shape) > MAX_RESULT:
        raise FieldError(f"shape {shape}; an input is a vector or a map of at most {MAX_RESULT} numbers")
    if kind != PICTURE or scales is None or zeros is None:
        return Input(name, kind, input_value(shape))
    if len(shape) != 3 or shape[2] not in PICTURE_CHANNELS:
        raise FieldError(f"a picture of shape {shape}; it has a height, a width, and 1, 3 or 4 channels")
    if any(len(numbers) not in (1, shape[2]) for numbers in (scales, zeros)):
        raise FieldError(f"{len(scales)} scales and {len(zeros)} zeros; give one, or one a channel")
    value = input_value(shape, scales, zeros)
    if isinstance(value, FeatureMap) and value.largest > MAX_NUMBER:
        raise FieldError(f"scales and zeros give values beyond {MAX_NUMBER:g}")
    return Input(name, kind, value, fit)


def _output(name: str, purpose: str, tensors: tuple[str, ...], steps: tuple[HostStep, ...]) -> TensorOutput:
    return TensorOutput(name, purpose, (), steps, tensors)  # the tensors' shapes are not known yet


def _part(
    kind: str, inputs: tuple[str, ...], outputs: tuple[str, ...], operators: Sequence[tuple[Node, Any]] | None
) -> PartEntry:
    nodes, weights = zip(*operators) if operators else ((), ())
    return PartEntry(kind, inputs, outputs, nodes, weights)


def _operator(
    name: str, op: str, inputs: tuple[str, ...], attrs: Mapping[str, Any], weights: Mapping[str, Shape]
) -> tuple[Node, Mapping[str, Shape]]:
    if op in KERNELS:
        attrs = {**{key: KERNELS[op].attrs[key] for key in KERNELS[op].implied}, **attrs}
    node = Node(name, op, inputs, attrs)
    problem = operator_problem(node)
    if problem:
        raise FieldError(f"operator '{name:.60}': {problem}")
    return node, weights


READERS = Described(
    {**MAKE, "tensor_input": _input, "tensor_output": _output, "part": _part, "operator": _operator},
    OWN,
)
