"""Assembly of a bundle from a program: manifest, network description, probe and labels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from glsl_infer.bundle.bundle import Bundle
from glsl_infer.bundle.file import SMALLER
from glsl_infer.bundle.format_constants import MAX_PASSES, MAX_QUADS
from glsl_infer.bundle.manifest import CLASSES, IMAGE, MASK, NUMBERS, PICTURE, VALUES, Input, Manifest, Output
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check, needed_limits
from glsl_infer.bundle.manifest_json import pass_table
from glsl_infer.bundle.network import Network, NetworkOutput, layers_of, to_bytes
from glsl_infer.bundle.network import check as check_network
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.pass_table import as_stored, float_members
from glsl_infer.bundle.program_check import check_fragment_shaders
from glsl_infer.compiler import probe
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.picture import is_picture
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import FeatureMap, Value


def to_bundle(program: CompiledNetwork, labels: Sequence[str], progress: Callable[[str], object] = str) -> Bundle:
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
    classes = classes_of(graph)
    if len(labels) != classes:
        raise InputError(f"{len(labels)} labels for {classes} classes; give one line for each class")
    if any("\n" in label or label.endswith("\r") for label in labels):
        raise InputError("a label contains a line feed or ends with a carriage return; give one label a line")
    _check_passes(program)
    expectation, texels = probe.make(program, inputs, outputs, progress)
    ends = tuple(NetworkOutput(output.name, output.layers, output.steps) for output in graph.outputs)
    network = Network(ends, layers_of(graph.nodes, program.values, program.weight_members))
    members = {
        **program.members,
        GRAPH: to_bytes(network),
        expectation.member: texels,
        LABELS: "".join(f"{label}\n" for label in labels).encode("utf-8"),
    }
    manifest = Manifest(
        graph.name,
        inputs,
        needed_limits(program.textures, program.programs),
        program.textures,
        program.programs,
        float_members(program.passes),
        tuple(as_stored(entry) for entry in program.passes),
        outputs,
        expectation,
        {},
    )
    sizes = {name: len(data) for name, data in members.items()}
    check(manifest, sizes)
    check_network(network, manifest, sizes)
    check_fragment_shaders(program.programs, members)
    members[PASSES] = pass_table(manifest)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())}
    return Bundle(replace(manifest, members=hashes), members)


def classes_of(graph: Graph) -> int:
    """Return the number of labels: one for each value of the first output for classes, or 0 without such an output."""
    sizes = [graph.shape_of(output) for output in graph.outputs if graph.purpose(output) == CLASSES]
    return sizes[0][0] if sizes else 0


def _input(node: Node, value: Value) -> Input:
    kind = PICTURE if is_picture(node) else NUMBERS
    return Input(node.name, kind, value, node.attrs.get("fit"))


def _output(program: CompiledNetwork, output: GraphOutput) -> Output:
    """Return the manifest entry of an output.

    Raises:
        ModelError: the output's shape does not fit its purpose.
    """
    graph = program.graph
    shape, purpose = graph.shape_of(output), graph.purpose(output)
    values = tuple(program.values[layer] for layer in output.layers)
    fits = {
        CLASSES: len(shape) == 1,
        IMAGE: not output.steps and len(values) == 1 and isinstance(values[0], FeatureMap),
        MASK: len(shape) in (2, 3),
        VALUES: True,
    }
    if not fits.get(purpose, False):
        raise ModelError(
            f"output '{output.name}' of shape {shape} cannot be for '{purpose}'; "
            f"give --purpose {output.name}=PURPOSE with one of {', '.join(key for key, fit in fits.items() if fit)}"
        )
    return Output(output.name, purpose, values, output.steps)


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
