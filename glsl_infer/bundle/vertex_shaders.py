"""The vertex shaders of a bundle are those that the format prints, and no others.

A driver is no sandbox: Mesa's llvmpipe ends the process in the first draw with a vertex shader that declares a varying
and does not write it. Since every program needs the same few lines, a reader compares instead of understanding GLSL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glsl_infer.errors import BundleError
from glsl_infer.program import ShaderProgram
from glsl_infer.program.templates import vertex_shader


def check(programs: Iterable[ShaderProgram], members: Mapping[str, bytes]) -> None:
    """Refuse a vertex shader that is not the format's text for as many varyings as its program has.

    Args:
        programs: of a manifest whose parts fit together: their members are there.
        members: bytes of every member.

    Raises:
        BundleError: naming the first such program and its member.
    """
    for program in programs:
        if members[program.vertex] != vertex_shader(program.varyings).encode():
            raise BundleError(
                f"program '{program.name}': '{program.vertex}' is not the vertex shader of this format for "
                f"{program.varyings} varyings; export the model again"
            )
