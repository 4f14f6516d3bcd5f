"""Which GL objects there are, for tests of what is freed."""

from __future__ import annotations

from glsl_infer.gl.api import Api


def living(gl: Api) -> int:
    """Return how many objects the current context has, among the first 20,000 names of each kind."""
    kinds = (gl.IsTexture, gl.IsFramebuffer, gl.IsBuffer, gl.IsProgram, gl.IsShader)
    return sum(bool(is_one(name)) for is_one in kinds for name in range(1, 20_000))
