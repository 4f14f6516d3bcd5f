"""Frames without unnecessary clears, as for immediate-mode GPUs, have the same texels everywhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from layer_check import make_bundle, stored_inputs
from test_rolled import network
from tiny import tiny_bundle, tiny_picture

from glsl_infer.bundle import Bundle
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers


def clears(session: Session) -> int:
    return Counter(function.__name__ for function, _ in session.frame)["glClear"]


@pytest.fixture(scope="module", params=["flow", "naive"])
def made(request: pytest.FixtureRequest) -> Bundle:
    return make_bundle(network(7), "auto", memory=request.param)


def test_the_same_texels_whatever_a_layer_left(context: Context, made: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    picture = rng.integers(0, 256, (17, 17, 3), np.uint8)
    targets = [one.name for one in made.manifest.textures if one.kind == "target"]
    found = []
    for wanted in (False, True):
        monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", wanted)
        with Session(made, context=context, selfcheck=True) as session:
            assert (clears(session) < made.manifest.jobs) == wanted
            for layer in made.network.layers[1:]:
                session.run_layer(layer.name, stored_inputs(made, layer.name, rng))
            output = session.run(picture).tobytes()
            found.append([output, *(session.read_texture(name).tobytes() for name in targets)])
    assert found[0] == found[1]


def test_targets_are_clear_before_the_first_frame(
    context: Context, made: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", True)
    gl = context.gl
    gl.Enable(GL.GL_SCISSOR_TEST)  # of another user of the context; it would block a clear
    with Session(made, context=context) as session:
        for one in made.manifest.textures:
            if one.kind == "target":
                assert (session.read_texture(one.name) == np.array(one.clear, np.uint8)).all(), one.name


def test_two_frames_on_their_way(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [tiny_picture(seed) for seed in range(4)]
    with Session(tiny_bundle(), context=context) as session:
        expected = [session.run(one) for one in pictures]
    monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", True)
    with Session(tiny_bundle(), context=context) as session:
        np.testing.assert_array_equal(list(session.stream(pictures)), expected)
