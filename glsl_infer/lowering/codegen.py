"""From the templates of shaders/ to the text of one shader.

A template is GLSL that compiles on its own. Three things are added: ``#define`` lines in front, the
text of an activation or of shared functions, and generated lines in the place of a ``//@ name`` line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Union

import numpy as np

from glsl_infer.graph import activations, piecewise_linear
from glsl_infer.lowering import immediates
from glsl_infer.program.templates import fill
from glsl_infer.support.resources import template


def number(value: float) -> str:
    """Return a GLSL float literal that reads back as the same float32: 9 significant digits, a decimal point."""
    text = f"{float(np.float32(value)):.9g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent)}"
    return text if "." in text else text + ".0"


def vec(values: Sequence[float]) -> str:
    """Return a ``vec2``, ``vec3`` or ``vec4`` constructor, or the literal of a single number."""
    if len(values) == 1:
        return number(values[0])
    return f"vec{len(values)}({', '.join(number(value) for value in values)})"


def coordinate(source: int) -> str:
    """Return the expression of the texture coordinate of source ``source``: two share a vec4 varying."""
    return f"coord{source // 2}.{'xy' if source % 2 == 0 else 'zw'}"


def varyings(sources: int) -> int:
    """Return how many vec4 varyings carry the coordinates of ``sources`` sources."""
    return (sources + 1) // 2


def declarations(sources: int, samplers: Sequence[str]) -> list[str]:
    """Return the lines that declare the varyings of ``sources`` sources, and the samplers."""
    lines = [f"varying vec4 coord{index};" for index in range(varyings(sources))]
    return lines + [f"uniform sampler2D {name};" for name in samplers]


def fragment(
    name: str,
    *,
    activation: str | None = None,
    saturates: bool = False,
    includes: Sequence[str] = (),
    lines: Mapping[str, Sequence[str]] | None = None,
    defines: Mapping[str, Union[int, float, str]] | None = None,
) -> str:
    """Return the fragment shader made from template ``name`` (without the prelude).

    Args:
        name: file name in shaders/.
        activation: name of the activation whose ``activation(vec4)`` function goes in front.
        saturates: whether the store behind it cuts off what lies beyond [0, 1], as one to 8 bits does.
        includes: templates whose text goes in front.
        lines: text for the template's ``//@ key`` lines.
        defines: macros; floats are written as GLSL literals.
    """
    parts = [
        f"#define {key} {number(value) if isinstance(value, float) else value}"
        for key, value in (defines or {}).items()
    ]
    parts += [template(include).rstrip("\n") for include in includes]
    if activation is not None:
        parts += _function(activation, saturates)
    return "\n".join([*parts, fill(template(name), lines or {})])


def _function(name: str, saturates: bool) -> list[str]:
    """Return the text of an activation."""
    one = activations.activation(name)
    text = template(one.template).rstrip("\n")
    if one.template == "activation_limited_relu.glsl":
        return [f"#define MAXIMUM {number(one.high)}", text]
    pieces = piecewise_linear.parse(name)
    return [text if pieces is None else fill(text, _pieces(pieces, saturates))]


def _pieces(function: piecewise_linear.PiecewiseLinear, saturates: bool) -> dict[str, list[str]]:
    """Return the lines of activation_piecewise_linear.glsl."""
    line = (function.factor, function.offset)
    return {
        "line": [] if line == (1.0, 0.0) else [f"x = {number(line[0])} * x + {number(line[1])};"],
        "clamps": [
            f"y += clamp({_times(factor)}x, {number(immediates.bound(low))}, {number(immediates.bound(high))});"
            for factor, low, high in function.clamps
        ],
        "limits": [] if saturates else ["y = clamp(y, 0.0, 1.0);"],
    }


def _times(factor: float) -> str:
    return "" if factor == 1.0 else f"{number(immediates.factor(factor))} * "
