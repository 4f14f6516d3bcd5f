"""Shaders in a form for one driver: rounded stores, and one compilation on llvmpipe."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from layer_check import TOLERANCE, exact_steps, gpu_steps
from tiny import tiny_bundle, tiny_picture

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.graph import reference
from glsl_infer.runtime.drivers import driver_of, is_llvmpipe
from glsl_infer.runtime.session import Session


@pytest.fixture
def context_of_truncation(context: Context) -> Iterator[Context]:
    """The context, configured as if its stores did not round to nearest."""
    before = driver_of(context).rounds_stores
    driver_of(context).__dict__["rounds_stores"] = True
    assert driver_of(context).device_lines.startswith(ROUND_STORES)
    yield context
    driver_of(context).__dict__["rounds_stores"] = before


@pytest.mark.drivers
def test_every_layer_is_exact(context_of_truncation: Context) -> None:
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
    context_of_truncation: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources: list[bytes] = []
    start = Objects.start_program
    monkeypatch.setattr(Objects, "start_program", lambda self, v, f, a: sources.append(f) or start(self, v, f, a))
    with Session(tiny_bundle(), context=context_of_truncation):
        pass
    assert len(sources) == len(tiny_bundle().manifest.programs)
    for source in sources:
        lines = source.decode().splitlines()
        assert lines[0] == "#version 100"
        assert "#define ROUND_STORES" in lines


def stored(session: Session) -> list[bytes]:
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
        blended = stored(session)
        context.gl.Disable(GL.GL_BLEND)
        assert stored(session) == blended
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
    "renderer, twice",
    [("llvmpipe (LLVM 15.0.6, 256 bits)", True), ("softpipe", False), ("VC4 V3D 2.1", False), ("NVIDIA H200", False)],
)
def test_llvmpipe_is_recognised_by_its_renderer(renderer: str, twice: bool) -> None:
    assert is_llvmpipe(renderer) == twice
