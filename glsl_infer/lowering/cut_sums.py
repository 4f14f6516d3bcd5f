"""Where a sum starts on a GPU that cuts every addition toward zero, so that it ends where it should in the mean.

VideoCore IV does not round sums to nearest. Each addition there moves a sum toward zero by half of its last bit in the
mean. In a shader of a convolution that adds up, most of all in the fourth channel, which starts lower by ``LATE``
(shaders/convolution.frag) and is negative until the end. How much it is depends on the size of the sum on its way, so
it is found with the feature maps of typical pictures. The sum then starts so much farther from zero.

Shaders for other devices start with the bias alone, and none of their bytes changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import followed_sums, immediates
from glsl_infer.lowering.conv_columns import Columns, DepthwiseColumns
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Array

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Found = TypeVar("Found")

PICTURES = 8
"""Pictures whose maps sums are followed on, turn by turn; of fewer some are looked at more often."""

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
        compute: returns the maps that layers read (pictures, height, width, channels), by name, in real values; called
            when the first layer asks.
        given: whether a person gave the pictures; else they only look like some.
    """

    def __init__(self, compute: Callable[[], Mapping[str, Array]], *, given: bool = False) -> None:
        self._compute, self.given = compute, given
        self._known: dict[str, object] = {}

    @cached_property
    def _maps(self) -> Mapping[str, Array]:
        return self._compute()

    def known(self, layer: str, find: Callable[[], Found]) -> Found:
        """Return what ``find`` returns, called once for each layer: programs are built twice to share textures."""
        if layer not in self._known:
            self._known[layer] = find()
        return cast(Found, self._known[layer])

    def forget(self, layers: Collection[str]) -> None:
        """Forget what was found for some layers, whose weights are to be elsewhere."""
        for layer in layers:
            self._known.pop(layer, None)

    def texels(self, name: str, value: FeatureMap, padding: Sequence[int] = (0, 0, 0, 0), *, alpha: bool) -> Texels:
        """Return the texels of a layer's output, with its gutter.

        Args:
            name: of the layer.
            value: its range.
            padding: of the gutter (top, bottom, left, right).
            alpha: whether it is the picture: lanes beyond its channels are 1 inside, and all are 0 in its gutter.
        """
        return Texels(self._maps[name], value, tuple(padding), alpha=alpha)


class Texels:
    """Texels of a feature map of some pictures, in [0, 1]; see ``Typical.texels``. They are made where one looks."""

    def __init__(self, maps: Array, value: FeatureMap, padding: tuple[int, ...], *, alpha: bool) -> None:
        self._maps, self._value, self._padding, self._alpha = maps, value, padding, alpha
        top, bottom, left, right = padding
        self.size = (maps.shape[1] + top + bottom, maps.shape[2] + left + right)
        """Height and width with the gutter."""

    def at(self, pictures: Places, rows: Places, columns: Places) -> Floats:
        """Return the texels at some places of the ``PICTURES`` maps with their gutters, (..., 4 * slices)."""
        count, height, width, channels = self._maps.shape
        rows, columns = rows - self._padding[0], columns - self._padding[2]
        outside = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width)
        values = self._maps[pictures * count // PICTURES, np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]
        steps = 256.0 if self._value.bits == 16 else 1.0
        stored = np.floor(steps * (values * (255.0 / self._value.scale_of) + self._value.zero_of) + 0.5) / steps
        made = np.full((*values.shape[:-1], 4 * len(self._value.views)), float(self._alpha), np.float32)
        made[..., :channels] = np.clip(stored, 0.0, 255.0) / 255.0
        made[outside] = 0.0
        if not self._alpha:
            made[outside, :channels] = self._value.zero_of / 255.0
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
    texels: Texels,
    strides: Sequence[int],
    *,
    least: Floats | None = None,
    apart: bool = False,
    residual: Texels | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Starts:
    """Return where sums start that end right in the mean.

    Args:
        columns: how the kernel's columns follow one another.
        constants: the columns of all slices, (slices, columns, 4), and the residual's factor, if there is one, last.
        biases: what is added to the sums, (slices, 4).
        texels: of the input, padded.
        strides: (y, x).
        least: by how much the fourth component of each slice starts lower at least, (slices,), if it does.
        apart: whether each slice may do without, where cuts take too unevenly from it.
        residual: texels of the residual, if there is one.
        ends: what is stored of a sum saturates there.
    """
    at = _places(columns, texels, strides, constants.size)
    windows = _windows(columns, texels, at, strides)
    added = None if residual is None else residual.at(*at)
    cut, late = np.zeros((columns.slices, 4), np.float32), None if least is None else least.copy()
    known: dict[tuple[int, ...], Floats] = {}
    for group in followed_sums.groups(columns, len(at[0])):
        reads = columns.read_by(group[0])
        known = known if reads in known else {reads: windows.factors(reads)}
        lanes = None if added is None else added[:, 4 * group[0] : 4 * group[-1] + 4].reshape(len(added), len(group), 4)
        sums = followed_sums.follow(
            known[reads], constants[group], biases[group], fourth=late is not None, residual=lanes
        )
        within = (sums.sums > ends[0]) & (sums.sums < ends[1])
        counts = within + np.float32(1e-6)  # all count where none is within
        counts /= counts.sum(axis=0)
        cut[group] = biases[group] - (_losses(sums.of_sums, sums.of_products) * counts).sum(axis=0)
        for place, index in enumerate(group):
            if late is None or sums.fourth is None or sums.changed is None:
                continue
            of_products = np.ascontiguousarray(sums.of_products[:, place, 3])
            fourth = _Fourth(sums.fourth[place], sums.changed[place], of_products, counts[:, place, 3].copy())
            tried = [immediates.factor(float(late[index]) * stretch) for stretch in STRETCHES]
            spread, late[index] = min((float(fourth.losses(lower)[1]), lower) for lower in tried)
            if apart and 255.0 * spread**0.5 > MOST_UNEVEN:
                late[index] = 0.0
            cut[index, 3] = biases[index, 3] - np.float64(late[index]) - fourth.losses(float(late[index]))[0]
    return Starts(immediates.streamed(cut), late)


@dataclass
class _Fourth:
    """A slice's fourth component on its way: (positions, columns), where it changed, and how much positions count."""

    sums: Floats
    changed: NDArray[np.bool_]
    of_products: Floats
    counts: Floats

    def losses(self, lower: float) -> tuple[Floats, Floats]:
        """Return by how much sums that start so much lower come out too high in the mean, and what is left without."""
        bits = followed_sums.last_bits(self.sums - np.float32(lower))
        bits *= self.changed
        losses = _losses(bits.sum(axis=1), self.of_products)
        mean = (losses * self.counts).sum(axis=0)
        with np.errstate(over="ignore"):  # an exponential's sums may be huge: then nothing is made up for
            spread = (losses - mean) ** 2 + (bits**2).sum(axis=1) / 12.0
        return mean, (spread * self.counts).sum(axis=0)


def _losses(of_sums: Floats, of_products: Floats) -> Floats:
    """Return what sums lose: each cut takes half of the last bit in the mean."""
    losses: Floats = -0.5 * (of_sums + of_products)
    return losses


def byte_start(
    columns: Columns,
    constants: Floats,
    bias_factor: float,
    texels: Texels,
    strides: Sequence[int],
) -> float:
    """Return where sums of a layer start whose weights are bytes in a texture (shaders/convolution_bytes.frag).

    Weights and their zero point are added up apart, in sums that are alike for all channels: one number does for them.

    Args:
        columns: how the kernel's columns follow one another.
        constants: the bytes of all slices from 0 to 1, (slices, columns, 4), three columns of biases last.
        bias_factor: what the last of these is multiplied by.
        texels: of the input, padded.
        strides: (y, x).
    """
    if isinstance(columns, DepthwiseColumns):
        return 0.0  # its sums are small, and of either sign
    at = _places(columns, texels, strides, constants.size)
    windows = _windows(columns, texels, at, strides)
    biases = np.array([65536.0, 256.0, 1.0], np.float32)[:, None] * np.float32(bias_factor)
    losses: list[float] = []
    known: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
    for group in followed_sums.groups(columns, len(at[0])):
        reads = columns.read_by(group[0])
        if reads not in known:
            lanes = windows.factors(reads)[:, :, 0]
            factors = np.concatenate([lanes, np.broadcast_to(biases, (3, lanes.shape[1]))])
            met = factors[:-2].T
            total = np.cumsum(met, axis=1, dtype=np.float32)
            of_total = np.where(met != 0.0, followed_sums.last_bits(total), np.float32(0.0)).sum(axis=1, keepdims=True)
            known = {reads: (factors, of_total)}
        factors, of_total = known[reads]
        cuts = followed_sums.follow_bytes(factors, constants[group])
        rest = np.ascontiguousarray((cuts - 128.0 / 255.0 * of_total[:, :, None]).transpose(1, 0, 2))
        losses += [0.5 * float(mean) for mean in rest.reshape(len(group), -1).mean(axis=1)]
    return -float(np.mean(losses))


def _places(columns: Columns, texels: Texels, strides: Sequence[int], weights: int) -> tuple[Places, Places, Places]:
    """Return pictures, rows and columns of the pixels at which a layer's sums are followed: always the same."""
    return _spread(columns, texels, strides, int(np.clip(MOST_ADDITIONS // weights, FEWEST, POSITIONS)))


def met(columns: Columns, texels: Texels, strides: Sequence[int], count: int) -> Callable[[Sequence[int]], Floats]:
    """Return what tells what columns of weights that read some slices meet at about ``count`` pixels.

    It returns (columns, positions, 1), or (columns, positions, 4) in a depthwise layer.
    """
    return _windows(columns, texels, _spread(columns, texels, strides, count), strides).factors


def _spread(columns: Columns, texels: Texels, strides: Sequence[int], count: int) -> tuple[Places, Places, Places]:
    height = (texels.size[0] - (columns.kernel_height - 1) * columns.dilations[0] - 1) // strides[0] + 1
    width = (texels.size[1] - (columns.kernel_width - 1) * columns.dilations[1] - 1) // strides[1] + 1
    places = ((np.arange(count) + 0.5) * (height * width / count)).astype(np.int64)
    return np.arange(count) % PICTURES, places // width, places * 7919 % width


def _windows(columns: Columns, texels: Texels, at: Sequence[Places], strides: Sequence[int]) -> followed_sums.Windows:
    """Return what the columns of weights meet at some places."""
    rows, cols = (
        np.repeat(np.arange(columns.kernel_height), columns.kernel_width) * columns.dilations[0],
        np.tile(np.arange(columns.kernel_width), columns.kernel_height) * columns.dilations[1],
    )
    pictures = np.broadcast_to(at[0][:, None], (len(at[0]), len(rows)))
    made = texels.at(pictures, at[1][:, None] * strides[0] + rows, at[2][:, None] * strides[1] + cols)
    return followed_sums.Windows(columns, made)
