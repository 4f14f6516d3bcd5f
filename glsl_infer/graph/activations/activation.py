"""Description of an activation function: NumPy form, range, monotonicity, shader."""

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
"""Value of a shader's macro: one for all channels, or one for each."""


@dataclass(frozen=True)
class Activation:
    """An elementwise function, identified by its name and parameters.

    Calling it applies it to all elements of an array, in the type of the array. Parameters per channel apply to the
    last axis.

    Attributes:
        name: in graph.json. ``shaders/activation_NAME.glsl`` is its shader, unless ``template`` is set.
        function: NumPy form.
        low, high: bounds of its values, over all inputs and channels.
        parameters: in graph.json, after the name.
        extrema: inputs of the local extrema. Empty for a function that never falls.
        period: its period, with the extrema of one period in ``extrema``; 0 for functions that are not periodic.
        lowest_at: input at which an 8-bit store of the shader's result is exactly 0; else 0.
        clips: whether it is ``x`` clipped to [low, high]. A saturating store does the same if its range is within these
            bounds, so that feature maps need no instruction for it.
        scales: whether ``f(a x) = a f(x)`` for positive ``a``, so that weights can absorb the scale of the output.
        slope: largest absolute slope, if known; otherwise it is measured.
        pieces: piecewise-linear form, whose first line can be folded into the weights.
        constants: macros of its shader.
        template: file name of its shader in shaders/.
    """

    name: str
    function: Callable[[Array], Array] = field(compare=False, repr=False)
    low: float = field(default=-INFINITY, compare=False)
    high: float = field(default=INFINITY, compare=False)
    parameters: tuple[float, ...] = ()
    extrema: tuple[float, ...] = field(default=(), compare=False)
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
        """Apply the function elementwise, in the type of ``x``."""
        return blocks.entrywise(self.function, x, x.dtype)

    def over(self, x: Array) -> Array:
        """Apply the function like a call, overwriting ``x`` to save memory if it is a large map."""
        return blocks.entrywise(self.function, x, x.dtype, into=x)

    @property
    def text(self) -> str:
        """The text form in graph.json, with 9 significant digits: the precision of a 32-bit float."""
        if not self.parameters:
            return self.name
        return f"{self.name}({','.join(f'{parameter:.9g}' for parameter in self.parameters)})"

    @property
    def bounded(self) -> bool:
        """Return True for a function with finite bounds."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def channels(self) -> int | None:
        """Number of channels of its parameters; None if they are equal for all channels."""
        counts = [len(value) for value in self.constants.values() if isinstance(value, tuple)]
        return counts[0] if counts else None

    def fits(self, channels: int) -> bool:
        """Return whether it can be applied to a map with this number of channels."""
        return self.channels in (None, channels)

    def range(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the exact minimum and maximum on [low, high], elementwise.

        They are at an end of the interval or at a local extremum.
        """
        extrema = [low + np.mod(extremum - low, self.period) if self.period else extremum for extremum in self.extrema]
        values = [self(low), self(high), *(self(np.clip(extremum, low, high)) for extremum in extrema)]
        return np.minimum.reduce(values), np.maximum.reduce(values)

    def steepest(self, low: float, high: float) -> float:
        """Return the largest absolute slope of the function clipped to [low, high]."""
        if self.slope is not None:
            return self.slope
        x: NDArray[np.float64] = np.linspace(-128.0, 128.0, 1 << 16)
        with np.errstate(over="ignore"):
            y = np.clip(self(x), low, high)
        return float(np.abs(np.diff(y)).max() / (x[1] - x[0]))
