"""Shader lines that fetch texels and add their products with the weights.

Their order is optimised for VideoCore IV; other GPUs do not depend on it. Its compiler combines a multiplication of a
texel's lane by a uniform with an addition in one instruction if the sum is a chain from left to right. However, it
would fetch all texels first, and then run out of registers. Therefore each fetch except the first has ``WAIT(y)``,
which makes its coordinate depend on the sum so far (shaders/convolution.frag; ``TIED(y)`` of shaders/tied.glsl for
unbounded sums). The thread waits for each texel, so a few products of the previous texel follow the fetch to fill the
gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import codegen, immediates
from glsl_infer.lowering.bindings import Binding

Weight = Callable[[int, str], Optional[str]]
"""Function from a column and components to an expression of its weights, or None if they are 0."""

AFTER_NEXT_FETCH: Mapping[int, Mapping[int, str]] = {3: {1: "y", 2: "z"}, 4: {1: "z", 3: "z"}}
"""Products of a texel to compute after the next fetch, for 3 and 4 products: components of the sum, by index of the
product.

Of all choices of up to three components, these need the fewest instructions for X22
(docs/engineering/videocore-shaders.md)."""


MOST_FETCH_OFFSET = 64.0
"""Largest result of ``fetch_offsets``. At this size, an addition loses at most 1/500 of an 8-bit step."""

MARGIN = 1.0 / 16.0
"""Distance below 0 of a sum's fourth component after ``fetch_offsets``. It exceeds rounding errors by far, and a larger
one would cost precision."""


@dataclass(frozen=True)
class Product:
    """An addition to the sum: a column of weights times a lane of the texel.

    Attributes:
        column: index of the column; None for a factor of 1.
        lane: ``x``, ``y``, ``z`` or ``w``; empty if each component of the sum uses its own lane.
    """

    column: int | None
    lane: str


@dataclass(frozen=True)
class Gate:
    """Factors of a texel's lanes, in two texels of a vector (shaders/gated.glsl).

    Attributes:
        sampler: name of the vector's sampler.
        x: expressions of the x coordinates of both texels.
        y: expression of their y coordinate.
        zero: expression of the texel whose values are 0.
    """

    sampler: str
    x: tuple[str, str]
    y: str
    zero: str

    def line(self, texel: str, wait: str) -> str:
        """Return the line that multiplies a texel in a variable; ``wait`` as in ``Tap.lines``."""
        fetches = (f"texture2D({self.sampler}, vec2({x}, {wait}({self.y})))" for x in self.x)
        return f"{texel} = gated({', '.join((texel, *fetches, self.zero))});"


@dataclass(frozen=True)
class Tap:
    """A fetch: sampler, expressions of its coordinates, and the products of the texel.

    Attributes:
        sampler: name of the sampler.
        x: expression of the x coordinate.
        y: expression of the y coordinate.
        products: products of the texel.
        left: expression to assign to the shader's variable ``left`` before this fetch. It waits for the sum as y does.
            Empty if ``left`` keeps its value or is unused.
        gate: factors of the texel's lanes, if any. Their fetches always wait, because they are too many.
    """

    sampler: str
    x: str
    y: str
    products: Sequence[Product]
    left: str = ""
    gate: Gate | None = None

    def lines(self, texel: str, wait: str = "") -> list[str]:
        """Return the lines that fetch the texel into a variable; ``wait`` is a macro for coordinates, or empty."""
        y, left = (f"{wait}({axis})" if wait else axis for axis in (self.y, self.left))
        fetch = f"{texel} = texture2D({self.sampler}, vec2({self.x}, {y}));"
        gated = [self.gate.line(texel, wait or "WAIT")] if self.gate else []
        return [*[f"left = {left};"] * bool(self.left), fetch, *gated]


def shifted(coordinate: str, distance: float) -> str:
    """Return the expression of a coordinate plus a distance."""
    return f"{coordinate} + {codegen.number(distance)}" if distance else coordinate


class Coordinates:
    """Texture coordinates of a kernel's taps on the reads of one role.

    Neighbouring taps are a texel apart, so each coordinate is the previous one plus a texel. Tiles in the same row or
    column of their texture share an interpolated coordinate.

    Args:
        bindings: bindings of all draws of the layer.
        role: role of the reads.
        kernel: (height, width) in texels.
        common: whether to share coordinates. Layers with tiles in other patterns then need their own programs.
    """

    def __init__(
        self, bindings: Sequence[Binding], role: str, kernel: tuple[int, int] = (1, 1), *, common: bool = True
    ) -> None:
        self._role, self._kernel = role, kernel
        self._first_same: dict[str, tuple[int, ...]] = {}
        for axis in "xy":
            patterns = {binding.first_with_same_coordinate(role, axis) for binding in bindings if common}
            # For draws with different patterns, a shared program saves more than shared coordinates.
            self._first_same[axis] = patterns.pop() if len(patterns) == 1 else tuple(range(bindings[0].count(role)))

    @property
    def steps(self) -> int:
        """Number of different coordinates of all taps, x and y counted together."""
        return sum(len(set(self._first_same[axis])) * size for axis, size in zip("yx", self._kernel))

    def lines(self, binding: Binding) -> list[str]:
        """Return the declarations of a draw's coordinates."""
        lines = []
        for axis, size in zip("yx", self._kernel):
            for index in dict.fromkeys(self._first_same[axis]):
                for step in range(1, size):
                    previous = self._name(binding, axis, index, step - 1)
                    texel = f"{binding.texel(self._role, index)}.{axis}"
                    lines.append(f"float {self._name(binding, axis, index, step)} = {previous} + {texel};")
        return lines

    def tap(self, binding: Binding, index: int, row: int, column: int, products: Sequence[Product]) -> Tap:
        """Return the tap in a row and a column of the kernel on read ``index`` of a draw."""
        x = self._name(binding, "x", self._first_same["x"][index], column)
        y = self._name(binding, "y", self._first_same["y"][index], row)
        return Tap(binding.sampler(self._role, index), x, y, products)

    def _name(self, binding: Binding, axis: str, index: int, step: int) -> str:
        return f"{axis}{index}_{step}" if step else binding.axis(self._role, axis, index)


def tap_lines(taps: Sequence[Tap], weight: Weight, components: str = "xyzw", *, wait: str = "WAIT") -> list[str]:
    """Return the lines of some taps, in order.

    Each product has its own line. Compilers reorder sums of several constants, and baked weights would differ from
    uniform ones in the last bit. Texels alternate between the variables ``s`` and ``t``, which the shader declares.

    Args:
        taps: fetches; those without products are omitted.
        weight: function for the weights of a column.
        components: components of ``sum``. Only sums with four components defer products (``AFTER_NEXT_FETCH``).
        wait: macro for coordinates that wait for the sum.
    """
    lines: list[str] = []
    pending: list[str] = []
    fetched = 0
    for tap in taps:
        texel = "ts"[fetched % 2]
        deferred = AFTER_NEXT_FETCH.get(len(tap.products), {}) if len(components) == 4 else {}
        immediate_products: list[str] = []
        deferred_products: list[str] = []
        for index, product in enumerate(tap.products):
            deferred_lanes = deferred.get(index, "")
            immediate_lanes = "".join(component for component in components if component not in deferred_lanes)
            immediate_products += _add_product(product, texel, immediate_lanes, components, weight)
            deferred_products += (
                _add_product(product, texel, deferred_lanes, components, weight) if deferred_lanes else []
            )
        if immediate_products or deferred_products:
            lines += [*tap.lines(texel, wait if fetched else ""), *pending, *immediate_products]
            pending = deferred_products
            fetched += 1
    return lines + pending


def _add_product(product: Product, texel: str, lanes: str, components: str, weight: Weight) -> list[str]:
    """Return the line that adds a product to some components of the sum; empty if its weights are 0."""
    swizzle = "" if lanes == components else f".{lanes}"
    operand = f"{texel}.{product.lane}" if product.lane else texel + swizzle
    if product.column is None:
        return [f"sum{swizzle} += {operand};"]
    factor = weight(product.column, lanes)
    return [] if factor is None else [f"sum{swizzle} += {factor} * {operand};"]


def constant_weights(column: Sequence[float], lanes: str) -> str | None:
    """Return some components of a column of constants as an expression; None if all are 0."""
    values = [column["xyzw".index(component)] for component in lanes]
    return codegen.vec(values) if any(values) else None


def fetch_offsets(constants: NDArray[np.float32], *, plain_residual: bool) -> NDArray[np.float32] | None:
    """Return how far each slice's fourth component must start below its bias to be negative until the sum is complete.

    Args:
        constants: columns of all slices of a layer, (slices, columns, 4): factors of texels, with the bias last.
        plain_residual: whether a texel is also added with factor 1.

    Returns:
        Offsets (slices,); None if one is so large that sums would lose visible precision.
    """
    fourth_channel = constants[:, :, 3].astype(np.float64)
    highest = fourth_channel[:, -1] + np.maximum(fourth_channel[:, :-1], 0.0).sum(axis=1)  # texels are in [0, 1]
    offsets = immediates.streamed((np.maximum(highest + float(plain_residual), 0.0) + MARGIN).astype(np.float32))
    return offsets if float(offsets.max()) <= MOST_FETCH_OFFSET else None
