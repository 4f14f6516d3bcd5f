"""Networks with several inputs and outputs on the GPU, against the exact reference."""

from __future__ import annotations

import numpy as np
import pytest
from layer_check import TOLERANCE, layer_error, stored_inputs
from pairwise import each_of
from random_ends import random_ends
from several import SEVERAL, several_bundle, several_inputs

from glsl_infer import ops
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.graph.host_steps import ARGMAX
from glsl_infer.lowering.target import Target
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.layout import SixteenBitMap
from glsl_infer.program.texels import in_steps
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def check(context: Context, made: Bundle, seed: int) -> None:
    """Run a bundle, and compare every layer and every output with the reference."""
    given = several_inputs(made.graph, seed)
    expected = dict(reference.layers(made, given))
    with Session(made, context=context, selfcheck=True) as session:
        for name, numbers in session.layers(given):
            off = np.abs(in_steps(numbers, made.values[name]) - in_steps(expected[name], made.values[name]))
            # A tie that goes the other way in a layer can change the following layers by a step or two.
            few = (
                0.3 if isinstance(made.values[name], SixteenBitMap) else 0.02
            )  # 256 times finer steps show float errors
            assert off.max() < 3.01 and (off > 0.01).mean() < few, name
        results = session.run(given)
        for node in made.graph.nodes:
            if not node.operator.is_input and not isinstance(ops.get(node.op), ViewOperator):
                inputs = stored_inputs(made, node.name, np.random.default_rng(seed))
                allowed = TOLERANCE + 2.0 * isinstance(
                    made.values[node.name], SixteenBitMap
                )  # see test_sixteen_bit_maps.py
                assert layer_error(session, node.name, inputs) <= allowed, node.name
    wanted = reference.run(made, given)
    assert list(results) == list(wanted)
    for output in made.manifest.outputs:
        assert results[output.name].shape == output.shape
        same = results[output.name] == wanted[output.name]
        if any(step.step == ARGMAX for step in output.steps):
            assert same.mean() > 0.95
        else:
            assert np.abs(results[output.name] - wanted[output.name]).max() < 0.03 or same.all()


@each_of(("layout", ["atlas", "planar"]), ("name", [*SEVERAL]))
def test_several_inputs_and_outputs(context: Context, name: str, layout: str) -> None:
    check(context, several_bundle(name, layout), 1)


def test_outputs_stay_until_the_frame_ends(context: Context) -> None:
    """An output that is drawn early keeps its texture until the frame ends: its bytes are the same without sharing."""
    given = several_inputs(several_bundle("several").graph, 3)
    frames = []
    for memory in ("naive", "by-size"):
        with Session(several_bundle("several", memory=memory), context=context) as session:
            frames.append(session.run(given))
    for name, first in frames[0].items():
        assert (first == frames[1][name]).all(), name


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(context: Context, seed: int) -> None:
    graph = optimize(random_ends(seed))
    layout = "planar" if seed % 3 == 0 else "atlas"
    program = lower.to_program(prepare(graph, target=Target(layout=layout)).graph, Target(layout=layout))
    made = to_bundle(program, [f"class {index}" for index in range(classes_of(program.graph))])
    check(context, made, seed)
