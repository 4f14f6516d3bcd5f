"""The number of existing GL objects, for tests of resource leaks."""

from __future__ import annotations

from glsl_infer.gl.api import Api


def live_object_count(gl: Api) -> int:
    """Return the number of objects in the current context, among the first 20,000 names of each kind."""
    kinds = (gl.IsTexture, gl.IsFramebuffer, gl.IsBuffer, gl.IsProgram, gl.IsShader)
    return sum(bool(is_one(name)) for is_one in kinds for name in range(1, 20_000))
