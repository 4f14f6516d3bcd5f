"""Check of the vertex shaders of a bundle, which must equal the text in the format.

A driver is not a sandbox: Mesa's llvmpipe ends the process in the first draw with a vertex shader that declares a
varying without writing it. All programs need the same few lines, so a reader compares them instead of parsing GLSL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glsl_infer.errors import BundleError
from glsl_infer.program import ShaderProgram
from glsl_infer.program.templates import vertex_shader


def check(programs: Iterable[ShaderProgram], members: Mapping[str, bytes]) -> None:
    """Refuse a vertex shader that differs from the format's text for its program's number of varyings.

    Args:
        programs: of a consistent manifest: their members exist.
        members: bytes of every member.

    Raises:
        BundleError: names the first such program and its member.
    """
    for program in programs:
        if members[program.vertex] != vertex_shader(program.varyings).encode():
            raise BundleError(
                f"program '{program.name}': '{program.vertex}' is not the vertex shader of this format for "
                f"{program.varyings} varyings; export the model again"
            )
