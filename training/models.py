"""Network architectures for training, as docs/engineering/design.md describes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import keras

from training.layers import ChannelShuffle, ClippedLinear, LearnableSigmoid, PiecewiseLinearSigmoid


class Stage(NamedTuple):
    """A stage of X22: ``units`` residual units, then a strided convolution to ``out`` channels."""

    units: int
    out: int
    shuffled: bool


ACTIVATIONS: dict[str, Callable[..., keras.layers.Layer]] = {
    "piecewise_linear_sigmoid": PiecewiseLinearSigmoid,
    "learnable_sigmoid": LearnableSigmoid,
    "hard_sigmoid": partial(keras.layers.Activation, "hard_sigmoid"),
    "clipped_relu": partial(keras.layers.ReLU, 1.0),
    "relu6_scaled": partial(ClippedLinear, 1.0 / 6.0),
}
"""Activations of X22, which are monotonic with values in [0, 1]. Each entry creates a layer from its ``name``."""


class Start(NamedTuple):
    """Initial values of batch normalisation: ``scale`` and ``offset``, and the scale if a residual is added."""

    scale: float = 1.0
    offset: float = 0.0
    residual: float = 1.0


STARTS = {"clipped_relu": Start(0.6, 0.2, 0.0)}
"""Initial values for activations that learn badly from the usual ones.

Of values with mean 0 and deviation 1, a clipped ReLU clips two thirds. Because it passes a residual unchanged, a unit
can begin as the identity: P. Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 5.1."""

STEM_CHANNELS = 32
STAGES = (Stage(2, 32, False), Stage(3, 64, True), Stage(3, 128, True), Stage(4, 192, True), Stage(5, 192, True))

BYTE, POOLED, LOGIT = 1.0 / 255.0, 1.0 / 2**14, 1.0 / 2**8
"""Distance of stored values: of a feature map in [0, 1], of a vector in [0, 1], and of logits."""


def x22(
    input_size: int = 385,
    classes: int = 120,
    *,
    width: float = 1.0,
    stages: int = 5,
    conv: Any = keras.layers.Conv2D,
    stored: Callable[[Any, float], Any] = lambda tensor, step: tensor,
    momentum: float = 0.99,
    activation: str = "piecewise_linear_sigmoid",
) -> keras.Model:
    """Build X22: group convolutions, channel shuffle and by default a piecewise-linear sigmoid.

    Args:
        input_size: side of the square input in pixels, for which all strided convolutions must fit (385 or 257 with
            five stages, 129 or 193 with four).
        classes: length of the logits.
        width: factor of all channel counts; counts above 32 must remain multiples of 32, others of 8 (0.25 works for up
            to three stages, 0.5 and integers always).
        stages: number of stages to build, 1 to 5.
        conv: convolution layer; ``training.layers.BlockDiagonalConv2D`` trains faster.
        activation: one of ``ACTIVATIONS``, for all layers except the last:

            ``piecewise_linear_sigmoid``: the article's, see ``PiecewiseLinearSigmoid``;
            ``learnable_sigmoid``: the same with learnt slopes and breakpoints, 8 weights for each layer;
            ``hard_sigmoid``: clip(x / 6 + 1/2, 0, 1);
            ``clipped_relu``: clip(x, 0, 1);
            ``relu6_scaled``: clip(x / 6, 0, 1), a sixth of ReLU6.

            The last three cost no shader instructions. After batch normalisation they differ only in their initial
            values, and in the share of a residual that passes: a sixth, all, and a sixth. ``clipped_relu``, with units
            that begin as the identity (``STARTS``), learns most in the fewest epochs (activations.md).
        stored: called with each tensor that the engine stores and the distance of stored values; returns the tensor to
            use.
        momentum: of the running statistics of batch norm.

    Returns:
        A functional model from ``(batch, input_size, input_size, 3)`` float32 in [0, 1] to logits ``(batch, classes)``.
        With the defaults it has 225,112 parameters, 216,152 of them trainable.

    Raises:
        ValueError: a size, width or number of stages does not fit, or the activation is unknown.
    """
    if not 1 <= stages <= len(STAGES):
        raise ValueError(f"x22: stages={stages}; 1 to {len(STAGES)} are possible")
    if classes < 2:
        raise ValueError(f"x22: classes={classes}; a classifier needs at least 2")
    if activation not in ACTIVATIONS:
        raise ValueError(f"x22: activation='{activation}'; there are {', '.join(ACTIVATIONS)}")
    _check_width(width, stages)
    _check_size(input_size, stages)

    start = STARTS.get(activation, Start())

    def convolution(
        x: Any, name: str, filters: int, kernel: int, groups: int, *, residual: bool = False, **options: Any
    ) -> Any:
        x = conv(filters, kernel, groups=groups, use_bias=False, name=name, **options)(x)
        return keras.layers.BatchNormalization(
            momentum=momentum,
            gamma_initializer=keras.initializers.Constant(start.residual if residual else start.scale),
            beta_initializer=keras.initializers.Constant(0.0 if residual else start.offset),
            name=f"{name}-bn",
        )(x)

    def activated(x: Any, name: str) -> Any:
        return stored(ACTIVATIONS[activation](name=f"{name}-act")(x), BYTE)

    inputs = keras.Input((input_size, input_size, 3), name="image")
    depth = int(STEM_CHANNELS * width)
    x = activated(convolution(inputs, "b0-conv", depth, 5, 1, strides=2), "b0-conv")
    for block, stage in enumerate(STAGES[:stages], start=1):
        for unit in range(1, stage.units + 1):
            name = f"b{block}-stage{unit}"
            y = ChannelShuffle(step=8, name=f"{name}-shuffle")(x) if stage.shuffled else x
            y = activated(convolution(y, f"{name}-pw", depth, 1, max(depth // 32, 1)), f"{name}-pw")
            y = convolution(y, f"{name}-dw", depth, 3, depth // 4, padding="same", residual=True)
            x = activated(keras.layers.Add(name=f"{name}-add")([y, x]), f"{name}-dw")
        out = int(stage.out * width)
        name = f"b{block}-scale"
        x = activated(convolution(x, name, out, 3, max(depth // 8, 1), strides=2), name)
        depth = out
    name = f"b{stages + 1}-conv"
    x = activated(convolution(x, name, depth, 3, max(depth // 8, 1)), name)
    x = stored(keras.layers.GlobalAveragePooling2D(name="pool")(x), POOLED)
    outputs = stored(keras.layers.Dense(classes, name="Dense")(x), LOGIT)
    return keras.Model(inputs, outputs, name="x22")


def _check_width(width: float, stages: int) -> None:
    """Refuse a width with incomplete groups or slices."""

    def fits(factor: float) -> bool:
        counts = [count * factor for count in (STEM_CHANNELS, *(stage.out for stage in STAGES[:stages]))]
        return all(count > 0 and count % (32 if count > 32 else 8) == 0 for count in counts)

    if not fits(width):
        working = ", ".join(f"{factor:g}" for factor in (0.25, 0.5, 1, 2, 3) if fits(factor))
        raise ValueError(
            f"x22: width={width:g} with {stages} stages; channel counts above 32 must stay multiples of 32, "
            f"others of 8: {working} ... work"
        )


def _check_size(input_size: int, stages: int) -> None:
    """Refuse a size for which a strided convolution would drop a row, or whose final map is below 3 pixels."""
    advice = "385 and 257 work with 5 stages, 193 and 129 with 4"
    size = input_size
    for index, kernel in enumerate([5] + [3] * stages):
        if size < kernel or (size - kernel) % 2:
            raise ValueError(
                f"x22: input_size={input_size} leaves {size} pixels before strided convolution {index}, which needs "
                f"an odd number of at least {kernel}; {advice}"
            )
        size = (size - kernel) // 2 + 1
    if size < 3:
        raise ValueError(
            f"x22: input_size={input_size} with {stages} stages ends in {size} pixels; 3 are needed; {advice}"
        )
