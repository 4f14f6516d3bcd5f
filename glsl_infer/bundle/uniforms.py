"""Whether passes set every uniform that their shader declares: one that nobody sets holds 0, and results are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from glsl_infer.errors import BundleError
from glsl_infer.program import PRELUDE, ShaderProgram

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DECLARATION = re.compile(
    r"\buniform\s+(?:(?:lowp|mediump|highp)\s+)?(sampler2D|float|vec[234])\s+([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*;"
)
DEVICE = frozenset(("ROUND_STORES", "LATE_FETCH", "NEAREST_SUMS", "ROLLED_FETCHES"))
"""Macros that a runner may define for a device or not; a driver may define what begins with GL_ or __."""


def check(programs: Iterable[ShaderProgram], members: Mapping[str, bytes]) -> None:
    """Refuse a program whose fragment shader declares other uniforms than the program sets.

    Args:
        programs: of a manifest; their members are there.
        members: bytes of every member.

    Raises:
        BundleError: naming the program and the uniform.
    """
    for program in programs:
        text = members[PRELUDE] + b"\n" + members[program.fragment]  # what is defined there counts here
        declared = dict(_declared(text.decode("ascii", "replace"), program.name))
        samplers = {name for name, kind in declared.items() if kind == "sampler2D"}
        for what, given, there in (
            ("sampler", set(program.samplers), samplers),
            ("uniform", set(program.uniforms), set(declared) - samplers),
        ):
            unset, unknown = sorted(there - given), sorted(given - there)
            if unset:
                raise BundleError(
                    f"program '{program.name}': its shader declares the {what} '{unset[0]}', which no pass sets"
                )
            if unknown:
                raise BundleError(
                    f"program '{program.name}': passes set the {what} '{unknown[0]}', which its shader does not declare"
                )


def _declared(text: str, program: str) -> Iterator[tuple[str, str]]:
    """Yield the name and type of every uniform that is declared in lines that a device may compile."""
    text = "\n".join(_compiled(_COMMENT.sub(" ", text), program))
    declarations = _DECLARATION.findall(text)
    if len(declarations) != len(re.findall(r"\buniform\b", text)):
        raise BundleError(f"program '{program}': a uniform is not declared on its own, as 'uniform vec4 name;'")
    for kind, name in declarations:
        yield name, kind


def _compiled(text: str, program: str) -> Iterator[str]:
    """Yield the lines that are left when ``#ifdef`` and ``#ifndef`` are decided.

    Both branches are left where a device decides, or what a device decides; so is what stands behind other
    conditions.
    """
    macros: dict[str, bool | None] = dict.fromkeys(DEVICE)  # None: perhaps
    branches: list[bool | None] = []
    for line in text.split("\n"):
        words = line.replace("#", " # ").split() if line.lstrip().startswith("#") else []
        if len(words) < 2:
            if False not in branches:
                yield line
            continue
        directive, name = words[1], words[2] if len(words) > 2 else ""
        if directive in ("ifdef", "ifndef"):
            state = macros.get(name, None if name.startswith(("GL_", "__")) else False)
            branches.append(state if directive == "ifdef" or state is None else not state)
        elif directive == "if":
            branches.append(None)
        elif directive in ("else", "elif", "endif"):
            if not branches:
                raise BundleError(f"program '{program}': #{directive} without a condition")
            state = branches.pop()
            if directive != "endif":
                branches.append(None if state is None or directive == "elif" else not state)
        elif directive in ("define", "undef") and False not in branches:
            certain = None not in branches
            macros[name] = (directive == "define") if certain else None
