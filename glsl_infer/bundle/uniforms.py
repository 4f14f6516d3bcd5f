"""Whether fragment shaders are of the format's GLSL, and passes set every uniform that they declare.

A uniform that nobody sets holds 0, and results are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glsl_infer.bundle.format_constants import GLSL_LIMITS, GLSL_PRELUDE
from glsl_infer.bundle.rules import rule
from glsl_infer.bundle.shader_check import Shader, parse
from glsl_infer.errors import BundleError
from glsl_infer.program import PRELUDE, ShaderProgram


def check(programs: Iterable[ShaderProgram], members: Mapping[str, bytes]) -> None:
    """Refuse a shader that is not of the format's GLSL, or declares other uniforms than its program sets.

    Args:
        programs: of a manifest; their members are there.
        members: bytes of every member.

    Raises:
        BundleError: naming the shader and its line, or the program and the uniform.
    """
    known: dict[str, Shader] = {}
    written = 0
    with rule("shaders"):
        prelude = (line.split("//", 1)[0].rstrip(" ") for line in members[PRELUDE].decode("latin-1").split("\n"))
        if [line for line in prelude if line] != list(GLSL_PRELUDE):
            raise BundleError(f"'{PRELUDE}' is not the prelude of this format; export the model again")
    for program in programs:
        if program.fragment not in known:
            with rule("shaders"):
                known[program.fragment] = parse(program.fragment, members[program.fragment].decode("latin-1"))
        shader = known[program.fragment]
        written += shader.written
        if written > GLSL_LIMITS["all_written"]:
            raise BundleError(
                f"the programs have more than {GLSL_LIMITS['all_written']} operations together", "shaders"
            )
        with rule("uniforms"):
            samplers = {name for name, kind in shader.uniforms.items() if kind == "sampler2D"}
            _compare(program.name, "sampler", set(program.samplers), samplers)
            _compare(program.name, "uniform", set(program.uniforms), set(shader.uniforms) - samplers)


def _compare(program: str, what: str, given: set[str], there: set[str]) -> None:
    unset, unknown = sorted(there - given), sorted(given - there)
    if unset:
        raise BundleError(f"program '{program}': its shader declares the {what} '{unset[0]}', which no pass sets")
    if unknown:
        raise BundleError(
            f"program '{program}': passes set the {what} '{unknown[0]}', which its shader does not declare"
        )
