"""Where a sum starts on a GPU that cuts every addition toward zero, so that it ends where it should in the mean.

VideoCore IV does not round sums to nearest. Each addition there moves a sum toward zero by half of its last bit in the
mean. In a shader of a convolution that adds up, most of all in the fourth channel, which starts lower by ``LATE``
(shaders/convolution.frag) and is negative until the end. How much it is depends on the size of the sum on its way, so
it is found with the feature maps of typical pictures. The sum then starts so much farther from zero.

Shaders for other devices start with the bias alone, and none of their bytes changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import immediates
from glsl_infer.lowering.conv_columns import Columns, DepthwiseColumns
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Array

Floats = NDArray[np.float32]
Found = TypeVar("Found")

POSITIONS = 512
"""Output pixels at which sums are followed."""

MOST_ADDITIONS = 1 << 23
"""Additions of a layer that are followed; one with many weights has fewer pixels, down to ``FEWEST``."""

FEWEST = 8

STRETCHES = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
"""Multiples of the least by which a fourth component may start lower. A sum that keeps its size while it is added up,
from one power of two to the next, loses about the same for all texels.
"""

MOST_UNEVEN = 0.0008
"""Steps of 8 bits, root mean square, that cuts may take from a sum more or less than in the mean."""


class Typical:
    """Feature maps as they are for typical pictures, and what was found with them.

    Args:
        compute: returns the maps of all layers (pictures, height, width, channels), by name, in real values; called
            when the first layer asks.
    """

    def __init__(self, compute: Callable[[], Mapping[str, Array]]) -> None:
        self._compute = compute
        self._known: dict[str, object] = {}

    @cached_property
    def _maps(self) -> Mapping[str, Array]:
        return self._compute()

    def known(self, layer: str, find: Callable[[], Found]) -> Found:
        """Return what ``find`` returns, called once for each layer: programs are built twice to share textures."""
        if layer not in self._known:
            self._known[layer] = find()
        return cast(Found, self._known[layer])

    def texels(self, name: str, value: FeatureMap, padding: Sequence[int] = (0, 0, 0, 0), *, alpha: bool) -> Floats:
        """Return the texels of a layer's output in [0, 1], with its gutter: (pictures, height, width, 4 * slices).

        Args:
            name: of the layer.
            value: its range.
            padding: of the gutter (top, bottom, left, right).
            alpha: whether it is the picture: lanes beyond its channels are 1 inside, and all are 0 in its gutter.
        """
        top, bottom, left, right = padding
        stored = np.floor(self._maps[name] * (255.0 / value.scale_of) + value.zero_of + 0.5)
        pictures, height, width, channels = stored.shape
        made = np.zeros((pictures, height + top + bottom, width + left + right, 4 * len(value.views)), np.float32)
        made[..., :channels] = 0.0 if alpha else value.zero_of / 255.0
        inside = made[:, top : top + height, left : left + width]
        inside[..., :channels] = np.clip(stored, 0.0, 255.0) / 255.0
        inside[..., channels:] = float(alpha)
        return made


def most_lost(factors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the most that cuts take from a sum of some texels, (channels,), that is stored in 8 bits.

    Where few texels are added up, what they come to often lies just between two steps, and a cut of any size decides:
    these sums start higher by the whole of it.

    Args:
        factors: of each texel, (channels,).
    """
    # The last bits of each texel and its product, and of a sum below 2.
    bits: NDArray[np.float64] = (2.0 * np.abs(factors).sum(axis=0) + 2.0 * len(factors)) * 2.0**-24
    return bits


@dataclass(frozen=True)
class Starts:
    """Where the sums of a layer start.

    Attributes:
        cut: on a device that cuts them, (slices, 4).
        late: by how much the fourth component starts lower than elsewhere, (slices,), 0 where it had better not; None
            if it does not.
    """

    cut: Floats
    late: Floats | None


def starts(
    columns: Columns,
    constants: Floats,
    biases: Floats,
    texels: Floats,
    strides: Sequence[int],
    *,
    least: Floats | None = None,
    apart: bool = False,
    residual: Floats | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Starts:
    """Return where sums start that end right in the mean.

    Args:
        columns: how the kernel's columns follow one another.
        constants: the columns of all slices, (slices, columns, 4), and the residual's factor, if there is one, last.
        biases: what is added to the sums, (slices, 4).
        texels: of the input, padded: (pictures, height, width, channels); see ``Typical.texels``.
        strides: (y, x).
        least: by how much the fourth component of each slice starts lower at least, (slices,), if it does.
        apart: whether each slice may do without, where cuts take too unevenly from it.
        residual: texels of the residual (pictures, output height, output width, channels), if there is one.
        ends: what is stored of a sum saturates there.
    """
    at = _places(columns, texels, strides, constants.size)
    cut, late = np.zeros((columns.slices, 4), np.float32), None if least is None else least.copy()
    operands: dict[tuple[int, ...], Floats] = {}
    for index in range(columns.slices):
        reads = columns.read_by(index)
        if reads not in operands:
            operands[reads] = _operands(columns, reads, texels, at, strides)
        factors = operands[reads]
        if residual is not None:
            added = residual[at][:, None, 4 * index : 4 * index + 4]
            factors = np.concatenate([np.broadcast_to(factors, (*factors.shape[:2], 4)), added], axis=1)
        sums = _Sums(factors, constants[index], biases[index], ends)
        cut[index] = biases[index] - sums.losses(0.0)[0]
        if late is not None:
            fourth = sums.fourth()
            tried = [immediates.factor(float(late[index]) * stretch) for stretch in STRETCHES]
            spread, late[index] = min((float(fourth.losses(lower)[1]), lower) for lower in tried)
            if apart and 255.0 * spread**0.5 > MOST_UNEVEN:
                late[index] = 0.0
            cut[index, 3] = biases[index, 3] - np.float64(late[index]) - fourth.losses(float(late[index]))[0]
    return Starts(immediates.streamed(cut), late)


class _Sums:
    """The sums of a slice for some texels (positions, columns, 1 or 4), on their way; see ``starts``."""

    def __init__(self, factors: Floats, constants: Floats, bias: Floats, ends: tuple[float, float]) -> None:
        products = factors * constants
        self._sums = bias + np.cumsum(products, axis=1, dtype=np.float32)
        self._changed = products != 0.0
        # Bytes are cut where they become texels, and products are.
        inexact = (factors != 0.0) & (factors != 1.0)
        cuts = np.where(inexact, np.spacing(products) + np.spacing(factors) * constants, 0.0)
        self._products = cuts.sum(axis=1)
        within = (self._sums[:, -1] > ends[0]) & (self._sums[:, -1] < ends[1])
        self._counts = within + np.float32(1e-6)  # all count where none is within
        self._counts /= self._counts.sum(axis=0)

    def fourth(self) -> _Sums:
        """Return the fourth component's alone."""
        made = object.__new__(_Sums)
        made._sums, made._changed = self._sums[:, :, 3], self._changed[:, :, 3]
        made._products, made._counts = self._products[:, 3], self._counts[:, 3]
        return made

    def losses(self, lower: float) -> tuple[Floats, Floats]:
        """Return by how much sums that start so much lower come out too high in the mean, and what is left without."""
        last_bits = np.where(self._changed, np.spacing(self._sums - np.float32(lower)), 0.0)
        # Each cut takes half of the last bit in the mean.
        losses = -0.5 * (last_bits.sum(axis=1) + self._products)
        mean = (losses * self._counts).sum(axis=0)
        with np.errstate(over="ignore"):  # an exponential's sums may be huge: then nothing is made up for
            spread = (losses - mean) ** 2 + (last_bits**2).sum(axis=1) / 12.0
        return mean, (spread * self._counts).sum(axis=0)


def byte_start(
    columns: Columns,
    constants: Floats,
    bias_factor: float,
    texels: Floats,
    strides: Sequence[int],
) -> float:
    """Return where sums of a layer start whose weights are bytes in a texture (shaders/convolution_bytes.frag).

    Weights and their zero point are added up apart, in sums that are alike for all channels: one number does for them.

    Args:
        columns: how the kernel's columns follow one another.
        constants: the bytes of all slices from 0 to 1, (slices, columns, 4), three columns of biases last.
        bias_factor: what the last of these is multiplied by.
        texels: of the input, padded: (pictures, height, width, channels); see ``Typical.texels``.
        strides: (y, x).
    """
    if isinstance(columns, DepthwiseColumns):
        return 0.0  # its sums are small, and of either sign
    at = _places(columns, texels, strides, constants.size)
    losses = []
    for index in range(columns.slices):
        lanes = _operands(columns, columns.read_by(index), texels, at, strides)
        biases = np.array([65536.0, 256.0, 1.0], np.float32)[:, None] * np.float32(bias_factor)
        factors = np.concatenate([lanes, np.broadcast_to(biases, (len(lanes), 3, 1))], axis=1)
        products = factors * constants[index]
        sums = np.cumsum(products, axis=1, dtype=np.float32)
        total = np.cumsum(factors[:, :-2], axis=1, dtype=np.float32)
        cuts = np.where(products != 0.0, np.spacing(sums) + np.spacing(products), 0.0).sum(axis=1)
        of_total = np.where(factors[:, :-2] != 0.0, np.spacing(total), 0.0).sum(axis=1)
        losses.append(0.5 * float((cuts - 128.0 / 255.0 * of_total).mean()))
    return -float(np.mean(losses))


def _places(
    columns: Columns, texels: Floats, strides: Sequence[int], weights: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pictures, rows and columns of the pixels at which a layer's sums are followed: always the same."""
    height = (texels.shape[1] - (columns.kernel_height - 1) * columns.dilations[0] - 1) // strides[0] + 1
    width = (texels.shape[2] - (columns.kernel_width - 1) * columns.dilations[1] - 1) // strides[1] + 1
    count = int(np.clip(MOST_ADDITIONS // weights, FEWEST, POSITIONS))
    places = ((np.arange(count) + 0.5) * (height * width / count)).astype(np.int64)
    return np.arange(count) % len(texels), places // width, places * 7919 % width


def _operands(
    columns: Columns, reads: Sequence[int], texels: Floats, at: Sequence[NDArray[np.int64]], strides: Sequence[int]
) -> Floats:
    """Return what the columns of weights are multiplied by: (positions, columns, 1), or 4 lanes in a depthwise one."""
    lanes = []
    down, right = columns.dilations
    depthwise = isinstance(columns, DepthwiseColumns)
    for slot, row, col, products in columns.taps(range(columns.slots)):
        place = at[0], at[1] * strides[0] + row * down, at[2] * strides[1] + col * right
        texel = texels[place][:, 4 * reads[slot] : 4 * reads[slot] + 4]
        lanes += [texel if depthwise else texel[:, ["xyzw".index(product.lane)]] for product in products]
    return np.stack(lanes, axis=1)
