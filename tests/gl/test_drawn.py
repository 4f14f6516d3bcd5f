"""Forms of a bundle for a driver store the same bytes.

That for llvmpipe has as many calls, with floats in a permanently bound texture, and that for VideoCore IV has fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from layer_check import make_bundle
from pages import ROOT
from random_networks import drawn_nodes
from test_rolled import network
from tiny import tiny_bundle, tiny_picture

from glsl_infer import bundle as bundles
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.drivers import driver_of, joined_uniforms
from glsl_infer.runtime.drivers.llvmpipe import own_coordinates
from glsl_infer.runtime.drivers.llvmpipe.drawn import EXTENSION
from glsl_infer.runtime.session import Session


@pytest.fixture
def fetching(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """The context, configured as for llvmpipe."""
    if EXTENSION not in context.gl.text(GL.GL_EXTENSIONS).split():
        pytest.skip(f"this driver has no {EXTENSION}")
    monkeypatch.setitem(driver_of(context).__dict__, "fetches_uniforms", True)
    yield context


@pytest.fixture
def plain(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """The context, configured as for another driver than llvmpipe."""
    monkeypatch.setitem(driver_of(context).__dict__, "fetches_uniforms", False)
    yield context


def arrays_set(session: Session) -> int:
    """Return the number of arrays set by a frame."""
    return Counter(function.__name__ for function, _ in session.frame)["glUniform4fv"]


@pytest.mark.sampled(3)
@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", ["uniform", "texture", "auto"])
def test_every_layer_stores_the_same_bytes(context: Context, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = make_bundle(network(4), weights, memory="naive")
    picture = np.random.default_rng(5).integers(0, 256, (17, 17, 3), np.uint8)
    monkeypatch.setattr(joined_uniforms, "joined", lambda bundle: bundle)
    stored: list[dict[str, bytes]] = []
    calls = []
    for fetches in (False, True):
        monkeypatch.setitem(driver_of(context).__dict__, "fetches_uniforms", fetches)
        with Session(bundle, context=context) as session:
            stored.append({name: output.tobytes() for name, output in session.layers(picture)})
            calls.append(len(session.frame))
    assert stored[0] == stored[1]
    assert calls[0] == calls[1]
    assert len(stored[0]) >= len(drawn_nodes(bundle))


@pytest.mark.drivers("all")
def test_joined_uniforms(plain: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(driver_of(plain).__dict__, "ordered_fetches", True)
    bundle = make_bundle(network(4), "uniform", memory="naive")
    picture = np.random.default_rng(5).integers(0, 256, (17, 17, 3), np.uint8)
    stored, calls, join = [], [], joined_uniforms.joined
    for form in (lambda bundle: bundle, join):
        monkeypatch.setattr(joined_uniforms, "joined", form)
        with Session(bundle, context=plain, cache=False) as session:
            stored.append({name: output.tobytes() for name, output in session.layers(picture)})
            calls.append(Counter(function.__name__ for function, _ in session.frame))
    uniforms = [sum(count for name, count in counts.items() if "Uniform" in name) for counts in calls]
    assert stored[0] == stored[1]
    assert uniforms[1] < uniforms[0]
    assert calls[0]["glDrawArrays"] == calls[1]["glDrawArrays"]


def test_layers_in_other_patterns_share_a_program(fetching: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bundles.read(ROOT / "models/grocery-x22-385.glslnn")
    picture = np.random.default_rng(6).integers(0, 256, (385, 385, 3), np.uint8)
    stored, started = [], []
    start = Objects.start_program
    monkeypatch.setattr(Objects, "start_program", lambda self, *texts: started.append(texts) or start(self, *texts))
    counts = []
    for merge in (lambda bundle: bundle, own_coordinates.merged):
        monkeypatch.setattr(own_coordinates, "merged", merge)
        with Session(bundle, context=fetching, cache=False) as session:
            stored.append({name: output.tobytes() for name, output in session.layers(picture)})
        counts.append(len(started))
    assert counts == [11, 11 + 10]
    assert stored[0] == stored[1]


@pytest.mark.drivers("all")
def test_no_array_is_set(fetching: Context) -> None:
    with Session(tiny_bundle("uniform"), context=fetching, selfcheck=True) as session:
        assert arrays_set(session) == 0


@pytest.mark.drivers("all")
def test_other_drivers_set_uniforms(plain: Context) -> None:
    with Session(tiny_bundle("uniform"), context=plain) as session:
        assert arrays_set(session) == 50


@pytest.mark.drivers("all")
def test_drivers_without_float_textures_set_uniforms(fetching: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    text = fetching.gl.text
    monkeypatch.setattr(fetching.gl, "text", lambda name: text(name).replace(EXTENSION, ""))
    with Session(tiny_bundle("uniform"), context=fetching, selfcheck=True, cache=False) as session:
        assert arrays_set(session) == 50


@pytest.mark.drivers("all")
@pytest.mark.parametrize("left, arrays", [(0, 50), (1, 0)])
def test_floats_need_a_texture_unit_that_no_pass_uses(
    fetching: Context, monkeypatch: pytest.MonkeyPatch, left: int, arrays: int
) -> None:
    units = max(len(program.samplers) for program in tiny_bundle("uniform").manifest.programs) + left
    integer = fetching.gl.integer
    monkeypatch.setattr(
        fetching.gl, "integer", lambda name: units if name == GL.GL_MAX_TEXTURE_IMAGE_UNITS else integer(name)
    )
    with Session(tiny_bundle("uniform"), context=fetching, selfcheck=True, cache=False) as session:
        assert arrays_set(session) == arrays


@pytest.mark.drivers("all")
def test_sessions_of_one_context_have_separate_textures_of_floats(fetching: Context) -> None:
    first, second = make_bundle(network(4), "uniform"), make_bundle(network(6), "uniform")
    picture = np.random.default_rng(7).integers(0, 256, (17, 17, 3), np.uint8)
    with Session(first, context=fetching) as session:
        alone = session.run(picture)
    with Session(first, context=fetching) as session:
        with Session(second, context=fetching) as two:
            assert not np.array_equal(two.run(picture), alone)
            np.testing.assert_array_equal(session.run(picture), alone)
            assert not np.array_equal(two.run(picture), alone)
        np.testing.assert_array_equal(session.run(picture), alone)


@pytest.mark.drivers("all")
def test_the_texture_of_floats_stays_bound(fetching: Context) -> None:
    """The texture stays bound while a session scales images, accesses layers, and has several pending frames."""
    photograph = np.random.default_rng(8).integers(0, 256, (40, 30, 3), np.uint8)
    with Session(tiny_bundle("uniform"), context=fetching) as session:
        expected = session.run(tiny_picture(1))
        scaled = session.run(photograph)
        frames = [session.run_async(picture) for picture in (tiny_picture(1), photograph, tiny_picture(1))]
        np.testing.assert_array_equal(frames[0].result(), expected)
        np.testing.assert_array_equal(frames[1].result(), scaled)
        np.testing.assert_array_equal(frames[2].result(), expected)
        session.selfcheck()
        np.testing.assert_array_equal(session.run(tiny_picture(1)), expected)
