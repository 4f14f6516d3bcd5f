"""Blending makes llvmpipe compile once: it does not change stored bytes, and other drivers do not use it."""

from __future__ import annotations

import pytest
from tiny import tiny_bundle, tiny_picture

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import is_llvmpipe
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def stored(session: Session) -> list[bytes]:
    """Return the output of an image, and the contents of every target afterwards."""
    output = session.run(tiny_picture(1)).tobytes()
    targets = (one.name for one in session.bundle.manifest.textures if one.kind == "target")
    return [output, *(session.read_texture(name).tobytes() for name in targets)]


@pytest.mark.parametrize("weights", ["uniform", "texture"])
def test_nothing_stored_depends_on_it(context: Context, weights: str) -> None:
    with Session(tiny_bundle(weights), context=context) as session:
        session.activate()
        context.gl.Enable(GL.GL_BLEND)
        context.gl.BlendFunc(GL.GL_ONE, GL.GL_ZERO)
        blended = stored(session)
        context.gl.Disable(GL.GL_BLEND)
        assert stored(session) == blended
        context.owner = None  # else the next user of the context would find this state


def test_only_llvmpipe_has_it(context: Context) -> None:
    with Session(tiny_bundle("uniform"), context=context) as session:
        context.owner = None  # as after another user of the context
        with context.gl.counting() as calls:
            session.activate()
    assert calls["glEnable"] == calls["glBlendFunc"] == is_llvmpipe(context.gl.text(GL.GL_RENDERER))


@pytest.mark.parametrize(
    "renderer, twice",
    [("llvmpipe (LLVM 15.0.6, 256 bits)", True), ("softpipe", False), ("VC4 V3D 2.1", False), ("NVIDIA H200", False)],
)
def test_who_is_llvmpipe(renderer: str, twice: bool) -> None:
    assert is_llvmpipe(renderer) == twice
