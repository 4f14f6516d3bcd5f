"""Lower bound of a layer on a VideoCore IV: one instruction a multiplication, and two coordinates a texel.

Both ALUs of a QPU work at once, so additions run in parallel with multiplications. A texel is unpacked for free in its
multiplication. One instruction for every product and one for each of the two coordinates of a fetch remain: 18 for a
texel of four channels with four filters, 14 for a texel of an image with three.
"""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer.bundle.network import Layer
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.program.layout import FeatureMap, FixedMap, SixteenBitMap

COORDINATES = 2
"""Instructions that write the coordinates of a fetch."""


def products(layer: Layer) -> int | None:
    """Return the multiplications of a weight with a texel's lane in a frame, by the shape of the kernel.

    Weights of zero are counted; the factors of the residual and the activation are not. The result is None if the layer
    is not a convolution of 8-bit maps, or if its weights are in a texture: most fetches are then weights, and the
    layout saves draws instead (``lowering.weights_plan``).
    """
    if any(member.endswith(".rgba") for member in layer.members):
        return None
    kernel: Sequence[int] | None = layer.weights.get("kernel")
    if not isinstance(layer.output, (FeatureMap, SixteenBitMap, FixedMap)) or kernel is None or len(kernel) != 4:
        return None
    height, width, channels, filters = kernel
    columns = columns_of((height, width, channels + bool(layer.attrs.get("alpha")), filters), layer.attrs["groups"])
    return 4 * columns.count * columns.slices * layer.output.height * layer.output.width
