"""Assemble shaders from the templates of shaders/.

A template is GLSL that compiles on its own. ``fragment`` adds ``#define`` lines, the text of activations and shared
functions, and generated lines in place of ``//@ name`` lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.activations import Activation
from glsl_infer.graph.piecewise_linear import PiecewiseLinear
from glsl_infer.lowering import immediates
from glsl_infer.program.templates import fill
from glsl_infer.support.resources import template

RANGE = frozenset(("RANGE_FACTOR", "RANGE_OFFSET"))
"""Macros of shaders/range.glsl, which maps the result of an activation to the stored range."""

_UNIFORM = re.compile(r"^uniform vec2 (\w+);\n", re.MULTILINE)

MOST_IN_UNIFORM = 1e13
"""Largest value in a uniform; the GLSL limit ``uniform`` of the bundle format."""


def number(value: float) -> str:
    """Return a GLSL literal that denotes the same float32: 9 significant digits, with a decimal point."""
    text = f"{float(np.float32(value)):.9g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent)}"
    return text if "." in text else text + ".0"


def vec(values: Sequence[float]) -> str:
    """Return a ``vec2``, ``vec3`` or ``vec4`` constructor, or a literal for a single element."""
    if len(values) == 1:
        return number(values[0])
    return f"vec{len(values)}({', '.join(number(value) for value in values)})"


def coordinate(source: int) -> str:
    """Return the expression of the texture coordinate of a source; two sources share a vec4 varying."""
    return f"coord{source // 2}.{'xy' if source % 2 == 0 else 'zw'}"


def varyings(sources: int) -> int:
    """Return the number of vec4 varyings for the coordinates of some sources."""
    return (sources + 1) // 2


def declarations(sources: int, samplers: Sequence[str]) -> list[str]:
    """Return declarations of the varyings of ``sources`` sources, and of samplers."""
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
    functions: Mapping[str, Activation] = MappingProxyType({}),
) -> str:
    """Return a fragment shader, without the prelude, from a template.

    Args:
        name: file name in shaders/.
        activation: activation whose ``activation(vec4)`` function is prepended.
        constants: macros of the activation and the store, a row for each slice, (slices, 4). Equal rows become a
            literal; otherwise the macro is a uniform with its name in lower case (``uniforms``).
        fetched: macros that are variables instead of uniforms; the template's lines fetch them.
        saturates: whether the store clips to [0, 1], as 8-bit stores do.
        includes: templates to prepend.
        lines: text for the ``//@ key`` lines.
        defines: macros; floats are written as GLSL literals.
        exact: whether the shader has registers for exact powers; those with a residual do not.
        functions: further activations without constants, by the names of their functions.
    """
    blocks = [
        f"#define {key} {number(value) if isinstance(value, float) else value}"
        for key, value in (defines or {}).items()
    ]
    for key, rows in constants.items():
        blocks += _constant(key, rows, "" if key in fetched else "uniform ")
    function = "" if activation is None else _function(activation, saturates)
    others = [_function(other, saturates=False).replace("activation(", f"{key}(") for key, other in functions.items()]
    generated = [value for value in (defines or {}).values() if isinstance(value, str)]
    generated += [*others, *(line for key in (lines or {}) for line in (lines or {})[key])]
    blocks += [
        template(include).rstrip("\n")
        for include in [*includes, *(_exact(activation, "\n".join([function, *generated]), includes) if exact else [])]
    ]
    if activation is not None:
        if RANGE.intersection(constants):
            unranged = function.replace("vec4 activation(", "vec4 function(")
            ranged = "vec4 activation(vec4 x) {\n    return ranged(function(x));\n}"
            function = f"{unranged}\n{template('range.glsl')}{ranged}"
        blocks.append(function)
    return "\n".join([*blocks, *others, fill(template(name), lines or {})])


def _exact(activation: Activation | None, text: str, includes: Sequence[str]) -> list[str]:
    """Return the template of exact powers if an activation or an expression in generated lines needs it.

    16-bit stores need more precision than the exponentials of GPUs guarantee. In 8 bits, ``exponential`` and powers
    need it, and the difference of a value and its tanh.
    """
    stores_16 = "fixed_point.glsl" in includes and "store.glsl" not in includes
    name = "" if activation is None else activation.name
    functions = ("exp", "log", "pow") if stores_16 or name in ("exponential", "tanh_shrink") else ("pow",)
    calls = [function for function in functions if f"{function}(" in text]
    return ["exact_powers.glsl"] if any(re.search(rf"\b{function}\(", text) for function in calls) else []


def uniforms(constants: Mapping[str, NDArray[np.float32]], index: int) -> dict[str, list[float]]:
    """Return the uniforms of a slice's draw: its row of the ``differing`` constants."""
    return {name.lower(): rows[index].tolist() for name, rows in differing(constants).items()}


def differing(constants: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Return the constants that differ between slices, by macro."""
    return {name: rows for name, rows in constants.items() if _differ(rows)}


def _differ(rows: NDArray[np.float32]) -> bool:
    return bool(np.any(rows != rows[0]))


def _constant(macro: str, rows: NDArray[np.float32], storage: str) -> list[str]:
    """Return the lines that define a macro as a literal, or as a ``vec4`` variable with a storage qualifier."""
    if _differ(rows):
        return [f"{storage}vec4 {macro.lower()};", f"#define {macro} {macro.lower()}"]
    row = [float(value) for value in rows[0]]
    return [f"#define {macro} {vec(row[:1] if len(set(row)) == 1 else row)}"]


def _function(activation: Activation, saturates: bool) -> str:
    """Return the text of an activation's function."""
    text = template(activation.template).rstrip("\n")
    return text if activation.pieces is None else fill(text, _pieces(activation.pieces, saturates))


def _pieces(function: PiecewiseLinear, saturates: bool) -> dict[str, list[str]]:
    """Return the generated lines of activation_piecewise_linear.glsl."""
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


def large_as_constants(fragment: str, uniforms: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a shader in which the values beyond ``MOST_IN_UNIFORM`` are constants, and the remaining uniforms.

    The outputs of a layer can be so small that the inverse of their unit is larger than readers allow in a uniform.
    """
    remaining = dict(uniforms)
    for name, value in uniforms.items():
        if isinstance(value, Sequence) and max(map(abs, value), default=0.0) > MOST_IN_UNIFORM:
            declaration = rf"^uniform (float|vec[234]) {name};"
            fragment = re.sub(declaration, rf"const \1 {name} = {vec(value)};", fragment, flags=re.MULTILINE)
            del remaining[name]
    return fragment, remaining


@lru_cache(maxsize=64)  # slices of a layer often share their shader
def without_uniforms(fragment: str, unused: tuple[str, ...]) -> str:
    """Remove the declarations of some vec2 uniforms from a shader."""
    return _UNIFORM.sub(lambda line: "" if line[1] in unused else line[0], fragment) if unused else fragment


@lru_cache(maxsize=256)  # slices of a layer often share their shader
def uses(fragment: str, uniform: str) -> bool:
    """Return whether a shader reads a uniform: whether its name occurs twice."""
    return fragment.count(uniform) > 1 and len(re.findall(rf"\b{uniform}\b", fragment)) > 1
