"""Driver-specific shaders and bundles: looped fetches, rounded stores, uniforms in a float texture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, exact_steps, gpu_steps, layer_error, make_bundle, stored_inputs
from pages import ROOT
from random_networks import drawn_nodes
from tiny import tiny_bundle, tiny_picture

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.graph import Graph, reference
from glsl_infer.program import Slice
from glsl_infer.runtime.drivers import ROLLED_FETCHES, driver_of, is_llvmpipe, joined_uniforms
from glsl_infer.runtime.drivers.llvmpipe import own_coordinates
from glsl_infer.runtime.drivers.llvmpipe.drawn import EXTENSION
from glsl_infer.runtime.session import Session

LOOPS = {"stem", "mixed", "many", "flat", "tall", "unit", "depthwise"}


@pytest.fixture(params=[False, True])
def context_with_loops(context: Context, request: pytest.FixtureRequest) -> Iterator[Context]:
    """The context, configured for a driver with or without loops."""
    with with_rolled_fetches(context, request.param):
        yield context


@contextmanager
def with_rolled_fetches(context: Context, rolled: bool) -> Iterator[None]:
    """Configure the context for a driver with or without loops, and restore it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(driver_of(context)), "rolled_fetches", rolled)
        assert driver_of(context).device_lines.count(ROLLED_FETCHES) == rolled
        yield


@pytest.fixture
def started_sources(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Fragment shaders of all programs that sessions compile in the test."""
    sources: list[bytes] = []
    start = Objects.start_program

    def start_program(objects: Objects, vertex: bytes, fragment: bytes, attributes: Any) -> Any:
        sources.append(fragment)
        return start(objects, vertex, fragment, attributes)

    monkeypatch.setattr(Objects, "start_program", start_program)
    return sources


def network(seed: int) -> Graph:
    """Return a network of every kind of loop, and layers without loops.

    The loops cover one slice and more, strides, kernels that are not square, and residuals.
    """
    rng = np.random.default_rng(seed)
    body = [
        input_node(17),
        conv_node(rng, "stem", ("image",), 3, 8, kernel=(5, 5), strides=(2, 2), padding=(2, 2, 2, 2)),
        conv_node(rng, "mixed", ("stem",), 8, 32),
        conv_node(rng, "many", ("mixed",), 32, 24, kernel=(3, 3), groups=4, padding=(1, 1, 1, 1)),
        conv_node(rng, "flat", ("many",), 24, 16, kernel=(1, 3), padding=(0, 0, 1, 1)),
        conv_node(rng, "tall", ("flat",), 16, 16, kernel=(4, 1), padding=(2, 1, 0, 0)),
        conv_node(rng, "unit", ("tall", "flat"), 16, 16, kernel=(3, 3), groups=2, padding=(1, 1, 1, 1)),
        conv_node(rng, "depthwise", ("unit", "tall"), 16, 16, kernel=(3, 3), groups=16, padding=(1, 1, 1, 1)),
    ]
    return classifier(rng, body, 16)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return make_bundle(network(1), "texture", memory="naive")  # every layer's texels are still there at the end


def test_every_layer_is_exact(context_with_loops: Context, bundle: Bundle) -> None:
    rng = np.random.default_rng(2)
    with Session(bundle, context=context_with_loops, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            assert layer_error(session, node.name, stored_inputs(bundle, node.name, rng)) <= TOLERANCE, node.name


def stored(bundle: Bundle, context: Context) -> list[bytes]:
    picture = np.random.default_rng(3).integers(0, 256, (17, 17, 3), np.uint8)
    with Session(bundle, context=context) as session:
        output = session.run(picture).tobytes()
        targets = [texture.name for texture in bundle.manifest.textures if texture.kind == "target"]
        return [output, *(session.read_texture(name).tobytes() for name in targets)]


def test_a_loop_stores_the_same_bytes(context: Context, bundle: Bundle) -> None:
    with with_rolled_fetches(context, False):
        straight = stored(bundle, context)
    with with_rolled_fetches(context, True):
        assert stored(bundle, context) == straight


@pytest.mark.parametrize("weights, layers", [("texture", LOOPS), ("uniform", set()), ("baked", set())])
def test_shaders_with_loops_by_weights_mode(
    context: Context, weights: str, layers: set[str], started_sources: list[bytes]
) -> None:
    bundle = make_bundle(network(1), weights)
    programs = {program.name: bundle.members[program.fragment] for program in bundle.manifest.programs}
    assert {draw.layer for draw in bundle.manifest.passes if b"#define HAS_LOOP" in programs[draw.program]} == layers
    with with_rolled_fetches(context, True), Session(bundle, context=context, cache=False):
        pass
    with_loops = [source for source in started_sources if b"#define HAS_LOOP" in source]
    assert bool(with_loops) == bool(layers)
    macro = b"ROLLED_FETCHES\n"
    assert all(source.index(b"#define " + macro) < source.index(b"#ifdef " + macro) for source in with_loops)


@pytest.mark.parametrize(
    "vendor, renderer, expected",
    [
        ("NVIDIA Corporation", "NVIDIA H200/PCIe/SSE2", True),
        ("Mesa", "softpipe", False),
        ("nouveau", "NV137", False),
        ("Mesa", "llvmpipe (LLVM 15.0.6, 256 bits)", True),
    ],
)
def test_device_lines_of_each_vendor(
    vendor: str, renderer: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Context() as context:
        text, overrides = context.gl.text, {GL.GL_VENDOR: vendor, GL.GL_RENDERER: renderer}
        monkeypatch.setattr(context.gl, "text", lambda name: overrides.get(name) or text(name))
        assert (ROLLED_FETCHES in driver_of(context).device_lines) == expected
        assert driver_of(context).fetches_uniforms == (vendor == "Mesa" and expected)
        assert driver_of(context).draws_at_once == (vendor == "NVIDIA Corporation")


def test_ordered_fetches_are_not_in_loops(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    with with_rolled_fetches(context, True):
        monkeypatch.setitem(vars(driver_of(context)), "ordered_fetches", True)
        assert "ROLLED" not in driver_of(context).device_lines


@pytest.fixture
def context_of_truncation(context: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The context, configured as if its stores did not round to nearest."""
    monkeypatch.setitem(vars(driver_of(context)), "rounds_stores", True)
    assert driver_of(context).device_lines.startswith(ROUND_STORES)
    return context


@pytest.mark.drivers
def test_every_layer_is_exact_after_rounding(context_of_truncation: Context) -> None:
    bundle = tiny_bundle()
    picture = tiny_picture(1)
    values = dict(reference.layers(bundle, picture))
    values[bundle.graph.input.name] = picture / 255.0
    with Session(bundle, context=context_of_truncation, selfcheck=True) as session:
        for node in bundle.graph.nodes[1:]:
            inputs = [values[name] for name in node.inputs]
            difference = np.abs(gpu_steps(session, node.name, inputs) - exact_steps(bundle, node, inputs)).max()
            assert difference <= TOLERANCE, (node.name, difference)


@pytest.mark.drivers
def test_every_shader_of_a_truncating_driver_rounds(
    context_of_truncation: Context, started_sources: list[bytes]
) -> None:
    with Session(tiny_bundle(), context=context_of_truncation):
        pass
    assert len(started_sources) == len(tiny_bundle().manifest.programs)
    for source in started_sources:
        lines = source.decode().splitlines()
        assert lines[0] == "#version 100"
        assert "#define ROUND_STORES" in lines


def stored_after_frame(session: Session) -> list[bytes]:
    """Return the output of an image, and the contents of every target afterwards."""
    output = session.run(tiny_picture(1)).tobytes()
    targets = (texture.name for texture in session.bundle.manifest.textures if texture.kind == "target")
    return [output, *(session.read_texture(name).tobytes() for name in targets)]


@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", ["uniform", "texture"])
def test_stored_bytes_do_not_depend_on_blending(context: Context, weights: str) -> None:
    with Session(tiny_bundle(weights), context=context) as session:
        session.activate()
        context.gl.Enable(GL.GL_BLEND)
        context.gl.BlendFunc(GL.GL_ONE, GL.GL_ZERO)
        blended = stored_after_frame(session)
        context.gl.Disable(GL.GL_BLEND)
        assert stored_after_frame(session) == blended
        context.owner = None  # else the next user of the context would find this state


@pytest.mark.drivers("all")
def test_only_llvmpipe_blends(context: Context) -> None:
    with Session(tiny_bundle("uniform"), context=context) as session:
        context.owner = None  # as after another user of the context
        with context.gl.counting() as calls:
            session.activate()
    assert calls["glEnable"] == calls["glBlendFunc"] == is_llvmpipe(context.gl.text(GL.GL_RENDERER))


@pytest.mark.drivers("all")
@pytest.mark.parametrize(
    "renderer, expected",
    [("llvmpipe (LLVM 15.0.6, 256 bits)", True), ("softpipe", False), ("VC4 V3D 2.1", False), ("NVIDIA H200", False)],
)
def test_llvmpipe_is_recognised_by_its_renderer(renderer: str, expected: bool) -> None:
    assert is_llvmpipe(renderer) == expected


@pytest.fixture
def fetching(context: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The context, configured as for llvmpipe."""
    if EXTENSION not in context.gl.text(GL.GL_EXTENSIONS).split():
        pytest.skip(f"this driver has no {EXTENSION}")
    monkeypatch.setitem(vars(driver_of(context)), "fetches_uniforms", True)
    return context


@pytest.fixture
def plain(context: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The context, configured as for another driver than llvmpipe."""
    monkeypatch.setitem(vars(driver_of(context)), "fetches_uniforms", False)
    return context


def arrays_set(session: Session) -> int:
    """Return the number of arrays set by a frame."""
    return Counter(function.__name__ for function, _ in session.frame)["glUniform4fv"]


def arrays_of(bundle: Bundle) -> int:
    """Return the number of arrays of weights in the manifest's passes."""
    return sum(isinstance(value, Slice) for draw in bundle.manifest.passes for value in draw.uniforms.values())


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
        monkeypatch.setitem(vars(driver_of(context)), "fetches_uniforms", fetches)
        with Session(bundle, context=context) as session:
            stored.append({name: output.tobytes() for name, output in session.layers(picture)})
            calls.append(len(session.frame))
    assert stored[0] == stored[1]
    assert calls[0] == calls[1]
    assert len(stored[0]) >= len(drawn_nodes(bundle))


@pytest.mark.drivers("all")
def test_joined_uniforms(plain: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(driver_of(plain)), "ordered_fetches", True)
    bundle = make_bundle(network(4), "uniform", memory="naive")
    picture = np.random.default_rng(5).integers(0, 256, (17, 17, 3), np.uint8)
    stored, calls, join = [], [], joined_uniforms.joined
    for transform in (lambda bundle: bundle, join):
        monkeypatch.setattr(joined_uniforms, "joined", transform)
        with Session(bundle, context=plain, cache=False) as session:
            stored.append({name: output.tobytes() for name, output in session.layers(picture)})
            calls.append(Counter(function.__name__ for function, _ in session.frame))
    uniforms = [sum(count for name, count in counts.items() if "Uniform" in name) for counts in calls]
    assert stored[0] == stored[1]
    assert uniforms[1] < uniforms[0]
    assert calls[0]["glDrawArrays"] == calls[1]["glDrawArrays"]


def test_layers_in_other_patterns_share_a_program(
    fetching: Context, monkeypatch: pytest.MonkeyPatch, started_sources: list[bytes]
) -> None:
    bundle = bundles.read(ROOT / "models/grocery-x22-385.glslnn")
    picture = np.random.default_rng(6).integers(0, 256, (385, 385, 3), np.uint8)
    stored, counts = [], []
    for merge in (lambda bundle: bundle, own_coordinates.merged):
        monkeypatch.setattr(own_coordinates, "merged", merge)
        started_sources.clear()
        with Session(bundle, context=fetching, cache=False) as session:
            stored.append({name: output.tobytes() for name, output in session.layers(picture)})
        counts.append(len(started_sources))
    assert counts == [11, 10]
    assert stored[0] == stored[1]


@pytest.mark.drivers("all")
def test_no_array_is_set(fetching: Context) -> None:
    with Session(tiny_bundle("uniform"), context=fetching, selfcheck=True) as session:
        assert arrays_set(session) == 0


@pytest.mark.drivers("all")
def test_other_drivers_set_uniforms(plain: Context) -> None:
    with Session(tiny_bundle("uniform"), context=plain) as session:
        assert arrays_set(session) == arrays_of(session.bundle) > 0


@pytest.mark.drivers("all")
def test_drivers_without_float_textures_set_uniforms(fetching: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    text = fetching.gl.text
    monkeypatch.setattr(fetching.gl, "text", lambda name: text(name).replace(EXTENSION, ""))
    with Session(tiny_bundle("uniform"), context=fetching, selfcheck=True, cache=False) as session:
        assert arrays_set(session) == arrays_of(session.bundle) > 0


@pytest.mark.drivers("all")
@pytest.mark.parametrize("left, sets_arrays", [(0, True), (1, False)])
def test_floats_need_a_texture_unit_that_no_pass_uses(
    fetching: Context, monkeypatch: pytest.MonkeyPatch, left: int, sets_arrays: bool
) -> None:
    units = max(len(program.samplers) for program in tiny_bundle("uniform").manifest.programs) + left
    integer = fetching.gl.integer
    monkeypatch.setattr(
        fetching.gl, "integer", lambda name: units if name == GL.GL_MAX_TEXTURE_IMAGE_UNITS else integer(name)
    )
    with Session(tiny_bundle("uniform"), context=fetching, selfcheck=True, cache=False) as session:
        assert arrays_set(session) == (arrays_of(session.bundle) if sets_arrays else 0)


@pytest.mark.drivers("all")
def test_sessions_of_one_context_have_separate_textures_of_floats(fetching: Context) -> None:
    first, second = make_bundle(network(4), "uniform"), make_bundle(network(6), "uniform")
    picture = np.random.default_rng(7).integers(0, 256, (17, 17, 3), np.uint8)
    with Session(first, context=fetching) as session:
        alone = session.run(picture)
    with Session(first, context=fetching) as session:
        with Session(second, context=fetching) as other_session:
            assert not np.array_equal(other_session.run(picture), alone)
            np.testing.assert_array_equal(session.run(picture), alone)
            assert not np.array_equal(other_session.run(picture), alone)
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
