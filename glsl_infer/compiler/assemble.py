"""Program -> bundle: the manifest, the probe and the labels put together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from glsl_infer.bundle.bundle import SMALLER, Bundle, classes_of
from glsl_infer.bundle.format_constants import MAX_PASSES, MAX_QUADS
from glsl_infer.bundle.manifest import Input, Manifest, Output
from glsl_infer.bundle.manifest_check import GRAPH, LABELS, check, needed_limits
from glsl_infer.bundle.manifest_json import pass_table
from glsl_infer.bundle.network import Network, layers_of, to_bytes
from glsl_infer.bundle.network import check as check_network
from glsl_infer.bundle.pass_table import MEMBER as PASSES
from glsl_infer.bundle.pass_table import as_stored, float_members
from glsl_infer.bundle.uniforms import check as check_uniforms
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
    network = Network(graph.output, layers_of(graph.nodes, program.values, program.weight_members))
    members = {
        **program.members,
        GRAPH: to_bytes(network),
        expectation.member: texels,
        LABELS: "".join(f"{label}\n" for label in labels).encode("utf-8"),
    }
    purpose = "classes" if isinstance(output, FixedPoint) else "image"
    manifest = Manifest(
        graph.name,
        (Input(graph.input.name, picture),),
        needed_limits(program.textures, program.programs),
        program.textures,
        program.programs,
        float_members(program.passes),
        tuple(as_stored(entry) for entry in program.passes),
        (Output(graph.output, purpose, output),),
        expectation,
        {},
    )
    sizes = {name: len(data) for name, data in members.items()}
    check(manifest, sizes)
    check_network(network, manifest, sizes)
    check_uniforms(program.programs, members)
    members[PASSES] = pass_table(manifest)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())}
    return Bundle(replace(manifest, members=hashes), members)


def _check_passes(program: Program) -> None:
    """Refuse a program whose passes alone are more than a reader takes.

    Raises:
        ModelError: with how many there are, and what to do.
    """
    count, quads = len(program.passes), sum(len(entry.quads) for entry in program.passes)
    if count > MAX_PASSES or quads > MAX_QUADS:
        raise ModelError(
            f"the model takes {count} passes of {quads} quads; a reader takes {MAX_PASSES} and {MAX_QUADS}; {SMALLER}"
        )
