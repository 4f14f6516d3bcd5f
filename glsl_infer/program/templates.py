"""Templates of shaders/: filling their ``//@`` lines, and the one vertex shader that the format has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from glsl_infer.support.resources import template

MAX_VARYINGS = 7
"""ES 2.0 promises 8 vertex attributes; the position is one, each other carries the coordinates of two sources."""


def fill(text: str, lines: Mapping[str, Sequence[str]]) -> str:
    """Replace every ``//@ key`` line by its generated lines, at the same indentation."""

    def replacement(match: re.Match[str]) -> str:
        indentation, key = match.groups()
        return "".join(f"{indentation}{line}\n" for line in lines.get(key, ()))

    return re.sub(r"^([ \t]*)//@ (\w+)[^\n]*\n", replacement, text, flags=re.MULTILINE)


@cache
def vertex_shader(count: int) -> str:
    """Return the vertex shader with that many varyings, 1 to 7: the only one that a bundle may have for them."""
    lines = {
        "declarations": [
            f"{kind};" for k in range(count) for kind in (f"attribute vec4 corner{k}", f"varying vec4 coord{k}")
        ],
        "assignments": [f"coord{k} = corner{k};" for k in range(count)],
    }
    return fill(template("quads.vert"), lines)
