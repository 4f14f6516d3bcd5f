"""From the templates of shaders/ to the text of one shader.

A template is GLSL that compiles on its own. Three things are added: ``#define`` lines in front, the
text of an activation or of shared functions, and generated lines in the place of a ``//@ name`` line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.activations import Activation
from glsl_infer.graph.piecewise_linear import PiecewiseLinear
from glsl_infer.lowering import immediates
from glsl_infer.program.templates import fill
from glsl_infer.support.resources import template

RANGE = frozenset(("RANGE_FACTOR", "RANGE_OFFSET"))
"""Constants of shaders/range.glsl: what becomes of a function's value before it is stored."""


PLANNED = "// not written while only memory is planned"
"""What stands for the text of a shader then; see ``Builder.planning``."""


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
    activation: Activation | None = None,
    constants: Mapping[str, NDArray[np.float32]] = MappingProxyType({}),
    fetched: Collection[str] = (),
    saturates: bool = False,
    includes: Sequence[str] = (),
    lines: Mapping[str, Sequence[str]] | None = None,
    defines: Mapping[str, Union[int, float, str]] | None = None,
    exact: bool = True,
) -> str:
    """Return the fragment shader made from template ``name`` (without the prelude).

    Args:
        name: file name in shaders/.
        activation: whose ``activation(vec4)`` function goes in front.
        constants: macros of the activation and of the store, a row for each slice, (slices, 4). A row that all slices
            have is written out; else the macro is a uniform of its name in small letters (``uniforms``).
        fetched: those that are variables instead of uniforms: the template's lines fetch them.
        saturates: whether the store behind it cuts off what lies beyond [0, 1], as one to 8 bits does.
        includes: templates whose text goes in front.
        lines: text for the template's ``//@ key`` lines.
        defines: macros; floats are written as GLSL literals.
        exact: whether there are registers for exact powers; behind a residual there are not.
    """
    parts = [
        f"#define {key} {number(value) if isinstance(value, float) else value}"
        for key, value in (defines or {}).items()
    ]
    for key, rows in constants.items():
        parts += _constant(key, rows, "" if key in fetched else "uniform ")
    text = "" if activation is None else _function(activation, saturates)
    parts += [
        template(include).rstrip("\n")
        for include in [*includes, *(_exact(activation, text, includes) if exact else [])]
    ]
    if activation is not None:
        if RANGE.intersection(constants):
            inner = text.replace("vec4 activation(", "vec4 function(")
            text = f"{inner}\n{template('range.glsl')}vec4 activation(vec4 x) {{\n    return ranged(function(x));\n}}"
        parts.append(text)
    return "\n".join([*parts, fill(template(name), lines or {})])


def _exact(activation: Activation | None, text: str, includes: Sequence[str]) -> list[str]:
    """Return the template of exact powers where a function needs it.

    What is stored in 16 bits needs more than a GPU's exponentials may have. So do exponentials, powers and what is left
    of a number without its tanh in 8 bits.
    """
    stores_16 = "fixed_point.glsl" in includes and "store.glsl" not in includes
    name = "" if activation is None else activation.name
    pattern = r"\b(exp|log|pow)\(" if stores_16 or name in ("exponential", "tanh_shrink") else r"\bpow\("
    return ["exact_powers.glsl"] if re.search(pattern, text) else []


def uniforms(constants: Mapping[str, NDArray[np.float32]], index: int) -> dict[str, list[float]]:
    """Return the uniforms of the draw of slice ``index``: the constants that are not the same for all slices."""
    return {name.lower(): rows[index].tolist() for name, rows in differing(constants).items()}


def differing(constants: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Return the constants that are not the same for all slices, by their macros."""
    return {name: rows for name, rows in constants.items() if _differ(rows)}


def _differ(rows: NDArray[np.float32]) -> bool:
    return bool(np.any(rows != rows[0]))


def _constant(macro: str, rows: NDArray[np.float32], storage: str) -> list[str]:
    """Return the lines that define a macro: a number, a ``vec4`` or a variable of some storage."""
    if _differ(rows):
        return [f"{storage}vec4 {macro.lower()};", f"#define {macro} {macro.lower()}"]
    row = [float(value) for value in rows[0]]
    return [f"#define {macro} {vec(row[:1] if len(set(row)) == 1 else row)}"]


def _function(activation: Activation, saturates: bool) -> str:
    """Return the text of an activation."""
    text = template(activation.template).rstrip("\n")
    return text if activation.pieces is None else fill(text, _pieces(activation.pieces, saturates))


def _pieces(function: PiecewiseLinear, saturates: bool) -> dict[str, list[str]]:
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
