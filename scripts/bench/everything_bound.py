"""A frame as a straightforward engine submits it: all state is set before every draw, needed or not.

The article's C++ code works in this way: for each draw it sets target and viewport, program, every texture, and every
uniform that can change. It is the baseline for the engine's own frames, which set only the state that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glsl_infer.program import Pass
from glsl_infer.runtime.frame import Call

STATE = ("glBindFramebuffer", "glViewport", "glUseProgram")
"""The calls of each draw that set state, in this order."""


def everything_bound(calls: Sequence[Call], passes: Sequence[Pass]) -> list[Call]:
    """Return the calls of a frame with all state set again for each draw.

    Args:
        calls: calls in the form of ``Session.frame``, one draw for each pass, in order.
        passes: the passes of the bundle.
    """
    made: list[Call] = []
    state: dict[str, Call] = {}
    textures: dict[int, tuple[Call, Call]] = {}
    uniforms: dict[int, dict[int, Call]] = {}
    unit: Call | None = None
    draws = iter(passes)
    for call in calls:
        function, arguments = call
        name: str = function.__name__
        if name in STATE:
            state[name] = call
        elif name == "glActiveTexture":
            unit = call
        elif name == "glBindTexture":
            assert unit is not None
            textures[unit[1][0]] = unit, call
        elif name.startswith("glUniform"):
            uniforms.setdefault(_program(state), {})[arguments[0]] = call
        elif name == "glDrawArrays":
            made += [state[key] for key in STATE]
            for number in sorted(textures)[: len(next(draws).textures)]:
                made += textures[number]
            made += uniforms.get(_program(state), {}).values()
            made.append(call)
        else:
            if name == "glClear":
                made += [state[key] for key in STATE[:2]]
            made.append(call)
    return made


def _program(state: dict[str, Any]) -> int:
    program: int = state["glUseProgram"][1][0]
    return program
