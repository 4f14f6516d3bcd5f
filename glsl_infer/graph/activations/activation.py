"""What an activation function is: its NumPy form, its range, and what a compiler may do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

import numpy as np

from glsl_infer.support import blocks
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array
    from glsl_infer.graph.piecewise_linear import PiecewiseLinear

INFINITY = float("inf")

Constant = Union[float, tuple[float, ...]]
"""A number of a shader: the same for all channels, or one for each."""


@dataclass(frozen=True)
class Activation:
    """One function of a number; what it is called and its parameters say all about it.

    Calling it applies it to every entry of an array, in the type of that array. Where parameters are one for each
    channel, channels are the last axis.

    Attributes:
        name: in graph.json; ``shaders/activation_NAME.glsl`` is its shader, unless ``template`` says otherwise.
        function: in NumPy.
        low, high: its range over all numbers and channels.
        parameters: in graph.json, behind the name.
        turns: inputs at which it may stop rising or falling; see ``range``. None if it never falls.
        period: the distance after which it repeats, with the turns of one period; 0 if it does not.
        lowest_at: an input at which the shader gives 0 exactly in 8 bits, or else 0.
        clips: whether it only clips to its range, and is ``x`` within. A store that saturates at the ends of a range
            within that does the same, so that a feature map needs no instruction for it.
        scales: whether ``f(a x) = a f(x)`` for every positive a: weights can do what a range needs.
        slope: its largest slope, where that is known; else it is measured.
        pieces: the same function as a line with clamps: the weights make the line.
        constants: macros of its shader.
        template: its shader in shaders/.
    """

    name: str
    function: Callable[[Array], Array] = field(compare=False, repr=False)
    low: float = field(default=-INFINITY, compare=False)
    high: float = field(default=INFINITY, compare=False)
    parameters: tuple[float, ...] = ()
    turns: tuple[float, ...] = field(default=(), compare=False)
    period: float = field(default=0.0, compare=False)
    lowest_at: float = field(default=0.0, compare=False)
    clips: bool = field(default=False, compare=False)
    scales: bool = field(default=False, compare=False)
    slope: float | None = field(default=None, compare=False)
    pieces: PiecewiseLinear | None = field(default=None, compare=False, repr=False)
    constants: Mapping[str, Constant] = field(default_factory=dict, compare=False, repr=False)
    template: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.template:
            object.__setattr__(self, "template", f"activation_{self.name}.glsl")

    def __call__(self, x: Array) -> Array:
        """Return the function of every entry, in the type of ``x``."""
        return blocks.entrywise(self.function, x, x.dtype)

    def over(self, x: Array) -> Array:
        """Return the same of an array that nobody needs any more: a large map gets it in its place."""
        return blocks.entrywise(self.function, x, x.dtype, into=x)

    @property
    def text(self) -> str:
        """What stands for it in graph.json: 9 significant digits are all of a 32-bit float."""
        if not self.parameters:
            return self.name
        return f"{self.name}({','.join(f'{number:.9g}' for number in self.parameters)})"

    @property
    def rises(self) -> bool:
        """Whether it never falls."""
        return not self.turns

    @property
    def bounded(self) -> bool:
        """Whether its range has two ends."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def channels(self) -> int | None:
        """For how many channels it has parameters; None if it is the same for all."""
        counts = [len(value) for value in self.constants.values() if isinstance(value, tuple)]
        return counts[0] if counts else None

    def fits(self, channels: int) -> bool:
        """Return whether it can be applied to so many channels."""
        return self.channels in (None, channels)

    def range(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the least and the greatest value on [low, high], exactly, entry by entry.

        They are taken at one of the ends, or where the function turns.
        """
        turns = [low + np.mod(turn - low, self.period) if self.period else turn for turn in self.turns]
        values = [self(low), self(high), *(self(np.clip(turn, low, high)) for turn in turns)]
        return np.minimum.reduce(values), np.maximum.reduce(values)

    def steepest(self, low: float, high: float) -> float:
        """Return the largest slope, up or down, where its values lie in [low, high]."""
        if self.slope is not None:
            return self.slope
        x: NDArray[np.float64] = np.linspace(-128.0, 128.0, 1 << 16)
        with np.errstate(over="ignore"):
            y = np.clip(self(x), low, high)
        return float(np.abs(np.diff(y)).max() / (x[1] - x[0]))
