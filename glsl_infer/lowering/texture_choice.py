"""Decide whether a convolution's weights can be in a texture, and with how many bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import truncation, weight_bytes, weight_pairs, weight_rounding, weight_texture, weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.lowering.calibration_maps import Arrays
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.weight_bytes import WeightBytes
from glsl_infer.lowering.weight_pairs import WeightPairs
from glsl_infer.lowering.weight_texture import Constants, WeightTexture

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder

Weights = Union[WeightTexture, WeightBytes, WeightPairs]
"""Weights with 16 bits, with 8 bits, or with either and a row for every two output channels."""

SHORT_COLUMNS = 320
"""Largest number of columns of a window larger than 3x3. A 5x5 window over 8 slices has 800 and does not compile; 4x4
over 5 slices does."""

READS_16_BITS: Mapping[int, int] = {8: 58, 16: 32}
"""Largest number of 16-bit slices read by a draw, by the bits of its weights. A 16-bit fetch needs one more coordinate.
Mesa's vc4 compiler uses 29 of 32 registers for 58 slices with 8-bit weights. With 16-bit weights 34 slices compile, and
58 do not."""

NOISE_16_BITS = 3.0 * weight_bytes.MOST_NOISE
"""Noise limit for readers of 16-bit maps that cannot have 16-bit weights in a texture. Ranges of 16 bits have headroom,
so their texels are smaller."""

ROUNDING = 0.02
"""Largest rounding error of a layer's sums in 32-bit floats, in 8-bit steps."""

DEPTHWISE_ROUNDING = 0.0225
"""The same limit for depthwise windows, which add few columns. On VideoCore IV, 36 layers at this limit had a largest
error of 0.5194 steps; with 0.025 it was 0.529."""

STEEP_ROUNDING = 0.009
"""The same limit for 16-bit weights with per-channel constants after the sum. These amplify VideoCore IV's truncation
of the sums of both bytes, which nothing corrects. With 0.0165 a store had an error of 0.537 steps."""


@dataclass(frozen=True)
class TextureOption:
    """Storage of a layer's weights in a texture.

    Attributes:
        bits: of a weight, 8 or 16.
        untextured: reason why the weights cannot be in a texture; empty if they can.
    """

    bits: int
    untextured: str = ""

    def packed(
        self, node: Node, build: Builder, columns: Columns, constants: Constants, *, in_pairs: bool = False
    ) -> Weights:
        """Return the texture. With calibration images, 8-bit weights are rounded to minimise the output error for them.

        ``in_pairs``: use a row for every two output channels (``weight_pairs``).
        """
        if self.bits == 16:
            return weight_pairs.of_constants(constants, columns) if in_pairs else weight_texture.pack(constants)
        weights = self._in_bytes(node, build, columns, constants)
        return weight_pairs.of_bytes(weights, columns) if in_pairs else weights

    def _in_bytes(self, node: Node, build: Builder, columns: Columns, constants: Constants) -> WeightBytes:
        """Return 8-bit weights, rounded for calibration images if there are any, or else to the nearest."""
        if not build.calibration_maps.has_images:
            return weight_bytes.pack(constants)

        @cache
        def column_factors() -> weight_rounding.ColumnFactors:
            return truncation.column_factors(
                columns, build.calibration_input(node), node.attrs["strides"], weight_rounding.POSITIONS
            )

        def cached(result_name: str, find: Callable[[], Arrays], fits: Callable[[Arrays], bool]) -> Arrays:
            return build.calibration_maps.cached(f"{node.name} {result_name}", find, fits)

        return weight_rounding.pack(constants, columns, column_factors, cached)


LEAST_BYTE_COLUMNS = 2
"""Smallest number of columns for 8-bit weights. With one column, textures of 8 and 16 bits could have the same size."""

WEIGHT_BITS = ("auto", "16")
"""``auto``: weights in textures have 8 bits if their rounding adds little noise, else 16."""


@dataclass(frozen=True)
class ConvolutionWeights:
    """Weights of a convolution, and the properties of its maps that decide on their storage in a texture.

    Attributes:
        reads: reads of each slice, by role.
        columns: layout of the kernel's columns.
        constants: weights, biases and factors, in units of texels and of the stored output.
        alpha: whether an input channel is an image's alpha, whose weights cancel the zero points exactly.
        steepness: amplification after the sums if there are per-channel constants, as in ``fold.StoredSum``.
        reads_16_bits: whether the input is a 16-bit map.
        stores_16_bits: whether the output is a 16-bit map.
        tolerates_rounding: whether weights of such a layer can lose more precision to fit a texture.
        in_pairs: whether two output channels have a row (``weight_pairs``), which needs fewer registers.
        has_images: whether there are calibration images, for which 8-bit weights are rounded.
        takes_root: whether the activation takes an inverse square root.
    """

    reads: Sequence[Mapping[str, Sequence[Read]]]
    columns: Columns
    constants: Constants
    alpha: bool
    steepness: NDArray[np.float32] | None
    reads_16_bits: bool
    stores_16_bits: bool
    tolerates_rounding: bool
    in_pairs: bool
    has_images: bool
    takes_root: bool

    def in_texture(self, weight_bits: str) -> TextureOption:
        """Return the storage in a texture: 8 bits if their rounding adds little noise, else 16.

        Args:
            weight_bits: one of ``WEIGHT_BITS``.
        """
        if self.alpha:
            return TextureOption(16, "the image's alpha needs more than 16 bits")
        reason = self._imprecise_biases()
        if reason:
            return TextureOption(16, reason)
        amplified = self._amplified()
        noise = weight_bytes.noise(amplified.weights, amplified.bias)
        most_noise = weight_bytes.MOST_NOISE * (1.0 if self.has_images else weight_bytes.NOISE_SHARE_WITHOUT_IMAGES)
        can_have_8_bits = weight_bits == "auto" and self.columns.count >= LEAST_BYTE_COLUMNS
        bits = 8 if can_have_8_bits and noise <= most_noise else 16
        if bits == 16 and not self.in_pairs:
            reason = self._crowded()
            if reason and can_have_8_bits and self.tolerates_rounding and noise <= NOISE_16_BITS:
                bits = 8
            elif reason:
                return TextureOption(16, reason)
            elif self.takes_root:  # sqrt after 1x1 over 32 channels does not compile
                reason = "its activation takes a root: VideoCore IV has no registers for it and weights of 16 bits"
                return TextureOption(16, reason)
        return TextureOption(bits, self._too_many_reads(bits) or self._untextured(amplified, bits))

    def _imprecise_biases(self) -> str:
        """Return the reason if the biases need more than 24 bits, else an empty string.

        The biases of padding lanes can be far from all others, and biases share a unit.
        """
        if self.steepness is None:
            return ""
        largest = float(np.abs(self.constants.bias).max() * np.abs(self.steepness).max())
        if 255.0 * largest * 2.0**-24 <= ROUNDING:
            return ""
        return f"biases of up to {largest:.0f} times what is stored need more than 24 bits"

    def _amplified(self) -> Constants:
        """Return the constants times the amplification after the sums, for the effect of their errors on outputs."""
        if self.steepness is None:
            return self.constants
        weights, bias = self.constants.weights * self.steepness[:, None], self.constants.bias * self.steepness
        return replace(self.constants, weights=weights, bias=bias)

    def _crowded(self) -> str:
        """Return the reason if 16-bit weights leave no registers for gates or for 16-bit maps, else an empty string.

        No such layer of face-mesh or selfie segmentation compiled, for any order of fetches. Some with gates did.
        """
        is_gated = any(roles.get("gate") for roles in self.reads)
        adds_more = self.constants.numbers or any(roles.get("residual") for roles in self.reads)
        if not is_gated and not (self.reads_16_bits and adds_more):
            return ""
        inputs = "gates" if is_gated else "16 bits"
        return f"it reads {inputs}: VideoCore IV has no registers for weights of 16 bits and more besides"

    def _too_many_reads(self, bits: int) -> str:
        """Return the reason if a draw reads more 16-bit slices than fit with weights of these bits, else nothing."""
        if not self.reads_16_bits:
            return ""
        slots = self.columns.slots
        if slots > READS_16_BITS[bits]:
            return f"{slots} slices of 16 bits, and VideoCore IV has registers for {READS_16_BITS[bits]}"
        most_slices = weights_plan.WINDOW_READS_16_BITS - self.stores_16_bits
        if bits == 16 and not self.in_pairs and self.columns.taps_per_slot > 1 and slots > most_slices:
            return f"a window over {slots} slices of 16 bits: VideoCore IV has registers for {most_slices}"
        return ""

    def _untextured(self, constants: Constants, bits: int) -> str:
        """Return the reason why weights of these bits do not fit a texture; empty if they do."""
        reads, columns = self.reads, self.columns
        count = columns.count
        most_slices, most_columns = weight_texture.MOST_SLICES, weight_texture.MOST_COLUMNS
        if bits == 8 or self.in_pairs:
            most_slices, most_columns = weight_bytes.MOST_SLICES, weight_bytes.most_columns(columns.taps_per_slot)
        if len(reads) > most_slices or count > most_columns:
            limits = f"at most {most_slices} of {most_columns} columns"
            return f"{len(reads)} slices of {count} columns, and {limits} can have one"
        if count > SHORT_COLUMNS and max(columns.kernel_height, columns.kernel_width) > 3:
            window = f"{columns.kernel_height}x{columns.kernel_width}"
            return (
                f"a {window} window of {count} columns, and VideoCore IV has no registers for it beyond {SHORT_COLUMNS}"
            )
        residual = not self.in_pairs and any(roles.get("residual") for roles in reads)
        most_reads = weights_plan.WINDOW_READS - residual
        if bits == 16 and columns.taps_per_slot > 1 and columns.slots > most_reads:
            return (
                f"a window over {columns.slots} slices with weights of 16 bits, and VideoCore IV has registers for "
                f"{most_reads}"
            )
        # A sum of high bytes reaches half its columns, in units of 65280 / 32767 times the largest weight.
        largest = float(np.abs(constants.weights).max())
        rounding = DEPTHWISE_ROUNDING if columns.depthwise else ROUNDING
        if 255.0 * largest * count * 2.0**-24 > (STEEP_ROUNDING if constants.numbers and bits == 16 else rounding):
            return f"weights of up to {largest:.0f} times what is stored need more than a sum of high bytes keeps"
        textures_read = max(len({read.view.texture for role in roles.values() for read in role}) for roles in reads)
        if textures_read >= MAX_TEXTURES:
            return f"a draw reads {textures_read} textures already"
        if len(constants.numbers) > weight_texture.MOST_NUMBERS:
            return (
                f"its activation and range have {len(constants.numbers)} numbers for each channel, and "
                f"{weight_texture.MOST_NUMBERS} fit"
            )
        return ""
