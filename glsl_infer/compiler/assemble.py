"""Assembly of a bundle from a program or from parts: manifest, network description, probe and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from glsl_infer.bundle import MANIFEST
from glsl_infer.bundle.bundle import Bundle
from glsl_infer.bundle.file import SMALLER, manifest_bytes
from glsl_infer.bundle.format_constants import MAX_PASSES, MAX_QUADS
from glsl_infer.bundle.manifest import CLASSES, IMAGE, MASK, NUMBERS, PICTURE, VALUES, Input, Manifest, Output
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check, needed_limits
from glsl_infer.bundle.manifest_json import pass_table
from glsl_infer.bundle.network import Network, NetworkOutput, layers_of, to_bytes
from glsl_infer.bundle.network import check as check_network
from glsl_infer.bundle.parts import WEIGHTS, CpuPart, folder, input_value, manifest_of
from glsl_infer.bundle.parts import check as check_parts
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.pass_table import as_stored, float_members
from glsl_infer.bundle.program_check import check_fragment_shaders
from glsl_infer.compiler import probe
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.picture import is_picture, picture_range
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import FeatureMap, Value
from glsl_infer.support.progress import ProgressCallback, no_progress


def to_bundle(program: CompiledNetwork, labels: Sequence[str], progress: ProgressCallback = no_progress) -> Bundle:
    """Assemble the bundle of a program, with its probe and its labels.

    Args:
        program: the compiled network.
        labels: one for each class; none for a network without an output for classes.
        progress: called with a progress message for each layer of the probe.

    Raises:
        InputError: the number of labels is not the number of classes, or a label contains a line feed.
        ModelError: an output does not fit its purpose, or there are more passes than a reader accepts. It is raised
            before the probe, which takes longest.
    """
    graph = program.graph
    inputs = tuple(_input(node, program.values[node.name]) for node in graph.inputs)
    outputs = tuple(_output(program, output) for output in graph.outputs)
    label_lines = _labels_member(labels, graph)
    _check_passes(program)
    expectation, texels = probe.make(program, inputs, outputs, progress)
    network_outputs = tuple(NetworkOutput(output.name, output.layers, output.steps) for output in graph.outputs)
    network = Network(network_outputs, layers_of(graph.nodes, program.values, program.weight_members))
    members = {
        **program.members,
        GRAPH: to_bytes(network),
        expectation.member: texels,
        LABELS: label_lines,
    }
    manifest = Manifest(
        name=graph.name,
        inputs=inputs,
        limits=needed_limits(program.textures, program.programs),
        textures=program.textures,
        programs=program.programs,
        floats=float_members(program.passes),
        passes=tuple(as_stored(entry) for entry in program.passes),
        outputs=outputs,
        probe=expectation,
        members={},  # the digests, after the checks
    )
    sizes = {name: len(data) for name, data in members.items()}
    check(manifest, sizes)
    check_network(network, manifest, sizes)
    check_fragment_shaders(program.programs, members)
    members[PASSES] = pass_table(manifest)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())}
    return Bundle(replace(manifest, members=hashes), members)


def parts_to_bundle(graph: Graph, labels: Sequence[str], parts: Sequence[Bundle | CpuPart]) -> Bundle:
    """Assemble a bundle of several parts, which were compiled separately.

    Args:
        graph: the optimised graph of which the parts are parts.
        labels: as for ``to_bundle``.
        parts: the parts, in order.

    Raises:
        InputError: the number of labels is not the number of classes, or a label contains a line feed.
        ModelError: an output does not fit its purpose.
    """
    members = {LABELS: _labels_member(labels, graph)}
    inputs = tuple(_input_of_parts(node) for node in graph.inputs)
    outputs = tuple(_output_of_parts(graph, output) for output in graph.outputs)
    for index, part in enumerate(parts):
        members.update({f"{folder(index)}{name}": content for name, content in _members_of_part(part).items()})
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(members.items())}
    manifest = manifest_of(graph.name, inputs, check_parts(inputs, outputs, parts), parts, hashes)
    return Bundle(manifest, members, nested=tuple(parts))


def classes_of(graph: Graph) -> int:
    """Return the number of labels: one for each value of the first output for classes, or 0 without such an output."""
    sizes = [graph.shape_of(output) for output in graph.outputs if graph.purpose(output) == CLASSES]
    return sizes[0][0] if sizes else 0


def _labels_member(labels: Sequence[str], graph: Graph) -> bytes:
    """Return the member with the labels.

    Raises:
        InputError: the number of labels is not the number of classes, or a label contains a line feed.
    """
    classes = classes_of(graph)
    if len(labels) != classes:
        raise InputError(f"{len(labels)} labels for {classes} classes; give one line for each class")
    if any("\n" in label or label.endswith("\r") for label in labels):
        raise InputError("a label contains a line feed or ends with a carriage return; give one label a line")
    return "".join(f"{label}\n" for label in labels).encode("utf-8")


def _members_of_part(part: Bundle | CpuPart) -> dict[str, bytes]:
    """Return the members in the folder of a part."""
    if isinstance(part, CpuPart):
        return {WEIGHTS: part.weight_bytes} if part.weight_bytes else {}
    return {**part.members, MANIFEST: manifest_bytes(part)}


def _input(node: Node, value: Value) -> Input:
    kind = PICTURE if is_picture(node) else NUMBERS
    return Input(node.name, kind, value, node.attrs.get("fit"))


def _input_of_parts(node: Node) -> Input:
    shape = tuple(node.attrs["shape"])
    return _input(node, input_value(shape, *picture_range(node)) if is_picture(node) else input_value(shape))


def _output(program: CompiledNetwork, output: GraphOutput) -> Output:
    values = tuple(program.values[layer] for layer in output.layers)
    is_map = len(values) == 1 and isinstance(values[0], FeatureMap)
    return Output(output.name, _purpose(program.graph, output, is_map=is_map), values, output.steps)


def _output_of_parts(graph: Graph, output: GraphOutput) -> Output:
    shapes = tuple(graph.shapes[layer] for layer in output.layers)
    is_map = len(shapes) == 1 and len(graph.shape_of(output)) == 3
    return Output(output.name, _purpose(graph, output, is_map=is_map), (), output.steps, output.layers, shapes)


def _purpose(graph: Graph, output: GraphOutput, *, is_map: bool) -> str:
    """Return the purpose of an output.

    Raises:
        ModelError: the output's shape does not fit it.
    """
    shape, purpose = graph.shape_of(output), graph.purpose(output)
    fits = {
        CLASSES: len(shape) == 1,
        IMAGE: not output.steps and is_map,
        MASK: len(shape) in (2, 3),
        VALUES: True,
    }
    if not fits.get(purpose, False):
        raise ModelError(
            f"output '{output.name}' of shape {shape} cannot be for '{purpose}'; "
            f"give --purpose {output.name}=PURPOSE with one of {', '.join(key for key, fit in fits.items() if fit)}"
        )
    return purpose


def _check_passes(program: CompiledNetwork) -> None:
    """Refuse a program with more passes or quads than a reader accepts.

    Raises:
        ModelError: with both counts, both limits and a remedy.
    """
    count, quads = len(program.passes), sum(len(entry.quads) for entry in program.passes)
    if count > MAX_PASSES or quads > MAX_QUADS:
        raise ModelError(
            f"the model takes {count} passes of {quads} quads; a reader takes {MAX_PASSES} and {MAX_QUADS}; {SMALLER}"
        )
