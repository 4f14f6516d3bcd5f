"""Global average pooling: from a feature map to a vector in 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, feature_map
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap, FixedPoint


class GlobalAveragePool(Operator):
    """The mean over height and width of each channel of all inputs, in order; their sizes can differ.

    Attribute ``scale`` of the stored vector, which ``fixed_point`` sets.
    """

    attrs = {"scale": None}
    averages = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (sum of channels,)."""
        channels = [feature_map(node, shape)[2] for shape in inputs]
        if any(count % 2 for count in channels[:-1]):
            raise ModelError.layer(
                node.name, f"means of maps of {channels} channels", "give all maps but the last an even number"
            )
        return (sum(channels),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Average the first two axes."""
        return np.concatenate([source.mean(axis=(0, 1), dtype=source.dtype) for source in inputs])

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the inputs' bounds, which include the means."""
        return np.concatenate([low for low, _ in inputs]), np.concatenate([high for _, high in inputs])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the two halves of each slice of each input."""
        sources = [build.feature_map(name) for name in node.inputs]
        target = build.allocate_vector(node, sum(source.channels for source in sources), node.attrs["scale"])
        first = 0
        for index, source in enumerate(sources):
            window = (source.width, source.height)
            draw = _Draws(node, build, source, target, window, part=str(index) if index else "")
            draw.slices([(0, 0)], first)
            first += source.channels // 2


def pixels_to_vector(node: Node, build: Builder) -> None:
    """Append the draws that copy each pixel of a map to a vector, one after another."""
    source = build.feature_map(node.inputs[0])
    pixels = [(x, y) for y in range(source.height) for x in range(source.width)]
    target = build.allocate_vector(node, len(pixels) * source.channels, node.attrs["scale"])
    _Draws(node, build, source, target, (1, 1)).slices(pixels)


def copy_to_vector(node: Node, build: Builder, first: int, count: int) -> None:
    """Append the draws that copy rows of a map to a vector, for ``ops.flatten_rows``."""
    source = build.feature_map(node.inputs[0])
    target = build.allocate_vector(node, 2 * source.width * count, node.attrs["scale"])
    draw = _Draws(node, build, source, target, (1, 1))
    for half in range(2):
        for row in range(first, first + count):
            pair, y = divmod(row, source.height)
            if pair % 2 == half:
                draw.texels(pair, (0, y), (row - first) * source.width, source.width)


FETCH = {"fetch": ["vec4 t = texture2D(source, coord0.xy + vec2(float(x), float(y)) * source_texel);"]}
"""Line of the template that fetches a texel at a position known in advance."""

_MOST_PIXELS = 25
"""Largest number of pixels of a window that VideoCore IV's compiler reliably unrolls."""

_MOST_COLUMNS = 12
"""Largest number of columns of a window that fit VideoCore IV's registers."""

_SWITCH = ["sum += min(texture2D(source, coord0.xy), 0.0); // 0, but a fetch in no loop"]
"""Line after a loop that is not unrolled. VideoCore IV runs two threads only if the last fetch is outside loops. The
added value is 0, in a form that a compiler cannot detect."""

_FROM_16_BITS = ["sum = (sum.xz + sum.yw * (1.0 / 256.0)).xyxy; // two high bytes, each with the low one"]
"""Line that combines the sums of both bytes of a 16-bit map, whose texels have two channels."""

_STRIP = 8
"""Largest number of adjacent pixels added before the sum is rounded to an integer number of bytes.

Until then, the rounding error is below 0.01. VideoCore IV takes 60 instructions for a pixel rounded separately, and 10
in strips."""

_LONG_STRIP = 16
"""The same number for a side of at least ``_LONG`` pixels."""

_LONG = 128
"""Least length of a side whose loop is not unrolled, which leaves registers for longer strips."""


def _strips(width: int, height: int) -> tuple[tuple[int, int], dict[str, Sequence[str]]]:
    """Return iterations of the template's two loops, and its lines: strips along the longer side, and a remainder.

    The coordinate of a strip depends on the sum so far. Otherwise a compiler would fetch all texels first.
    """
    (along, length), (across, line_count) = sorted([("x", width), ("y", height)], key=lambda side: -side[1])
    strips = -(-length // (_LONG_STRIP if length >= _LONG else _STRIP))
    wait = f"at.{along} = max(at.{along}, min(dot(sum, vec4(1.0)), 0.0));"
    advance = f"at.{along} += source_texel.{along};"
    fetch_texel, add_texel = f"vec4 t = texture2D(source, at); {advance}", f"t += texture2D(source, at); {advance}"
    strip = length // strips
    remainder = length - strips * strip
    remainder_lines = (
        [wait, fetch_texel, *[add_texel] * (remainder - 1), "sum += floor(t * 255.0 + 0.5);"] if remainder else []
    )
    return (strips, line_count), {
        "place": ["vec2 at = coord0.xy;"],
        "fetch": [wait, fetch_texel, *[add_texel] * (strip - 1)],
        "next": [*remainder_lines, f"at.{along} = coord0.{along};", f"at.{across} += source_texel.{across};"],
    }


def window_lines(window: tuple[int, int], bits: int) -> tuple[tuple[int, int], dict[str, Sequence[str]]]:
    """Return iterations of the template's two loops over a window (width, height), and its lines.

    The sum of a map in 16 ``bits`` then has channels 0 and 1 in its first two lanes, and again in the other two.
    """
    final_lines: dict[str, Sequence[str]] = {"all": _FROM_16_BITS} if bits == 16 else {}
    if window[0] * window[1] <= _MOST_PIXELS and window[0] <= _MOST_COLUMNS:
        return window, {**FETCH, **final_lines}
    turns, lines = _strips(*window)
    return turns, {**lines, "all": [*_SWITCH, *final_lines.get("all", [])]}


class _Draws:
    """Draws of means over ``window`` (width, height) of a map, in 16-bit fixed point, two elements for each texel.

    Texel t of the vector has elements 2t and 2t + 1. A slice has four channels and therefore two draws: of lanes 0 and
    1, and of lanes 2 and 3. With equal ranges of all channels, factor and offset are uniforms. Otherwise they are in a
    small texture (``_constants``) with ``part`` in its name, so that the slices of a texture share a draw.
    """

    def __init__(
        self,
        node: Node,
        build: Builder,
        source: FeatureMap,
        target: FixedPoint,
        window: tuple[int, int],
        part: str = "",
    ) -> None:
        self._node, self._build, self._source, self._target = node, build, source, target
        self._turns, self._lines = window_lines(window, source.bits)
        factor = fold.slices(source.scale_of / (255.0 * window[0] * window[1] * target.scale))
        offset = fold.slices(-source.scale_of * source.zero_of / (255.0 * target.scale))
        self._factor, self._offset = factor, offset
        self._table, self._units = "", (1.0, 1.0)
        self._texts: dict[tuple[str, ...], str] = {}  # most draws share a text
        if len({*zip(source.scale_of.tolist(), source.zero_of.tolist())}) > 1:
            texels, self._units = _constants(factor, offset)
            self._table = build.constant_texture(node, texels.shape[1], ROWS, texels.tobytes(), part)

    def slices(self, pixels: Sequence[tuple[int, int]], first: int = 0) -> None:
        """Draw all channels of windows that begin at some pixels, one pixel after another, from texel ``first`` on."""
        channels = self._source.channels
        for half in range(2):
            for index in range(len(self._source.views)):
                if 4 * index + 2 * half >= channels:
                    continue
                for pixel_index, pixel in enumerate(pixels):
                    texel = first + pixel_index * channels // 2 + 2 * index + half
                    self.texels(2 * index + half, pixel, texel)

    def texels(self, pair: int, pixel: tuple[int, int], texel: int, count: int = 1) -> None:
        """Draw ``count`` texels from ``texel`` on: channels 2 * pair and 2 * pair + 1 of pixels from ``pixel`` on."""
        index, half = divmod(pair, 2)
        build, table = self._build, self._table
        row = {"constants": [Read(View(table, pair, 0), stride=(0.0, 0.0))]} if table else {}
        view = self._source.views[index]
        view = replace(view, y=view.y + half * view.half, half=0)
        read = Read(view, pixel, (float(count > 1), 0.0))
        binding = build.bind(self._node, source=[read], **row)
        declarations = binding.declarations("source")
        if tuple(declarations) not in self._texts:
            self._texts[tuple(declarations)] = codegen.fragment(
                "global_average.frag",
                includes=["fixed_point.glsl", "turns.glsl"],
                lines={"declarations": declarations, **self._lines},
                defines={"WIDTH": self._turns[0], "HEIGHT": self._turns[1], **({"CONSTANTS": ROWS} if table else {})},
            )
        uniforms: dict[str, Sequence[float]] = {**binding.texels("source")}
        if table:
            uniforms["units"] = self._units
        else:
            lanes = slice(2 * half, 2 * half + 2)
            uniforms["half_of_slice"] = [float(half)]
            uniforms["factor"] = self._factor[index, lanes].tolist()
            uniforms["offset"] = self._offset[index, lanes].tolist()
        target_view = View(self._target.texture, texel, 0)
        build.draw_tile(self._node, self._texts[tuple(declarations)], target_view, (count, 1), binding, uniforms)


ROWS = 4
"""Rows of the texture of factors and offsets: three bytes of each constant, the highest first, and the half of the
slice."""

_MIDDLE = 1 << 23
"""Three bytes of a constant of 0."""

_MOST = (1 << 23) - 1
"""Largest integer of a constant."""


def _constants(
    factor: NDArray[np.float32], offset: NDArray[np.float32]
) -> tuple[NDArray[np.uint8], tuple[float, float]]:
    """Return the texture of factors and offsets, and the units of its 24-bit constants.

    A column belongs to two channels: red and green have their factors, blue and alpha their offsets. The rounding to 24
    bits causes an error below 0.01 of a 16-bit step, because the product of a factor and the largest sum is within 16
    bits.

    Args:
        factor: of each channel, (slices, 4).
        offset: of each channel, (slices, 4).

    Returns:
        uint8 (ROWS, 2 * slices, 4), and the units of factors and offsets.
    """
    numbers = np.concatenate([factor.reshape(-1, 2), offset.reshape(-1, 2)], axis=1).astype(np.float64)
    units = [max(float(np.abs(values).max()), 1e-30) / _MOST for values in (numbers[:, :2], numbers[:, 2:])]
    integers = np.rint(numbers / np.repeat(units, 2)).astype(np.int64) + _MIDDLE
    rows = [integers >> 16, (integers >> 8) & 255, integers & 255, np.zeros_like(integers)]
    rows[-1][1::2] = 255
    return np.stack(rows).astype(np.uint8), (units[0], units[1])


OPERATOR = GlobalAveragePool()
