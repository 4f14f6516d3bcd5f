"""Passes of operators with two or three operands, which can be broadcast."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.lowering import codegen, fold, number_texture
from glsl_infer.lowering.bindings import Read
from glsl_infer.program.layout import FeatureMap, FixedPoint, View, per_channel, slices_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from glsl_infer.graph import Node
    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.lowering.builder import Builder

PRODUCT = DRAWN["multiply"].glsl
GATED = "a * b + c"
LINEAR = (GATED, *(function.glsl for function in DRAWN.values() if not function.steep))
"""Expressions that do not enlarge the errors of 24-bit values."""

SUMS = {"a + b": (1.0, 1.0), "a - b": (1.0, -1.0)}
"""Signs of the operands in sums."""


@dataclass(frozen=True)
class _Operand:
    """An operand of an elementwise expression; a texel has the value ``factor * texel + offset``.

    ``multiplier``, (channels,) of the output, multiplies factor and offset. ``without_offset`` leaves the offset out.
    """

    name: str
    value: FeatureMap | FixedPoint
    multiplier: NDArray[np.float64] | None = None
    without_offset: bool = False

    def reads(self, index: int, width: int, height: int) -> list[Read]:
        """Return the reads for output slice ``index`` of a map of ``width`` x ``height`` pixels."""
        if isinstance(self.value, FixedPoint):
            last = slices_of(self.value.length, 2) - 1
            texels = (min(2 * index + half, last) for half in range(1 if self.value.length == 1 else 2))
            return [Read(View(self.value.texture, texel, 0), stride=(0.0, 0.0)) for texel in texels]
        stride = (float(self.value.width == width), float(self.value.height == height))
        return [Read(self.value.views[0 if self.value.channels == 1 else index], stride=stride)]

    def text(self, binding: Binding) -> list[str]:
        """Return the GLSL lines that declare the variable ``name`` with the operand's values."""
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
        offset = "" if self.without_offset else f" + {self.name}_offset"
        return [f"vec4 {self.name} = {self.name}_factor * {texel}{offset};"]

    def factor_and_offset(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor and the offset of each channel of a map, (channels,)."""
        assert isinstance(self.value, FeatureMap)
        factor = self.value.scale_of
        if self.multiplier is not None:
            factor = factor * self.multiplier
        return factor, -factor * self.value.zero_of / 255.0

    def numbers(self, slices: int) -> dict[str, NDArray[np.floating]]:
        """Return the constants used by ``text``, by name, with a row for each output slice, (slices, 4)."""
        if isinstance(self.value, FixedPoint) or self.is_plain:
            return {}
        factor, offset = self.factor_and_offset()
        values = {f"{self.name}_factor": factor} | ({} if self.without_offset else {f"{self.name}_offset": offset})
        if len(factor) == 1:
            return {name: np.full((slices, 4), numbers[0]) for name, numbers in values.items()}
        return {name: fold.slices(numbers) for name, numbers in values.items()}

    @cached_property
    def is_plain(self) -> bool:
        """True if texels are the values themselves."""
        value = self.value
        return (
            self.multiplier is None
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
    """Append the passes of the node's activation of ``gamma * expression + beta``.

    Args:
        node: the layer.
        build: the program.
        expression: GLSL of the vec4s ``a``, ``b`` and ``c``, the real values of the node's inputs.
        gamma: one factor for all channels, or one for each.
        beta: one addend for all channels, or one for each.
    """
    operands = [_Operand(name, _stored(build, source)) for name, source in zip("abc", node.inputs)]
    target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
    out = fold.output(node.activation, node.attrs, target.channels)
    factors = out.factor * per_channel(gamma, target.channels)
    offsets = out.offset + out.factor * per_channel(beta, target.channels)
    formula = _formula(expression, operands, factors, offsets, len(target.views))
    textured = _values_to_texture(node, build, expression, formula.operands, target, out, formula.constants)
    uniform_constants = {name: rows for name, rows in formula.constants.items() if name not in textured}
    texture, units = None, dict[str, list[float]]()
    if textured:
        texels, units = number_texture.pack(textured, target.bits)
        texture = build.constant_texture(node, texels.shape[1], texels.shape[0], texels.tobytes())

    size = (target.width, target.height)
    fragments: dict[object, str] = {}  # by the text of their lines, which most slices share
    for index, view in enumerate(target.views):
        reads = {operand.name: operand.reads(index, *size) for operand in formula.operands}
        if texture is not None:
            reads[number_texture.ROLE] = [Read(View(texture, 0, index), stride=(0.0, 0.0))]
        binding = build.bind(node, **reads)
        padding_lanes = range(min(4, target.channels - 4 * index), 4)
        lines = formula.shader_lines(binding, textured, target.bits)
        lines["pad_lanes"] = [f"y.{'xyzw'[lane]} = {codegen.number(out.pad)};" for lane in padding_lanes]
        text = tuple(map(tuple, lines.values()))
        if text not in fragments:
            fragments[text] = codegen.fragment(
                "binary.frag",
                includes=["store.glsl", *["fixed_point.glsl"] * formula.reads_vectors],
                activation=out.activation,
                constants=out.constants,
                saturates=True,
                lines=lines,
            )
        uniforms: dict[str, Sequence[float]] = {
            **number_texture.uniforms_of(uniform_constants, index),
            **(binding.texels(number_texture.ROLE) if textured else {}),
            **units,
            **out.uniforms(index),
        }
        part = str(index) if padding_lanes else None
        build.draw_tile(node, fragments[text], view, size, binding, uniforms, part=part)


@dataclass(frozen=True)
class _Formula:
    """An expression with the factors and offsets of its output.

    Attributes:
        operands: its operands.
        lines: GLSL lines that compute ``y`` from them.
        constants: constants of operands and lines, by name, (slices, 4) each.
    """

    operands: Sequence[_Operand]
    lines: Sequence[str]
    constants: number_texture.Rows

    @property
    def reads_vectors(self) -> bool:
        """True if an operand is a vector."""
        return any(isinstance(operand.value, FixedPoint) for operand in self.operands)

    def shader_lines(self, binding: Binding, textured: number_texture.Rows, bits: int) -> dict[str, Sequence[str]]:
        """Return the declarations, operands and result for the shader of a draw.

        Args:
            binding: its reads.
            textured: the constants in a texture; the others are uniforms.
            bits: of the output.
        """
        uniforms = [f"uniform vec4 {name};" for name in self.constants if name not in textured]
        return {
            "declarations": [
                *binding.declarations(*[number_texture.ROLE] * bool(textured)),
                *uniforms,
                *number_texture.declarations(textured),
            ],
            "operands": [
                *number_texture.lines(textured, bits, binding),
                *(line for operand in self.operands for line in operand.text(binding)),
            ],
            "result": self.lines,
        }


def _formula(
    expression: str,
    operands: Sequence[_Operand],
    factors: NDArray[np.float64],
    offsets: NDArray[np.float64],
    slices: int,
) -> _Formula:
    """Return the formula of ``factors * expression + offsets``, (channels,) each, with the fewest constants."""
    folded = _with_factors(expression, operands, factors, offsets)
    if folded is not None:
        operands, factors, offsets = folded
    constants = {name: rows for operand in operands for name, rows in operand.numbers(slices).items()}
    lines = [f"y = {expression};"]
    if folded is not None and offsets.any():
        constants["offset"] = fold.slices(offsets)
        lines.append("y += offset;")
    elif not _is_identity(factors, offsets):
        constants |= {"factor": fold.slices(factors), "offset": fold.slices(offsets)}
        lines.append("y = factor * y + offset;")
    return _Formula(operands, lines, constants)


def _with_factors(
    expression: str, operands: Sequence[_Operand], factors: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return operands that include the output's factors, with the remaining factors and offsets.

    None if that would not save constants in the shader.
    """
    all_plain = all(operand.is_plain for operand in operands)
    are_maps = [isinstance(operand.value, FeatureMap) for operand in operands]
    if expression == GATED:
        return _gated(operands, factors, offsets)
    if expression in SUMS and all(are_maps):
        return None if all_plain else _summed(operands, SUMS[expression], factors, offsets)
    if expression == PRODUCT and any(are_maps) and not all_plain and (factors != 1.0).any():
        return *_multiplied(operands, factors), offsets
    return None


def _gated(
    operands: Sequence[_Operand], factors: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64], NDArray[np.float64]]:
    """Return operands of ``a * b + c`` that include the output's factors, for fewer constants in the shader."""
    gated, _ = _multiplied(operands[:2], factors)
    addend = replace(operands[2], multiplier=factors, without_offset=True)
    _, offset = addend.factor_and_offset()
    return [*gated, addend], np.ones_like(factors), offsets + offset


def _multiplied(
    operands: Sequence[_Operand], factors: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64]]:
    """Return operands of a product, one of which includes the output's factors, and the remaining factors."""
    maps = [operand for operand in operands if isinstance(operand.value, FeatureMap)]
    if not maps:
        return list(operands), factors
    chosen = next((operand for operand in maps if not operand.is_plain), maps[0])
    _, offset = chosen.factor_and_offset()
    scaled = replace(chosen, multiplier=factors, without_offset=not offset.any())
    return [scaled if operand is chosen else operand for operand in operands], np.ones_like(factors)


def _summed(
    operands: Sequence[_Operand], signs: Sequence[float], factors: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[list[_Operand], NDArray[np.float64], NDArray[np.float64]]:
    """Return operands of a sum that include the output's factors, and a common offset: three constants, not six.

    With six constants in a texture, VideoCore IV has so many fetches in flight that it runs one thread.
    """
    scaled, shifted = [], offsets
    for sign, operand in zip(signs, operands):
        scaled.append(replace(operand, multiplier=factors, without_offset=True))
        _, offset = scaled[-1].factor_and_offset()
        shifted = shifted + sign * offset
    return scaled, np.ones_like(factors), shifted


def _is_identity(factors: NDArray[np.float64], offsets: NDArray[np.float64]) -> bool:
    """Return whether a factor and an offset have no effect."""
    return bool((factors == 1.0).all() and not offsets.any())


def _values_to_texture(
    node: Node,
    build: Builder,
    expression: str,
    operands: Sequence[_Operand],
    target: FeatureMap,
    out: fold.StoredSum,
    constants: number_texture.Rows,
) -> number_texture.Rows:
    """Return the constants that differ between slices if they fit a texture better than uniforms, otherwise nothing.

    With a texture, all slices are drawn in one pass.
    """
    different = {name: rows for name, rows in constants.items() if np.any(rows != rows[0])}
    if not different or out.uniforms(0) or out.activation.slope is None or expression not in LINEAR:
        return {}
    if expression == GATED and target.bits == 16:  # too many fetches in flight for two threads on VideoCore IV
        return {}
    size = (target.width, target.height)
    textures = [
        [read.view.texture for operand in operands for read in operand.reads(index, *size)]
        for index in range(len(target.views))
    ]
    times, pixels = build.times(node, target)
    saved = number_texture.draws_saved(target, textures, times)
    pixels *= times * target.width * target.height
    return different if number_texture.pays(different, target.bits, pixels, saved, build.draw_cost) else {}


def _stored(build: Builder, name: str) -> FeatureMap | FixedPoint:
    value = build.values[name]
    assert isinstance(value, (FeatureMap, FixedPoint)), name
    return value
