"""GL calls: every call is counted, and a frame makes no unnecessary ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pairwise import each_of
from tiny import tiny_bundle, tiny_picture
from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.lowering.target import Target
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session
from glsl_infer.tools.benchmark import frames

NEVER_IN_A_FRAME = ("glGetError", "glFinish", "glGetIntegerv", "glGetUniformLocation", "glCheckFramebufferStatus")


@pytest.mark.drivers("all")
def test_calls_are_counted_by_name_and_only_within_the_block(context: Context) -> None:
    gl = context.gl
    with gl.counting() as counts:
        gl.ActiveTexture(GL.GL_TEXTURE0)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        assert gl.GetError() == 0
    gl.ActiveTexture(GL.GL_TEXTURE0)
    assert counts == {"glActiveTexture": 2, "glGetError": 1}


@pytest.mark.drivers("all")
def test_calls_are_no_longer_counted_after_an_error(context: Context) -> None:
    plain = context.gl.Finish
    with pytest.raises(ValueError, match="broken"), context.gl.counting():
        raise ValueError("broken")
    assert context.gl.Finish is plain


@pytest.mark.drivers("all")
@each_of(("weights", ["baked", "uniform"]), ("layout", ["atlas", "planar"]))
def test_a_frame_makes_as_many_calls_as_statistics_count(tiled: Context, weights: str, layout: str) -> None:
    with Session(tiny_bundle(weights, layout), context=tiled) as session:
        result = frames.counts(session, tiny_picture(0))
        statistics = session.statistics()
    calls = result["gl_calls_of_frame"]
    assert result["gl_calls"] == {"upload": 3, "frame": statistics.gl_calls, "read_back": 2}
    assert sum(calls.values()) == statistics.gl_calls
    assert calls["glDrawArrays"] == result["draws"] == statistics.passes
    assert calls["glBindFramebuffer"] == calls["glClear"] == result["jobs"] == statistics.jobs
    assert not set(NEVER_IN_A_FRAME) & set(calls)


@pytest.mark.drivers("all")
def test_the_exact_calls_of_the_tiny_network(tiled: Context) -> None:
    # A row of uniform_rows.py needs its coordinate only, an array all its values.
    arrays, numbers = ({}, 52) if driver_of(tiled).fetches_uniforms else ({"glUniform4fv": 50}, 2)
    with Session(tiny_bundle("uniform"), context=tiled) as session:
        assert frames.counts(session, tiny_picture(0))["gl_calls_of_frame"] == {
            **arrays,
            "glDrawArrays": 53,
            "glBindTexture": 8,
            "glBindFramebuffer": 6,
            "glViewport": 1,
            "glClear": 6,
            "glUseProgram": 6,
            "glActiveTexture": 4,
            "glUniform1fv": numbers,
            "glClearColor": 1,
        }


@pytest.mark.drivers("all")
@pytest.mark.parametrize("layout", ["atlas", "planar"])
def test_no_state_is_set_twice_to_the_same_value(context: Context, layout: str) -> None:
    with Session(tiny_bundle("uniform", layout), context=context) as session:
        state: dict[object, object] = {}
        for function, arguments in session.frame:
            name = function.__name__
            if name in ("glDrawArrays", "glClear"):
                continue
            key: object = name
            if name == "glBindTexture":
                key = (name, state["glActiveTexture"])
            elif name.startswith("glUniform"):
                key = (name, state["glUseProgram"], arguments[0])
            plain = tuple(argument if isinstance(argument, int) else bytes(argument) for argument in arguments)
            assert state.get(key) != plain, f"{key} is set to {plain} again"
            state[key] = plain


@pytest.mark.drivers("all")
def test_counting_draws_the_same_frame(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        expected = session.run(tiny_picture(1))
        session.run(tiny_picture(2))
        frames.counts(session, tiny_picture(1))
        np.testing.assert_array_equal(session.read_back(), expected)


@pytest.mark.drivers("all")
def test_the_steps_of_a_run_one_by_one(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        expected = [session.run(tiny_picture(seed)) for seed in range(2)]
        for seed in range(2):
            session.upload(tiny_picture(seed))
            session.submit()
            np.testing.assert_array_equal(session.read_back(), expected[seed])
        assert not np.array_equal(*expected)


CLASSES = 120


@pytest.fixture(scope="module")
def bundle() -> bundles.Bundle:
    graph = prepare(optimize(x22(385, CLASSES))).graph
    return to_bundle(lower.to_program(graph, Target(memory="by-size")), [f"class {index}" for index in range(CLASSES)])


@pytest.mark.slow
def test_a_frame_of_few_draws(bundle: bundles.Bundle, context: Context, tmp_path: Path) -> None:
    with Session(bundle, context=context, selfcheck=True) as session:
        counts = session.statistics()
    assert (counts.passes, counts.jobs, counts.programs) == (234, 44, 11)
    assert counts.gl_calls <= 800


def test_weights_of_small_maps_are_in_textures(bundle: bundles.Bundle) -> None:
    """Weights are in textures from 23 x 23 pixels down, with 16 bits, because there are no calibration images."""
    textures = {texture.name for texture in bundle.manifest.textures}
    maps = {layer.name: layer.output for layer in bundle.network.layers if layer.op == "conv2d"}
    assert {name for name in maps if f"{name}.weights" in textures} == {
        name for name, output in maps.items() if getattr(output, "height", 0) <= 23
    }
