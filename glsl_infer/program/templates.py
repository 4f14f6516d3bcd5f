"""Fill the ``//@`` lines of the templates in shaders/, and generate the vertex shader."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from glsl_infer.support.resources import template

MAX_VARYINGS = 7
"""Largest number of varyings. ES 2.0 guarantees 8 vertex attributes: the position, and 7 with two coordinates each."""


def fill(text: str, lines: Mapping[str, Sequence[str]]) -> str:
    """Replace each ``//@ key`` line by its generated lines, with the same indentation."""

    def replacement(match: re.Match[str]) -> str:
        indentation, key = match.groups()
        return "".join(f"{indentation}{line}\n" for line in lines.get(key, ()))

    return re.sub(r"^([ \t]*)//@ (\w+)[^\n]*\n", replacement, text, flags=re.MULTILINE)


@cache
def vertex_shader(count: int) -> str:
    """Return the vertex shader with 1 to 7 varyings. Bundles must use exactly this text."""
    lines = {
        "declarations": [
            f"{declaration};"
            for k in range(count)
            for declaration in (f"attribute vec4 corner{k}", f"varying vec4 coord{k}")
        ],
        "assignments": [f"coord{k} = corner{k};" for k in range(count)],
    }
    return fill(template("quads.vert"), lines)
