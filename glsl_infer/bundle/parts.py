"""Bundles of several parts: parts for the GPU take turns with parts for the CPU.

A GPU part is a complete bundle in a folder of the file: parts/0/manifest.json and so on. The reader of such bundles
checks it. A CPU part is a list of operators with their weights. This module reads and writes the outermost manifest,
and checks the connections: every tensor is computed before it is read, with the shape expected by its reader.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from glsl_infer.bundle import container
from glsl_infer.bundle.described import Described, FieldError
from glsl_infer.bundle.format_constants import (
    CPU_PROFILE,
    FORMAT,
    MAX_CPU_NUMBERS,
    MAX_NUMBER,
    MAX_RESULT,
    MAX_TEXTURE_BYTES,
    PART_FOLDER_PATTERN,
    PART_KINDS,
    PROBE_FORMULA,
    PROFILE,
    VERSION,
)
from glsl_infer.bundle.manifest import PICTURE, Input, Limits, Manifest, Output, Probe
from glsl_infer.bundle.manifest_check import LABELS
from glsl_infer.bundle.manifest_json import CUSTOM_READERS, MAKE, PICTURE_CHANNELS, purpose_problem, steps_to_json
from glsl_infer.bundle.rules import rule
from glsl_infer.cpu import CUSTOM, FORCED, KERNELS
from glsl_infer.cpu.custom import NAME
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph import Graph, GraphOutput
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.node import Node, Shape
from glsl_infer.graph.operators import operator
from glsl_infer.program.layout import FeatureMap, FixedPoint
from glsl_infer.support import json_text
from glsl_infer.support.json_values import plain

if TYPE_CHECKING:
    from typing import Union

    from glsl_infer.bundle.bundle import Bundle

    Part = Union[Bundle, "CpuPart"]

ReadPart = Callable[[Any, str, Mapping[str, bytes]], "Bundle"]
"""Function that returns a bundle for a parsed manifest, its digest and its members, or raises BundleError."""

Operators = Sequence[tuple[Node, Mapping[str, Shape]]]
"""Operators of a CPU part without weights, each with the shapes of its weights."""

PartEntry = tuple[str, tuple[str, ...], tuple[str, ...], Optional[Operators]]
"""Kind, inputs, outputs and operators of a part in the manifest."""

GPU, CPU = PART_KINDS

TENSOR_RANKS = (1, 3)
"""Possible ranks of an input: a vector, or a map or picture."""

WEIGHTS = "weights/cpu.f32"
"""Member with all weights of a CPU part: one operator after the other, each array row by row."""


@dataclass(frozen=True)
class CpuPart:
    """Operators for NumPy, in order.

    Attributes:
        inputs: the tensors read from outside.
        outputs: its tensors that others read; a tensor has the name of its operator.
        nodes: the operators, with their weights.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def weight_bytes(self) -> bytes:
        """The content of the member ``WEIGHTS``."""
        arrays = [weight for node in self.nodes for weight in node.weights.values()]
        return b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in arrays)

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of all operators, each once; for custom operators the functions' names."""
        return tuple(dict.fromkeys(str(node.attrs["calls"]) if node.op == CUSTOM else node.op for node in self.nodes))


def folder(number: int) -> str:
    """Return the prefix of the names of a part's members."""
    return f"parts/{number}/"


def input_value(
    shape: Shape, scales: Sequence[float] = (1.0,), zeros: Sequence[float] = (0.0,)
) -> FeatureMap | FixedPoint:
    """Return the description of an input: its shape and the meaning of bytes, without a location in a texture.

    Args:
        shape: (length,), or (height, width, channels).
        scales: of a picture; see ``program.layout.Range``.
        zeros: of a picture.
    """
    if len(shape) == 1:
        return FixedPoint("", 0, shape[0], 1.0)
    height, width, channels = shape
    return FeatureMap(height, width, channels, 0, (), tuple(scales), tuple(zeros))


def manifest_of(
    name: str,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    parts: Sequence[Part],
    digests: Mapping[str, str],
) -> Manifest:
    """Return the manifest of several parts; its limits are the largest of its GPU parts.

    Args:
        name: of the model.
        inputs: of the model.
        outputs: of the model, with their tensors' shapes.
        parts: in order.
        digests: of every member of the file but manifest.json.
    """
    each = [vars(part.manifest.limits) for part in parts if not isinstance(part, CpuPart)]
    limits = Limits(**{key: max(limit[key] for limit in each) for key in each[0]})
    probe = Probe(PROBE_FORMULA, "", (), ())
    return Manifest(name, tuple(inputs), limits, (), (), (), (), tuple(outputs), probe, digests)


def to_json(manifest: Manifest, parts: Sequence[Part]) -> dict[str, Any]:
    """Return the manifest of several parts as JSON data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": CPU_PROFILE,
        "name": manifest.name,
        "inputs": [_input_to_json(entry) for entry in manifest.inputs],
        "outputs": [
            {
                "name": output.name,
                "purpose": output.purpose,
                "tensors": list(output.tensors),
                "steps": steps_to_json(output.steps),
            }
            for output in manifest.outputs
        ],
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


def _part_to_json(part: Part) -> dict[str, Any]:
    if not isinstance(part, CpuPart):
        inputs, outputs = part.manifest.inputs, part.manifest.outputs
        names = {"inputs": [entry.name for entry in inputs], "outputs": [entry.name for entry in outputs]}
        return {"kind": GPU, **names}
    operators = [
        {
            "name": node.name,
            "op": node.op,
            "inputs": list(node.inputs),
            "attrs": {key: plain(value) for key, value in node.attrs.items() if not _is_implied(node.op, key, value)},
            "weights": {key: list(weight.shape) for key, weight in node.weights.items()},
        }
        for node in part.nodes
    ]
    return {"kind": CPU, "inputs": list(part.inputs), "outputs": list(part.outputs), "operators": operators}


def _is_implied(op: str, key: str, value: Any) -> bool:
    """Return whether an attribute is omitted because it has its default, for compatibility with older bundles."""
    return op in KERNELS and key in KERNELS[op].implied and plain(value) == plain(KERNELS[op].attrs[key])


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


def _output(name: str, purpose: str, tensors: tuple[str, ...], steps: tuple[HostStep, ...]) -> Output:
    return Output(name, purpose, (), steps, tensors)  # the tensors' shapes are not known yet


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


READERS = Described({**MAKE, "tensor_input": _input, "tensor_output": _output, "operator": _operator}, CUSTOM_READERS)


def operator_problem(node: Node) -> str | None:
    """Return why an operator is not allowed in a CPU part or why its attributes are wrong; None if it is valid."""
    attributes = _attributes(node.op)
    if attributes is None:
        return f"'{node.op:.40}' is not an operator of a CPU part"
    for key in attributes.symmetric_difference(node.attrs):
        problem = "is missing" if key in attributes else "is unknown"
        return f"attribute '{key:.40}' {problem}"
    if node.op == CUSTOM and not NAME.fullmatch(str(node.attrs["calls"])):
        return f"'{node.attrs['calls']!s:.60}' names no function as module:function"
    if node.op == CUSTOM and not _is_object(node.attrs["settings"]):
        return "'settings' is not an object in JSON"
    return None


def _attributes(op: str) -> set[str] | None:
    """Return the names of the attributes of an operator of a CPU part; None for an unknown operator."""
    if op in KERNELS:
        return set(KERNELS[op].attrs)
    if op == CUSTOM:
        return {"calls", "shape", "settings"}
    inner = op.removeprefix(FORCED)  # a GPU operator placed on the CPU
    try:
        if inner == op or inner.startswith(FORCED) or operator(inner).is_input or operator(inner).on_cpu:
            return None
        return set(operator(op).attrs)
    except ModelError:
        return None


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json_text.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        return False


def verified(data: Any, members: Mapping[str, bytes], read_part: ReadPart) -> tuple[Manifest, tuple[Part, ...]]:
    """Read several parts and check their consistency.

    Args:
        data: the content of manifest.json; its version and profile have been checked.
        members: all other members, by name.
        read_part: reads a GPU part.

    Raises:
        BundleError: names the part.
    """
    with rule("keys"):
        name, inputs, outputs, entries, digests = READERS.read("parted", data)[3:]
    if LABELS not in members:
        raise BundleError(f"member '{LABELS}' is missing; {container.EXPORT_AGAIN}", "members")
    container.check_hashes(digests, members)
    inside = _by_part(members, len(entries))
    parts = tuple(_read(entry, f"parts[{number}]", inside[number], read_part) for number, entry in enumerate(entries))
    with rule("caps"):
        gpu = [part for part in parts if not isinstance(part, CpuPart)]
        texels = sum(texture.width * texture.height for part in gpu for texture in part.manifest.textures)
        if 4 * texels > MAX_TEXTURE_BYTES:
            raise BundleError(f"{4 * texels} bytes of textures; a model has at most {MAX_TEXTURE_BYTES}")
    return manifest_of(name, inputs, check(inputs, outputs, parts), parts, digests), parts


def _by_part(members: Mapping[str, bytes], count: int) -> list[dict[str, bytes]]:
    """Return the members of each part, by their names in its folder."""
    inside: list[dict[str, bytes]] = [{} for _ in range(count)]
    for name, content in members.items():
        match = re.match(PART_FOLDER_PATTERN, name)
        if match is None:
            continue
        number = int(match.group(1))
        if number >= count:
            raise BundleError(f"member '{name:.60}' is of no part; there are {count}", "members")
        inside[number][name[match.end() :]] = content
    return inside


def _read(entry: PartEntry, where: str, members: dict[str, bytes], read_part: ReadPart) -> Part:
    """Return a part for its entry in the manifest and the members in its folder."""
    kind, inputs, outputs, operators = entry
    if kind != GPU:
        with rule("parts"):
            surplus = sorted(set(members) - {WEIGHTS})
            if surplus:
                raise BundleError(f"{where}: member '{surplus[0]:.60}' is not one of a CPU part")
            return CpuPart(inputs, outputs, _with_weights(operators or (), members.get(WEIGHTS, b""), where))
    text = members.pop(container.MANIFEST, None)
    if text is None:
        raise BundleError(f"{where}: its manifest.json is missing; {container.EXPORT_AGAIN}", "members")
    try:
        with rule("keys"):
            data = container.parse(text, container.MANIFEST)
        if isinstance(data, dict) and data.get("profile") != PROFILE:
            raise BundleError(f"has the profile {data.get('profile')!r:.40}; a GPU part has '{PROFILE}'", "version")
        bundle = read_part(data, hashlib.sha256(text).hexdigest(), members)
    except BundleError as error:
        raise BundleError(f"{where}: {error}", error.rule) from None
    with rule("parts"):
        manifest = bundle.manifest
        for key, names, own in (("inputs", inputs, manifest.inputs), ("outputs", outputs, manifest.outputs)):
            if list(names) != [entry.name for entry in own]:
                raise BundleError(f"{where}: its {key} are not those of its own manifest, in the same order")
    return bundle


def _with_weights(operators: Operators, member: bytes, where: str) -> tuple[Node, ...]:
    """Return operators, given with the shapes of their weights, with the weights from the bytes of a part's member."""
    size = 4 * sum(math.prod(shape) for _, shapes in operators for shape in shapes.values())
    if size != len(member):
        raise BundleError(f"{where}: its weights have {len(member)} bytes, and its operators need {size}")
    numbers = np.frombuffer(member, "<f4").astype(np.float32)
    nodes, at = [], 0
    for node, shapes in operators:
        arrays = {}
        for name, shape in shapes.items():
            count = math.prod(shape)
            arrays[name] = numbers[at : at + count].reshape(shape)
            at += count
        nodes.append(replace(node, weights=arrays))
    return tuple(nodes)


def check(inputs: Sequence[Input], outputs: Sequence[Output], parts: Sequence[Part]) -> tuple[Output, ...]:
    """Return the outputs with their tensors' shapes; refuse parts that do not fit together.

    Raises:
        BundleError: names the part or the output.
    """
    with rule("unique names"):
        for kind, entries in (("inputs", inputs), ("outputs", outputs)):
            if len({entry.name for entry in entries}) != len(entries):
                raise BundleError(f"two {kind} have the same name")
    tensors: dict[str, Shape] = {entry.name: entry.shape for entry in inputs}
    with rule("parts"):
        if all(isinstance(part, CpuPart) for part in parts):
            raise BundleError("no part is for the GPU")
        for number, part in enumerate(parts):
            where = f"parts[{number}]"
            if isinstance(part, CpuPart):
                own = _cpu_shapes(part, tensors, where)
                shapes = {name: _shape_of(name, own, f"{where}, its outputs") for name in part.outputs}
            else:
                _check_gpu_inputs(part, inputs, tensors, where)
                shapes = {output.name: output.shape for output in part.manifest.outputs}
            twice = sorted(set(shapes) & set(tensors))
            if twice:
                raise BundleError(f"{where}: makes '{twice[0]:.60}', which is there already")
            tensors.update(shapes)
        with_shapes = tuple(_with_shapes(output, tensors) for output in outputs)
    with rule("outputs"):
        for output in with_shapes:
            problem = purpose_problem(output, [len(shape) == 3 for shape in output.shapes])
            if problem:
                raise BundleError(f"output '{output.name}': {problem}")
    return with_shapes


def _shape_of(name: str, tensors: Mapping[str, Shape], where: str) -> Shape:
    if name not in tensors:
        raise BundleError(f"{where}: reads '{name:.60}', which nothing before it makes")
    return tensors[name]


def _check_gpu_inputs(part: Bundle, inputs: Sequence[Input], tensors: Mapping[str, Shape], where: str) -> None:
    of_model = {entry.name: (entry.kind, entry.fit) for entry in inputs}
    for entry in part.manifest.inputs:
        shape = _shape_of(entry.name, tensors, where)
        kind, fit = of_model.get(entry.name, ("numbers", None))
        if entry.shape != shape or entry.kind != kind or entry.fit != fit:
            raise BundleError(f"{where}: its input '{entry.name}' is {entry.kind} {entry.shape}, not {kind} {shape}")


def _cpu_shapes(part: CpuPart, tensors: Mapping[str, Shape], where: str) -> dict[str, Shape]:
    """Return the shapes of all tensors computed by a CPU part."""
    inside = {name: _shape_of(name, tensors, where) for name in part.inputs}
    own: dict[str, Shape] = {}
    for node in part.nodes:
        shapes = [_shape_of(name, {**inside, **own}, f"{where}, operator '{node.name:.60}'") for name in node.inputs]
        if node.name in own or node.name in tensors:
            raise BundleError(f"{where}: two tensors are called '{node.name:.60}'")
        try:
            shape = _operator_shape(node, shapes)
            fits = all(isinstance(size, int) and size >= 1 for size in shape) and math.prod(shape) <= MAX_RESULT
        except (
            ModelError,
            ValueError,
            TypeError,
            LookupError,
            ArithmeticError,
            AttributeError,
            MemoryError,
            RuntimeError,
        ) as error:
            raise BundleError(f"{where}, operator '{node.name:.60}' ({node.op}): {error}") from None
        if not fits:
            raise BundleError(f"{where}, operator '{node.name:.60}': a tensor of shape {shape!s:.100}")
        own[node.name] = shape
    numbers = sum(map(math.prod, own.values()))
    if numbers > MAX_CPU_NUMBERS:
        raise BundleError(
            f"{where}: {numbers} numbers in its tensors; a CPU part has at most {MAX_CPU_NUMBERS}", "caps"
        )
    return own


def _operator_shape(node: Node, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an operator's tensor; shapes of inputs that do not fit together raise various errors."""
    if node.op in KERNELS:
        weights = {name: weight.shape for name, weight in node.weights.items()}
        return KERNELS[node.op].shape_of(node.attrs, weights, shapes)
    if node.op == CUSTOM:
        return tuple(int(size) for size in node.attrs["shape"])
    return node.operator.shape(node, shapes)


def cpu_numbers(bundle: Bundle) -> int:
    """Return the number of elements in the tensors of all CPU parts of a checked bundle."""
    tensors: dict[str, Shape] = {entry.name: entry.shape for entry in bundle.manifest.inputs}
    count = 0
    for part in bundle.parts:
        if isinstance(part, CpuPart):
            shapes = _cpu_shapes(part, tensors, "")
            count += sum(map(math.prod, shapes.values()))
        else:
            shapes = {output.name: output.shape for output in part.manifest.outputs}
        tensors.update(shapes)
    return count


def _with_shapes(output: Output, tensors: Mapping[str, Shape]) -> Output:
    shapes = tuple(_shape_of(name, tensors, f"output '{output.name:.60}'") for name in output.tensors)
    with_shapes = replace(output, shapes=shapes)
    if sum(map(math.prod, shapes)) > MAX_RESULT:
        raise BundleError(f"output '{output.name:.60}' has more than {MAX_RESULT} numbers", "caps")
    try:
        _ = with_shapes.shape
    except ValueError as error:
        raise BundleError(f"output '{output.name:.60}': {error}", "outputs") from None
    return with_shapes


def graph_of(bundle: Bundle) -> Graph:
    """Return the graph of several parts for the reference: the graphs of its parts, one after the other.

    At each input of a GPU part, a node rounds the tensor to the stored values of the part's texture.

    Raises:
        ModelError: the parts' graphs do not fit together.
        BundleError: a part's layers and weights do not fit together.
    """
    nodes: dict[str, Node] = {}
    inputs = {entry.name: entry for entry in bundle.manifest.inputs}
    steps: dict[str, tuple[tuple[str, ...], tuple[HostStep, ...]]] = {}
    for number, part in enumerate(bundle.parts):
        if isinstance(part, CpuPart):
            for name in part.inputs:
                if name in inputs and name not in nodes:
                    nodes[name] = _input_node(inputs[name])
            nodes.update({node.name: node for node in part.nodes})
            continue
        renamed: dict[str, str] = {}
        inner = part.graph
        for node in inner.nodes:
            if not node.operator.is_input:
                nodes[node.name] = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
            elif node.name in inputs and nodes.get(node.name, node) == node:
                nodes[node.name] = node
            else:
                renamed[node.name] = f"{node.name}@{number}"
                nodes[renamed[node.name]] = _upload(node, renamed[node.name])
        for output in inner.outputs:
            if output.steps or output.layers != (output.name,):
                steps[output.name] = (tuple(renamed.get(name, name) for name in output.layers), output.steps)
    in_order = sorted(nodes.values(), key=lambda node: not node.operator.is_input)  # the parts are in order already
    return Graph(bundle.manifest.name, in_order, [_graph_output(output, steps) for output in bundle.manifest.outputs])


def _graph_output(output: Output, steps: Mapping[str, tuple[tuple[str, ...], tuple[HostStep, ...]]]) -> GraphOutput:
    """Return an output of the graph. The host steps of a GPU part on its only tensor come before the output's own."""
    if len(output.tensors) == 1 and output.tensors[0] in steps:
        layers, before = steps[output.tensors[0]]
        return GraphOutput(output.name, layers, (*before, *output.steps), output.purpose)
    return GraphOutput(output.name, output.tensors, output.steps, output.purpose)


def _input_node(entry: Input) -> Node:
    """Return the input node for an input with a CPU part as its first reader."""
    if entry.kind != PICTURE:
        return Node(entry.name, "tensor_input", (), {"shape": entry.shape})
    assert isinstance(entry.value, FeatureMap)
    meaning = {"scales": entry.value.scales, "zeros": entry.value.zeros}
    return Node(entry.name, "input", (), {"shape": entry.shape, "fit": entry.fit, **meaning})


def _upload(node: Node, name: str) -> Node:
    """Return the node that rounds a tensor like an input of a GPU part."""
    keys = ("scale",) if "scale" in node.attrs else ("scales", "zeros")
    attrs: dict[str, Any] = {key: node.attrs[key] for key in keys}
    return Node(name, "upload16" if keys == ("scale",) else "upload8", (node.name,), attrs)
