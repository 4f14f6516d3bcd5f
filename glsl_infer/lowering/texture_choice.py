"""Whether a convolution's weights can lie in a texture, and in how many bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import cut_sums, weight_bytes, weight_pairs, weight_rounding, weight_texture, weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.findings import Arrays
from glsl_infer.lowering.weight_bytes import WeightBytes
from glsl_infer.lowering.weight_pairs import WeightPairs
from glsl_infer.lowering.weight_texture import Constants, WeightTexture
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder

Weights = Union[WeightTexture, WeightBytes, WeightPairs]
"""Weights of 16 bits, of 8, and of either with a row for every two output channels."""

SHORT_COLUMNS = 320
"""Most columns of a window of more than 3x3 texels: 5x5 over 8 slices has 800 and does not compile, 4x4 over 5 does."""

FINE_READS: Mapping[int, int] = {8: 58, 16: 32}
"""Most slices of 16 bits that a draw reads, by the bits of its weights. A fetch of 16 bits needs a coordinate more.
Mesa's vc4 compiler takes 29 of 32 registers for 58 slices and weights of 8 bits; with 16 it has none for 58, and 34
slices compile."""

FINE_NOISE = 3.0 * weight_bytes.MOST_NOISE
"""The same limit for a reader of 16 bits that can have no others in a texture: ranges of 16 bits have room, so that
their texels are less full."""

ROUNDING = 0.02
"""Most steps of 8 bits that the sums of a layer may lose to the rounding of 32-bit floats."""

DEPTHWISE_ROUNDING = 0.0225
"""The same of depthwise windows, which add few columns. On VideoCore IV, 36 layers at this limit stored no value that
was off by more than 0.5194; with 0.025 one was off by 0.529."""

STEEP_ROUNDING = 0.009
"""The same of weights of 16 bits with numbers for each channel behind the sums: what VideoCore IV cuts off sums of two
bytes is enlarged, and nothing makes up for it. With 0.0165 a store was off by 0.537."""


@dataclass(frozen=True)
class Possible:
    """What a layer's weights in a texture would be.

    Attributes:
        bits: of a weight, 8 or 16.
        untextured: why they cannot lie in one; empty if they can.
    """

    bits: int
    untextured: str = ""

    def packed(
        self, node: Node, build: Builder, columns: Columns, constants: Constants, *, in_pairs: bool = False
    ) -> Weights:
        """Return the texture; weights of 8 bits are rounded for what typical pictures show, if a person gave some.

        ``in_pairs``: with a row for every two output channels (``weight_pairs``).
        """
        if self.bits == 16:
            return weight_pairs.of_constants(constants, columns) if in_pairs else weight_texture.pack(constants)
        weights = self._in_bytes(node, build, columns, constants)
        return weight_pairs.of_bytes(weights, columns) if in_pairs else weights

    def _in_bytes(self, node: Node, build: Builder, columns: Columns, constants: Constants) -> WeightBytes:
        if not build.typical.given:
            return weight_bytes.pack(constants)

        @cache
        def met() -> weight_rounding.Met:
            return cut_sums.met(columns, build.typical_input(node), node.attrs["strides"], weight_rounding.POSITIONS)

        def known(what: str, find: Callable[[], Arrays], fits: Callable[[Arrays], bool]) -> Arrays:
            return build.typical.known(f"{node.name} {what}", find, fits)

        return weight_rounding.pack(constants, columns, met, known)


LEAST_BYTE_COLUMNS = 2
"""Columns from which on weights may have 8 bits: of one, textures of 8 and of 16 bits may be of one size."""

WEIGHT_BITS = ("auto", "16")
"""``auto``: weights in textures have 8 bits where their rounding adds little noise, else 16."""


def possible(
    reads: Sequence[Mapping[str, Sequence[Read]]],
    columns: Columns,
    constants: Constants,
    *,
    alpha: bool,
    weight_bits: str = "auto",
    steepness: NDArray[np.float32] | None = None,
    fine: bool = False,
    stores_fine: bool = False,
    spares: bool = False,
    in_pairs: bool = False,
    given: bool = True,
) -> Possible:
    """Return how a layer's weights can lie in a texture: in 8 bits, if their rounding adds little noise, else in 16.

    Args:
        reads: of each slice, what it reads, by roles.
        columns: how the kernel's columns follow one another.
        constants: weights, biases and factors in units of texels and of the stored output.
        weight_bits: one of ``WEIGHT_BITS``.
        alpha: whether an input channel is the picture's alpha, which carries what exactly undoes the zero points.
        steepness: of what is behind the sums, if it has numbers for each channel; see ``fold.StoredSum``.
        fine: whether the input is a map of 16 bits.
        stores_fine: whether the output is.
        spares: whether such a layer's weights may lose more, rounded for typical pictures, to lie in a texture.
        in_pairs: whether two output channels have a row (``weight_pairs``), which leaves more registers.
        given: whether there are calibration images, for which weights of 8 bits are rounded.
    """
    if alpha:
        return Possible(16, "the picture's alpha needs more than 16 bits")
    if steepness is not None:
        # Lanes beyond the last channel may have a bias far from all others, and biases share a unit of 24 bits.
        largest = float(np.abs(constants.bias).max() * np.abs(steepness).max())
        if 255.0 * largest * 2.0**-24 > ROUNDING:
            return Possible(16, f"biases of up to {largest:.0f} times what is stored need more than 24 bits")
        bias = constants.bias * steepness
        constants = replace(constants, weights=constants.weights * steepness[:, None], bias=bias)
    noise = weight_bytes.noise(constants.weights, constants.bias)
    most_noise = weight_bytes.MOST_NOISE * (1.0 if given else weight_bytes.UNSEEN)
    in_bytes = weight_bits == "auto" and columns.count >= LEAST_BYTE_COLUMNS and noise <= most_noise
    bits = 8 if in_bytes else 16
    if bits == 16 and fine and not in_pairs and (constants.numbers or any(roles.get("residual") for roles in reads)):
        # Of face-mesh's and selfie segmentation's layers none of these compiled, for any order of fetches.
        if not spares or weight_bits != "auto" or columns.count < LEAST_BYTE_COLUMNS or noise > FINE_NOISE:
            return Possible(
                16, "it reads 16 bits: VideoCore IV has no registers for weights of 16 bits and more besides"
            )
        bits = 8
    if bits == 8 or in_pairs:
        taps = columns.taps_per_slot
        most, fits = weight_bytes.most_columns(taps), weight_bytes.fits(len(reads), columns.count, taps)
    else:
        most, fits = weight_texture.MOST_COLUMNS, weight_texture.fits(len(reads), columns.count)
    if fine and columns.slots > FINE_READS[bits]:
        return Possible(
            bits, f"{columns.slots} slices of 16 bits, and VideoCore IV has registers for {FINE_READS[bits]}"
        )
    few = weights_plan.FINE_WINDOW_READS - stores_fine
    if fine and bits == 16 and not in_pairs and columns.taps_per_slot > 1 and columns.slots > few:
        return Possible(16, f"a window over {columns.slots} slices of 16 bits: VideoCore IV has registers for {few}")
    return Possible(bits, _untextured(reads, columns, constants, fits, bits, most))


def _untextured(
    reads: Sequence[Mapping[str, Sequence[Read]]],
    columns: Columns,
    constants: Constants,
    fits: bool,
    bits: int,
    most: int,
) -> str:
    count = columns.count
    if not fits:
        slices = MAX_TEXTURE_SIZE * 8 // bits
        return f"{len(reads)} slices of {count} columns, and at most {slices} slices of {most} columns can have one"
    if count > SHORT_COLUMNS and max(columns.kernel_height, columns.kernel_width) > 3:
        window = f"{columns.kernel_height}x{columns.kernel_width}"
        return f"a {window} window of {count} columns, and VideoCore IV has no registers for it beyond {SHORT_COLUMNS}"
    if bits == 16 and columns.taps_per_slot > 1 and columns.slots > weights_plan.WINDOW_READS:
        most = weights_plan.WINDOW_READS
        return (
            f"a window over {columns.slots} slices with weights of 16 bits, and VideoCore IV has registers for {most}"
        )
    # A sum of high bytes reaches half its columns, and stands for 65280 / 32767 times the largest weight.
    largest = float(np.abs(constants.weights).max())
    lost = DEPTHWISE_ROUNDING if columns.depthwise else ROUNDING
    if 255.0 * largest * count * 2.0**-24 > (STEEP_ROUNDING if constants.numbers and bits == 16 else lost):
        return f"weights of up to {largest:.0f} times what is stored need more than a sum of high bytes keeps"
    bound = max(len({read.view.texture for role in roles.values() for read in role}) for roles in reads)
    if bound >= MAX_TEXTURES:
        return f"a draw reads {bound} textures already"
    if len(constants.numbers) > weight_texture.MOST_NUMBERS:
        most = weight_texture.MOST_NUMBERS
        return f"its activation and range have {len(constants.numbers)} numbers for each channel, and {most} fit"
    return ""
