"""The lines of a shader that fetch texels and add up their products with the weights.

What they look like is for VideoCore IV; other GPUs and their compilers do not care. Its compiler multiplies a texel's
lane by a word of the uniform stream and adds an earlier product in one instruction, if the sum is a chain from left to
right. It would fetch all texels first, though, and then copy them around for want of registers. So every fetch but the
first says ``WAIT(y)``, by which the shader makes a coordinate depend on the sum so far (shaders/convolution.frag;
``TIED(y)`` of shaders/tied.glsl where that sum has no bound). Its
thread sleeps while a texel is on its way; what it has left to do then fills the gap, so that a few products of a texel
stand behind the next fetch.
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
"""The expression of some components of a column of weights, or None where they are zero and need no product."""

BEHIND: Mapping[int, Mapping[int, str]] = {3: {1: "y", 2: "z"}, 4: {1: "z", 3: "z"}}
"""Which products of a texel stand behind the next fetch: by how many there are, components of the sum by place.

Of all choices of up to three, those with which X22 took fewest instructions (docs/engineering/videocore-shaders.md).
"""


MOST_LATE = 64.0
"""A sum that starts so much lower loses no more than a 500th of a step of 8 bits in any addition."""

BELOW = 1.0 / 16.0
"""How far below 0 such a sum stays. What additions round is far less, and each bit of it is lost to the sum."""


@dataclass(frozen=True)
class Product:
    """One addition to the sum: a column of weights times a lane of the texel.

    Attributes:
        column: its number; None for a factor of 1.
        lane: ``x``, ``y``, ``z`` or ``w``; empty where each component of the sum takes its own lane.
    """

    column: int | None
    lane: str


@dataclass(frozen=True)
class Tap:
    """One fetch: the sampler, the expressions of its coordinates, and what is added up of the texel.

    Attributes:
        begins: the coordinate that the variable ``left`` takes before this fetch, waiting for the sum as y does;
            empty if it keeps what it has, or nothing reads it.
    """

    sampler: str
    x: str
    y: str
    products: Sequence[Product]
    begins: str = ""

    def lines(self, texel: str, wait: str = "") -> list[str]:
        """Return the lines that fetch it into a variable; ``wait`` is the macro of coordinates that wait, if any."""
        y, begins = (f"{wait}({axis})" if wait else axis for axis in (self.y, self.begins))
        fetch = f"{texel} = texture2D({self.sampler}, vec2({self.x}, {y}));"
        return [f"left = {begins};", fetch] if self.begins else [fetch]


def moved(coordinate: str, distance: float) -> str:
    """Return the expression of a coordinate that lies so far from another."""
    return f"{coordinate} + {codegen.number(distance)}" if distance else coordinate


class Coordinates:
    """The texture coordinates of a kernel's taps on the reads of one role.

    Neighbouring taps are a texel apart, so that each coordinate is made of the one before by an addition. Tiles that
    lie in one row or in one column of their texture have a coordinate in common, which is interpolated once.

    Args:
        bindings: what all draws of the layer read.
        role: of the reads.
        kernel: (height, width) in texels.
        common: whether to interpolate what is in common once. Layers whose tiles lie in other patterns need programs of
            their own then.
    """

    def __init__(
        self, bindings: Sequence[Binding], role: str, kernel: tuple[int, int] = (1, 1), *, common: bool = True
    ) -> None:
        self._role, self._kernel = role, kernel
        self._alike: dict[str, tuple[int, ...]] = {}
        for axis in "xy":
            patterns = {binding.alike(role, axis) for binding in bindings if common}
            # Draws that read in different patterns had better share a program than coordinates.
            self._alike[axis] = patterns.pop() if len(patterns) == 1 else tuple(range(bindings[0].count(role)))

    @property
    def steps(self) -> int:
        """How many values the coordinates of all taps take, those of x and those of y together."""
        return sum(len(set(self._alike[axis])) * size for axis, size in zip("yx", self._kernel))

    def lines(self, binding: Binding) -> list[str]:
        """Return the lines that declare the coordinates of one draw."""
        lines = []
        for axis, size in zip("yx", self._kernel):
            for index in dict.fromkeys(self._alike[axis]):
                for step in range(1, size):
                    before = self._name(binding, axis, index, step - 1)
                    texel = f"{binding.texel(self._role, index)}.{axis}"
                    lines.append(f"float {self._name(binding, axis, index, step)} = {before} + {texel};")
        return lines

    def tap(self, binding: Binding, index: int, row: int, column: int, products: Sequence[Product]) -> Tap:
        """Return the tap in a row and a column of the kernel on read ``index`` of a draw."""
        x = self._name(binding, "x", self._alike["x"][index], column)
        y = self._name(binding, "y", self._alike["y"][index], row)
        return Tap(binding.sampler(self._role, index), x, y, products)

    def _name(self, binding: Binding, axis: str, index: int, step: int) -> str:
        return f"{axis}{index}_{step}" if step else binding.axis(self._role, axis, index)


def tap_lines(taps: Sequence[Tap], weight: Weight, components: str = "xyzw", *, wait: str = "WAIT") -> list[str]:
    """Return the lines of some taps, in order.

    One product a line: where several stand in one sum, compilers regroup constants, and baked weights would differ from
    uniform ones in the last bit. Texels take turns in the variables ``s`` and ``t``, which the shader declares.

    Args:
        taps: what is fetched; one without a product is left out.
        weight: what products multiply by.
        components: those of ``sum``. Only in a sum of four some products are moved, see ``BEHIND``.
        wait: the macro for coordinates that wait for the sum.
    """
    lines: list[str] = []
    waiting: list[str] = []
    fetched = 0
    for tap in taps:
        texel = "ts"[fetched % 2]
        behind = BEHIND.get(len(tap.products), {}) if len(components) == 4 else {}
        now: list[str] = []
        later: list[str] = []
        for place, product in enumerate(tap.products):
            moved = behind.get(place, "")
            stay = "".join(component for component in components if component not in moved)
            now += _added(product, texel, stay, components, weight)
            later += _added(product, texel, moved, components, weight) if moved else []
        if now or later:
            lines += [*tap.lines(texel, wait if fetched else ""), *waiting, *now]
            waiting = later
            fetched += 1
    return lines + waiting


def _added(product: Product, texel: str, lanes: str, components: str, weight: Weight) -> list[str]:
    """Return the line that adds a product to some components of the sum; none where its weights are zero."""
    chosen = "" if lanes == components else f".{lanes}"
    operand = f"{texel}.{product.lane}" if product.lane else texel + chosen
    if product.column is None:
        return [f"sum{chosen} += {operand};"]
    factor = weight(product.column, lanes)
    return [] if factor is None else [f"sum{chosen} += {factor} * {operand};"]


def picked(column: Sequence[float], lanes: str) -> str | None:
    """Return components of a column of constants as an expression; None where all are zero."""
    values = [column["xyzw".index(component)] for component in lanes]
    return codegen.vec(values) if any(values) else None


def late_by(constants: NDArray[np.float32], *, plain_residual: bool) -> NDArray[np.float32] | None:
    """Return how far each slice's fourth component has to start below its bias to be negative at every product.

    Args:
        constants: the columns of all slices of a layer, (slices, columns, 4): factors of texels, the bias last.
        plain_residual: a texel is added as it is, besides.

    Returns:
        The numbers (slices,); None where one is so large that sums would lose digits that are seen.
    """
    fourth = constants[:, :, 3].astype(np.float64)
    highest = fourth[:, -1] + np.maximum(fourth[:, :-1], 0.0).sum(axis=1)  # texels lie in [0, 1]
    late = immediates.streamed((np.maximum(highest + float(plain_residual), 0.0) + BELOW).astype(np.float32))
    return late if float(late.max()) <= MOST_LATE else None
