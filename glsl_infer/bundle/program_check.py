"""Checks of shaders against the format's GLSL, and of the passes' uniforms against the allowed values.

A driver is not a sandbox: Mesa's llvmpipe ends the process in the first draw with a vertex shader that declares a
varying without writing it. All programs need the same few lines, so a reader compares them instead of parsing GLSL.
An unset uniform is 0, and gives wrong results. A large one can overflow, and a divisor of 0 gives NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.bundle.format_constants import GLSL_LIMITS, GLSL_PRELUDE
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError
from glsl_infer.program import PRELUDE, Pass, ShaderProgram, Slice
from glsl_infer.program.templates import vertex_shader

if TYPE_CHECKING:
    from glsl_infer.bundle.manifest import Manifest
    from glsl_infer.bundle.shader_check import Shader


def check_vertex_shaders(programs: Iterable[ShaderProgram], members: Mapping[str, bytes]) -> None:
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


def check_fragment_shaders(programs: Iterable[ShaderProgram], members: Mapping[str, bytes]) -> dict[str, Shader]:
    """Refuse a shader outside the format's GLSL, or with other uniforms than its program sets.

    Returns the shaders by member.

    Args:
        programs: of a manifest; their members exist.
        members: bytes of every member.

    Raises:
        BundleError: names the shader and its line, or the program and the uniform.
    """
    from glsl_infer.bundle.shader_check import parse  # imported late: later starts of a bundle do not check it again

    _check_prelude(members)
    shaders: dict[str, Shader] = {}
    tokens = operations = 0
    for program in programs:
        if program.fragment not in shaders:
            with rule("shaders"):
                shaders[program.fragment] = parse(program.fragment, members[program.fragment].decode("latin-1"))
                tokens += shaders[program.fragment].read
                if tokens > GLSL_LIMITS["all_read"]:
                    raise BundleError(f"the shaders have more than {GLSL_LIMITS['all_read']} tokens together")
        shader = shaders[program.fragment]
        operations += shader.written
        if operations > GLSL_LIMITS["all_written"]:
            raise BundleError(
                f"the programs have more than {GLSL_LIMITS['all_written']} operations together", "shaders"
            )
        _check_uniforms(program, shader)
    return shaders


def _check_prelude(members: Mapping[str, bytes]) -> None:
    """Refuse a prelude that differs from the format's in more than comments and empty lines."""
    with rule("shaders"):
        lines = (line.split("//", 1)[0].rstrip(" ") for line in members[PRELUDE].decode("latin-1").split("\n"))
        if [line for line in lines if line] != list(GLSL_PRELUDE):
            raise BundleError(f"'{PRELUDE}' is not the prelude of this format; export the model again")


def _check_uniforms(program: ShaderProgram, shader: Shader) -> None:
    """Refuse a program whose passes set other samplers or uniforms than its shader declares."""
    with rule("uniforms"):
        samplers = {name for name, kind in shader.uniforms.items() if kind == "sampler2D"}
        _compare(program.name, "sampler", set(program.samplers), samplers)
        _compare(program.name, "uniform", set(program.uniforms), set(shader.uniforms) - samplers)
        for name, count in program.uniforms.items():
            if count != shader.sizes[name]:
                raise BundleError(
                    f"program '{program.name}': passes set {count} numbers of the uniform '{name}', which has "
                    f"{shader.sizes[name]}"
                )


def check_values(manifest: Manifest, members: Mapping[str, bytes], shaders: Mapping[str, Shader]) -> None:
    """Refuse uniforms that are not finite, too large, or 0 as a divisor in a shader.

    Args:
        manifest: a consistent manifest.
        members: bytes of every member.
        shaders: of its programs, by member, from ``check_fragment_shaders``.

    Raises:
        BundleError: names the member, or the pass and the uniform.
    """
    most = GLSL_LIMITS["uniform"]
    floats = {name: np.frombuffer(members[name], "<f4") for name in manifest.floats}
    with rule("uniforms"):
        for name, numbers in floats.items():
            if not (np.abs(numbers) <= most).all():
                raise BundleError(f"member '{name}' has a number that is not finite, or beyond {most}")
        shader_of = {program.name: shaders[program.fragment] for program in manifest.programs}
        widths = {texture.name: texture.width for texture in manifest.textures}
        for index, entry in enumerate(manifest.passes):
            shader = shader_of[entry.program]
            if shader.needs_coordinates_inside and _rightmost(entry, widths) > 2.0:
                raise BundleError(f"pass {index}: loops need a coordinate of at most 2", "passes")
            for name in sorted(shader.divisors):
                value = entry.uniforms[name]
                if isinstance(value, Slice):
                    value = floats[value.member][value.offset : value.offset + value.count].tolist()
                if min(map(abs, value)) < 1.0 / most:
                    raise BundleError(f"pass {index}: its shader divides by '{name}', which is 0 or almost")


def _rightmost(entry: Pass, widths: Mapping[str, int]) -> float:
    """Return the largest first coordinate of a pass's fragments."""
    source = entry.sources[0]
    coordinates = [
        quad.origins[0][0] + 0.5 + source.stride_x * pixel for quad in entry.quads for pixel in (-0.5, quad.width - 0.5)
    ]
    return max(coordinates) / widths[entry.textures[source.unit]]


def _compare(program: str, subject: str, passed: set[str], declared: set[str]) -> None:
    unset, unknown = sorted(declared - passed), sorted(passed - declared)
    if unset:
        raise BundleError(f"program '{program}': its shader declares the {subject} '{unset[0]}', which no pass sets")
    if unknown:
        raise BundleError(
            f"program '{program}': passes set the {subject} '{unknown[0]}', which its shader does not declare"
        )
