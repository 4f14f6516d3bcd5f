"""Shaders that fetch weights in loops, as on llvmpipe and NVIDIA's driver, give the same bytes as unrolled ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from random_networks import drawn_nodes

from glsl_infer.bundle import Bundle
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.graph import Graph
from glsl_infer.runtime.drivers import ROLLED_FETCHES, driver_of, is_llvmpipe
from glsl_infer.runtime.session import Session

LOOPS = {"stem", "mixed", "many", "flat", "tall", "unit", "depthwise"}


@pytest.fixture(params=[False, True])
def context_with_loops(context: Context, request: pytest.FixtureRequest) -> Iterator[Context]:
    """The context, configured for a driver with or without loops."""
    yield from as_if(context, request.param)


def as_if(context: Context, expected: bool) -> Iterator[Context]:
    before = driver_of(context).rolled_fetches
    driver_of(context).__dict__.update(rolled_fetches=expected)
    assert driver_of(context).device_lines.count(ROLLED_FETCHES) == expected
    yield context
    driver_of(context).__dict__.update(rolled_fetches=before)


def network(seed: int) -> Graph:
    """Return a network of every kind of loop, and layers without.

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
    straight, loops = (stored(bundle, driver) for rolled in (False, True) for driver in as_if(context, rolled))
    assert loops == straight


@pytest.mark.parametrize("weights, layers", [("texture", LOOPS), ("uniform", set()), ("baked", set())])
def test_shaders_with_loops_by_weights_mode(
    context: Context, weights: str, layers: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = make_bundle(network(1), weights)
    programs = {program.name: bundle.members[program.fragment] for program in bundle.manifest.programs}
    assert {draw.layer for draw in bundle.manifest.passes if b"#define HAS_LOOP" in programs[draw.program]} == layers
    sources: list[bytes] = []
    start = Objects.start_program
    monkeypatch.setattr(Objects, "start_program", lambda self, v, f, a: sources.append(f) or start(self, v, f, a))
    for driver in as_if(context, True):
        with Session(bundle, context=driver, cache=False):
            pass
    with_loops = [source for source in sources if b"#define HAS_LOOP" in source]
    assert bool(with_loops) == bool(layers)
    wish = b"ROLLED_FETCHES\n"
    assert all(with_loop.index(b"#define " + wish) < with_loop.index(b"#ifdef " + wish) for with_loop in with_loops)


@pytest.mark.parametrize("renderer, expected", [("llvmpipe (LLVM 15.0.6, 256 bits)", True), ("VC4 V3D 2.1", False)])
def test_only_llvmpipe_has_rolled_fetches(renderer: str, expected: bool) -> None:
    assert is_llvmpipe(renderer) == expected


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
        text, message = context.gl.text, {GL.GL_VENDOR: vendor, GL.GL_RENDERER: renderer}
        monkeypatch.setattr(context.gl, "text", lambda name: message.get(name) or text(name))
        assert (ROLLED_FETCHES in driver_of(context).device_lines) == expected
        assert driver_of(context).fetches_uniforms == (vendor == "Mesa" and expected)
        assert driver_of(context).draws_at_once == (vendor == "NVIDIA Corporation")


def test_fetches_that_wait_are_in_no_loop(context: Context) -> None:
    for driver in as_if(context, True):
        before = driver_of(driver).ordered_fetches
        driver_of(driver).__dict__["ordered_fetches"] = True
        assert "ROLLED" not in driver_of(driver).device_lines
        driver_of(driver).__dict__["ordered_fetches"] = before
