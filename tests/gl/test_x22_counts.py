"""A frame of X22 at 385x385 has the counts of docs/engineering/design.md, and is exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.gl.context import Context
from glsl_infer.lowering.target import Target
from glsl_infer.runtime.session import Session

CLASSES = 120


@pytest.fixture(scope="module")
def made() -> bundles.Bundle:
    graph = prepare(optimize(x22(385, CLASSES))).graph
    return to_bundle(lower.to_program(graph, Target(memory="by-size")), [f"class {index}" for index in range(CLASSES)])


@pytest.mark.slow
def test_a_frame_of_few_draws(made: bundles.Bundle, context: Context, tmp_path: Path) -> None:
    with Session(made, context=context, selfcheck=True) as session:
        counts = session.statistics()
    assert (counts.passes, counts.jobs, counts.programs) == (234, 44, 11)
    assert counts.gl_calls <= 800


def test_where_weights_lie(made: bundles.Bundle) -> None:
    """Weights are in textures from 23 x 23 pixels down, with 16 bits, because there are no calibration images."""
    textures = {one.name for one in made.manifest.textures}
    maps = {one.name: one.output for one in made.network.layers if one.op == "conv2d"}
    assert {name for name in maps if f"{name}.weights" in textures} == {
        name for name, output in maps.items() if getattr(output, "height", 0) <= 23
    }
