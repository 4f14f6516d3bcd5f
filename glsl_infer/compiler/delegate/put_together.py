"""Assembly of separately compiled parts into one bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from glsl_infer.bundle import MANIFEST, Bundle
from glsl_infer.bundle.file import manifest_bytes
from glsl_infer.bundle.manifest import NUMBERS, PICTURE, Input, Output
from glsl_infer.bundle.manifest_check import LABELS
from glsl_infer.bundle.parts import WEIGHTS, CpuPart, check, folder, input_value, manifest_of
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.picture import is_picture, picture_range
from glsl_infer.graph.purposes import CLASSES, IMAGE, MASK, VALUES


def together(graph: Graph, labels: Sequence[str], parts: Sequence[Bundle | CpuPart]) -> Bundle:
    """Return a bundle of several parts.

    Args:
        graph: the optimised graph from which the parts are cut.
        labels: one for each class.
        parts: the parts, in order.

    Raises:
        InputError: the number of labels is not the number of classes.
        ModelError: an output does not fit its purpose.
    """
    classes = classes_of(graph)
    if len(labels) != classes:
        raise InputError(f"{len(labels)} labels for {classes} classes; give one line for each class")
    lines = "".join(f"{label}\n" for label in labels).encode("utf-8")
    inputs = tuple(_input(node) for node in graph.inputs)
    outputs = tuple(_output(graph, output) for output in graph.outputs)
    members = {LABELS: lines}
    for number, part in enumerate(parts):
        members.update({f"{folder(number)}{name}": content for name, content in _files(part).items()})
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(members.items())}
    manifest = manifest_of(graph.name, inputs, check(inputs, outputs, parts), parts, digests)
    return Bundle(manifest, members, nested=tuple(parts))


def _files(part: Bundle | CpuPart) -> dict[str, bytes]:
    """Return the members in the folder of a part."""
    if isinstance(part, CpuPart):
        return {WEIGHTS: part.weight_bytes} if part.weight_bytes else {}
    return {**part.members, MANIFEST: manifest_bytes(part)}


def _input(node: Node) -> Input:
    shape = tuple(node.attrs["shape"])
    if not is_picture(node):
        return Input(node.name, NUMBERS, input_value(shape))
    return Input(node.name, PICTURE, input_value(shape, *picture_range(node)), node.attrs["fit"])


def _output(graph: Graph, output: GraphOutput) -> Output:
    shapes = tuple(graph.shapes[layer] for layer in output.layers)
    shape, purpose = graph.shape_of(output), graph.purpose(output)
    fits = {
        CLASSES: len(shape) == 1,
        IMAGE: not output.steps and len(shapes) == 1 and len(shape) == 3,
        MASK: len(shape) in (2, 3),
        VALUES: True,
    }
    if not fits.get(purpose, False):
        raise ModelError(
            f"output '{output.name}' of shape {shape} cannot be for '{purpose}'; "
            f"give --purpose {output.name}=PURPOSE with one of {', '.join(key for key, fit in fits.items() if fit)}"
        )
    return Output(output.name, purpose, (), output.steps, output.layers, shapes)
