"""Program -> bundle: the manifest, the probe and the labels put together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from glsl_infer.bundle import manifest_json
from glsl_infer.bundle.bundle import SMALLER, Bundle, classes_of
from glsl_infer.bundle.caps import MAX_MANIFEST_BYTES, MAX_PASSES
from glsl_infer.bundle.manifest import Input, Layer, Manifest, Model, Output
from glsl_infer.bundle.manifest_check import LABELS, check, needed_limits
from glsl_infer.compiler import probe
from glsl_infer.errors import InputError, ModelError
from glsl_infer.program import Program
from glsl_infer.program.layout import FeatureMap, FixedPoint


def to_bundle(program: Program, labels: Sequence[str]) -> Bundle:
    """Put a program, its probe and the labels together.

    Raises:
        InputError: the number of labels is not that of the logits, or a label has a line feed in it.
        ModelError: there are more passes than a reader takes; said before the probe, which takes longest.
    """
    graph = program.graph
    output, picture = program.values[graph.output], program.values[graph.input.name]
    assert isinstance(output, (FixedPoint, FeatureMap))
    assert isinstance(picture, FeatureMap)
    if len(labels) != classes_of(output):
        raise InputError(f"{len(labels)} labels for {classes_of(output)} classes; give one line for each class")
    if any("\n" in label or label.endswith("\r") for label in labels):
        raise InputError("a label contains a line feed or ends with a carriage return; give one label a line")
    _check_passes(program)
    expectation, texels = probe.make(program)
    members = {
        **program.members,
        expectation.member: texels,
        LABELS: "".join(f"{label}\n" for label in labels).encode("utf-8"),
    }
    layers = tuple(
        Layer(
            node.name,
            node.op,
            node.inputs,
            node.attrs,
            {key: weights.shape for key, weights in node.weights.items()},
            program.weight_members.get(node.name, ()),
            program.values[node.name],
        )
        for node in graph.nodes
    )
    view = picture.views[0]
    manifest = Manifest(
        Model(graph.name, graph.output, layers),
        Input(view.texture, picture.height, view.x, view.y),
        needed_limits(program.textures, program.programs),
        program.textures,
        program.programs,
        program.passes,
        (Output("logits" if isinstance(output, FixedPoint) else "image", output),),
        expectation,
        {name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())},
    )
    check(manifest, {name: len(data) for name, data in members.items()})
    return Bundle(manifest, members)


def _check_passes(program: Program) -> None:
    """Refuse a program whose passes alone are more than a reader takes.

    Raises:
        ModelError: with how many there are, and what to do.
    """
    count, size = len(program.passes), manifest_json.size_of_passes(program.passes)
    if count > MAX_PASSES or size > MAX_MANIFEST_BYTES:
        raise ModelError(
            f"the model takes {count} passes, {size / (1 << 20):.1f} MiB in manifest.json; a reader takes {MAX_PASSES} "
            f"passes and {MAX_MANIFEST_BYTES / (1 << 20):.0f} MiB; {SMALLER}"
        )
