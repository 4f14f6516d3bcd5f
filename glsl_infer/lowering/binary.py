"""The passes of operators with two operands or three, of which some may be broadcast."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import codegen, fold, number_texture
from glsl_infer.lowering.bindings import Read
from glsl_infer.program.layout import FeatureMap, FixedPoint, View, per_channel, slices_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from glsl_infer.graph import Node
    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.lowering.builder import Builder

PRODUCT = "a * b"
GATED = "a * b + c"
LINEAR = (PRODUCT, "a + b", "a - b", GATED)
"""What makes errors of numbers in 24 bits no larger."""

SUMS = {"a + b": (1.0, 1.0), "a - b": (1.0, -1.0)}
"""Expressions that add up their operands, and with which signs."""


@dataclass(frozen=True)
class _Operand:
    """How a slice of an operand is read: ``reads``, and what a texel is worth, ``factor * texel + offset``.

    With ``times``, (channels,) of the output, it is worth so much more; with ``bare`` the offset is left out.
    """

    name: str
    value: FeatureMap | FixedPoint
    times: NDArray[np.float64] | None = None
    bare: bool = False

    def reads(self, index: int, width: int, height: int) -> list[Read]:
        """Return what a draw of output slice ``index``, a map of ``width`` x ``height``, reads."""
        if isinstance(self.value, FixedPoint):
            last = slices_of(self.value.length, 2) - 1
            texels = (min(2 * index + half, last) for half in range(1 if self.value.length == 1 else 2))
            return [Read(View(self.value.texture, texel, 0), stride=(0.0, 0.0)) for texel in texels]
        stride = (float(self.value.width == width), float(self.value.height == height))
        return [Read(self.value.views[0 if self.value.channels == 1 else index], stride=stride)]

    def text(self, binding: Binding) -> list[str]:
        """Return the GLSL lines that set the variable called ``name`` to the operand's values."""
        if isinstance(self.value, FixedPoint) and self.value.length == 1:
            scale = codegen.number(self.value.scale)
            return [f"vec4 {self.name} = vec4(decode({binding.fetch(self.name)}).x * {scale});"]
        if isinstance(self.value, FixedPoint):
            pair = ", ".join(f"decode({binding.fetch(self.name, half)})" for half in range(2))
            return [f"vec4 {self.name} = vec4({pair}) * {codegen.number(self.value.scale)};"]
        lane = ".xxxx" if self.value.channels == 1 else ""
        texel = f"{binding.fetch(self.name)}{lane}"
        if self.is_plain:
            return [f"vec4 {self.name} = {texel};"]
        offset = "" if self.bare else f" + {self.name}_offset"
        return [f"vec4 {self.name} = {self.name}_factor * {texel}{offset};"]

    def numbers(self, slices: int) -> dict[str, NDArray[np.floating]]:
        """Return the numbers that ``text`` names, a row for each slice of the output, (slices, 4)."""
        if isinstance(self.value, FixedPoint) or self.is_plain:
            return {}
        factor = self.value.scale_of
        if self.times is not None:
            factor = factor * self.times
        offset = -factor * self.value.zero_of / 255.0
        both = {f"{self.name}_factor": factor} | ({} if self.bare else {f"{self.name}_offset": offset})
        if len(factor) == 1:
            return {name: np.full((slices, 4), numbers[0]) for name, numbers in both.items()}
        return {name: fold.slices(numbers) for name, numbers in both.items()}

    @cached_property
    def is_plain(self) -> bool:
        """Whether a texel is the value."""
        value = self.value
        return (
            self.times is None
            and isinstance(value, FeatureMap)
            and set(value.scales) == {1.0}
            and set(value.zeros) == {0.0}
        )


def draw(
    node: Node,
    build: Builder,
    expression: str,
    *,
    gamma: Sequence[float] = (1.0,),
    beta: Sequence[float] = (0.0,),
) -> None:
    """Append the passes of an activation of ``gamma * expression + beta``.

    ``expression`` is GLSL of vec4s called ``a``, ``b`` and ``c``: real values of the node's inputs. ``gamma`` and
    ``beta`` are one number, or one for each channel.
    """
    operands = [_Operand(name, _stored(build, source)) for name, source in zip("abc", node.inputs)]
    target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
    out = fold.output(node.activation, node.attrs, target.channels)
    factors = out.factor * per_channel(gamma, target.channels)
    offsets = out.offset + out.factor * per_channel(beta, target.channels)
    maps = all(isinstance(operand.value, FeatureMap) for operand in operands)
    summed = expression in SUMS and maps and not (_is_idle(factors, offsets) and all(one.is_plain for one in operands))
    multiplied = expression == PRODUCT and not all(one.is_plain for one in operands) and bool((factors != 1.0).any())
    if expression == GATED:
        operands, factors, offsets = _gated(operands, factors, offsets)
    elif summed:
        operands, factors, offsets = _summed(operands, SUMS[expression], factors, offsets)
    elif multiplied:
        operands, factors = _multiplied(operands, factors)
    numbers = {name: rows for operand in operands for name, rows in operand.numbers(len(target.views)).items()}
    plain = _is_idle(factors, offsets)
    scaled = "y = factor * y + offset;"
    if (expression == GATED or summed or multiplied) and offsets.any():
        numbers["offset"], scaled = fold.slices(offsets), "y += offset;"
    elif not plain:
        numbers |= {"factor": fold.slices(factors), "offset": fold.slices(offsets)}
    fetched = _to_fetch(node, build, expression, operands, target, out, numbers)
    texture, units = None, dict[str, list[float]]()
    if fetched:
        texels, units = number_texture.pack(fetched, target.bits)
        texture = build.constant_texture(node, texels.shape[1], texels.shape[0], texels.tobytes())
    numbers = {name: rows for name, rows in numbers.items() if name not in fetched}
    includes = ["store.glsl"] + ["fixed_point.glsl"] * any(
        isinstance(operand.value, FixedPoint) for operand in operands
    )
    texts: dict[object, str] = {}  # most slices have the same
    for index, view in enumerate(target.views):
        reads = {operand.name: operand.reads(index, target.width, target.height) for operand in operands}
        if texture is not None:
            reads[number_texture.ROLE] = [Read(View(texture, 0, index), stride=(0.0, 0.0))]
        binding = build.bind(node, **reads)
        unused = range(min(4, target.channels - 4 * index), 4)
        lines = {
            "declarations": [
                *binding.declarations(*[number_texture.ROLE] * bool(fetched)),
                *(f"uniform vec4 {name};" for name in numbers),
                *number_texture.declarations(fetched),
            ],
            "operands": [
                *number_texture.lines(fetched, target.bits, binding),
                *(line for operand in operands for line in operand.text(binding)),
            ],
            "result": [f"y = {expression};", *([] if plain else [scaled])],
            "pad_lanes": [f"y.{'xyzw'[lane]} = {codegen.number(out.pad)};" for lane in unused],
        }
        key = tuple(map(tuple, lines.values()))
        if key not in texts:
            texts[key] = codegen.fragment(
                "binary.frag",
                includes=includes,
                activation=out.activation,
                constants=out.constants,
                saturates=True,
                lines=lines,
            )
        uniforms: dict[str, Sequence[float]] = {
            **number_texture.uniforms_of(numbers, index),
            **(binding.texels(number_texture.ROLE) if fetched else {}),
            **units,
            **out.uniforms(index),
        }
        part = str(index) if unused else None
        size = (target.width, target.height)
        build.draw_tile(node, texts[key], view, size, binding, uniforms, part=part)


def _gated(
    operands: Sequence[_Operand], factors: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64], NDArray[np.float64]]:
    """Return operands that are worth what the output's factors make of them: fewer numbers for a shader to hold."""
    gated, _ = _multiplied(operands[:2], factors)
    last = replace(operands[2], times=factors, bare=True)
    assert isinstance(last.value, FeatureMap)
    moved = offsets - factors * last.value.scale_of * last.value.zero_of / 255.0
    return [*gated, last], np.ones_like(factors), moved


def _multiplied(
    operands: Sequence[_Operand], factors: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64]]:
    """Return operands of a product, of which one is worth the output's factors more, and what factors are left."""
    ranged = [one for one in operands if isinstance(one.value, FeatureMap)]
    if not ranged:
        return list(operands), factors
    taken = next((one for one in ranged if not one.is_plain), ranged[0])
    assert isinstance(taken.value, FeatureMap)
    worth = replace(taken, times=factors, bare=not taken.value.zero_of.any())
    return [worth if one is taken else one for one in operands], np.ones_like(factors)


def _summed(
    operands: Sequence[_Operand], signs: Sequence[float], factors: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64], NDArray[np.float64]]:
    """Return maps that are worth what the output's factors make of them, and one offset: three numbers, not six.

    With six in a texture, VideoCore IV fetches so many at once that it has one thread.
    """
    made, moved = [], offsets
    for sign, operand in zip(signs, operands):
        assert isinstance(operand.value, FeatureMap)
        made.append(replace(operand, times=factors, bare=True))
        moved = moved - sign * factors * operand.value.scale_of * operand.value.zero_of / 255.0
    return made, np.ones_like(factors), moved


def _is_idle(factors: NDArray[np.float64], offsets: NDArray[np.float64]) -> bool:
    """Return whether these change nothing."""
    return bool((factors == 1.0).all() and not offsets.any())


def _to_fetch(
    node: Node,
    build: Builder,
    expression: str,
    operands: Sequence[_Operand],
    target: FeatureMap,
    out: fold.StoredSum,
    numbers: number_texture.Rows,
) -> number_texture.Rows:
    """Return those of the numbers that a texture has, so that slices need no draw each: all that differ, or none."""
    differing = {name: rows for name, rows in numbers.items() if np.any(rows != rows[0])}
    if not differing or out.uniforms(0) or out.activation.slope is None or expression not in LINEAR:
        return {}
    if expression == GATED and target.bits == 16:  # too many fetches at once for VideoCore IV's two threads
        return {}
    size = (target.width, target.height)
    read = [
        [read.view.texture for operand in operands for read in operand.reads(index, *size)] for index in _all(target)
    ]
    times, pixels = build.times(node, target)
    saved = number_texture.draws_saved(target, read, times)
    pixels *= times * target.width * target.height
    return differing if number_texture.pays(differing, target.bits, pixels, saved, build.draw_cost) else {}


def _all(target: FeatureMap) -> range:
    return range(len(target.views))


def _stored(build: Builder, name: str) -> FeatureMap | FixedPoint:
    value = build.values[name]
    assert isinstance(value, (FeatureMap, FixedPoint)), name
    return value
