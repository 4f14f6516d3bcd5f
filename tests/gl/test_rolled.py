"""Shaders with loops, as llvmpipe has them: the same bytes as without, and half as much text for its compiler."""

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
from glsl_infer.gl.llvmpipe import is_llvmpipe
from glsl_infer.gl.loops import ROLLED, ROLLED_FETCHES
from glsl_infer.gl.objects import Objects
from glsl_infer.graph import Graph
from glsl_infer.session import Session

LOOPS = {"uniform": {"stem", "many", "flat", "tall", "unit"}}
LOOPS["texture"] = LOOPS["uniform"] | {"mixed", "depthwise"}  # those of few columns, too

WISHES = {"straight": "", "fetches": ROLLED_FETCHES, "all": ROLLED + ROLLED_FETCHES}


@pytest.fixture(params=WISHES)
def told(context: Context, request: pytest.FixtureRequest) -> Iterator[Context]:
    """The context, as if its driver wanted loops, some, or none."""
    yield from as_if(context, WISHES[request.param])


def as_if(context: Context, lines: str) -> Iterator[Context]:
    before = context.rolled, context.rolled_fetches
    context.__dict__.update(rolled=ROLLED in lines, rolled_fetches=ROLLED_FETCHES in lines)
    assert context.device_lines.endswith(lines)
    assert context.device_lines.count("ROLLED") == lines.count("ROLLED")
    yield context
    context.__dict__.update(rolled=before[0], rolled_fetches=before[1])


def network(seed: int) -> Graph:
    """Every kind of loop: one slice and more, strides, kernels that are no squares, residuals; and layers without."""
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


@pytest.fixture(scope="module", params=["uniform", "texture"])
def weights(request: pytest.FixtureRequest) -> str:
    mode: str = request.param
    return mode


@pytest.fixture(scope="module")
def made(weights: str) -> Bundle:
    return make_bundle(network(1), weights, memory="naive")  # at the end every layer's texels are still there


def test_every_layer_is_exact(told: Context, made: Bundle) -> None:
    rng = np.random.default_rng(2)
    with Session(made, context=told, selfcheck=True) as session:
        for node in drawn_nodes(made):
            assert layer_error(session, node.name, stored_inputs(made, node.name, rng)) <= TOLERANCE, node.name


def stored(made: Bundle, context: Context) -> list[bytes]:
    picture = np.random.default_rng(3).integers(0, 256, (17, 17, 3), np.uint8)
    with Session(made, context=context) as session:
        output = session.run(picture).tobytes()
        targets = [one.name for one in made.manifest.textures if one.kind == "target"]
        return [output, *(session.read_texture(name).tobytes() for name in targets)]


def test_a_loop_stores_the_same_bytes(context: Context, made: Bundle) -> None:
    straight, *loops = (stored(made, told) for lines in WISHES.values() for told in as_if(context, lines))
    assert loops == [straight] * 2


def test_who_has_loops(context: Context, made: Bundle, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {one.name: made.members[one.fragment] for one in made.manifest.programs}
    looping = {one.layer for one in made.manifest.passes if b"#define HAS_LOOP" in programs[one.program]}
    assert looping == LOOPS[weights]
    sources: list[bytes] = []
    start = Objects.start_program
    monkeypatch.setattr(Objects, "start_program", lambda self, v, f, a: sources.append(f) or start(self, v, f, a))
    for told in as_if(context, WISHES["all"]):
        with Session(made, context=told):
            pass
    wish = b"ROLLED_FETCHES\n" if weights == "texture" else b"ROLLED\n"
    with_loops = [one for one in sources if b"#define HAS_LOOP" in one]
    assert with_loops
    assert all(one.index(b"#define " + wish) < one.index(b"#ifdef " + wish) for one in with_loops)


@pytest.mark.parametrize("renderer, wanted", [("llvmpipe (LLVM 15.0.6, 256 bits)", True), ("VC4 V3D 2.1", False)])
def test_who_wants_them(renderer: str, wanted: bool) -> None:
    assert is_llvmpipe(renderer) == wanted


@pytest.mark.parametrize(
    "vendor, rolled, lines",
    [
        ("NVIDIA Corporation", False, ROLLED_FETCHES),
        ("Mesa", False, ""),
        ("nouveau", False, ""),
        ("Mesa", True, ROLLED + ROLLED_FETCHES),
    ],
)
def test_who_has_which(vendor: str, rolled: bool, lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Context() as context:
        text = context.gl.text
        monkeypatch.setattr(context.gl, "text", lambda name: vendor if name == GL.GL_VENDOR else text(name))
        context.__dict__.update(rolled=rolled, late_fetch=False)
        assert context.device_lines.endswith(lines)
        assert context.device_lines.count("ROLLED") == lines.count("ROLLED")
        assert context.draws_at_once == (vendor == "NVIDIA Corporation")


def test_fetches_that_wait_are_in_no_loop(context: Context) -> None:
    for told in as_if(context, WISHES["all"]):
        before = told.late_fetch
        told.__dict__["late_fetch"] = True
        assert "ROLLED" not in told.device_lines
        told.__dict__["late_fetch"] = before
