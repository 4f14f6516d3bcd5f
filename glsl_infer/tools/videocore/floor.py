"""The least that a layer takes on a VideoCore IV: a multiplication each, and two coordinates for every texel.

Both ALUs of a QPU work at once, so that additions fit beside multiplications, and a texel is unpacked for free where it
is multiplied. What remains is one instruction for every product and one for each of the two coordinates of a fetch: 18
for a texel of four channels that meets four filters, 14 for one of a picture with three.
"""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer.bundle.network import Layer
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.program.layout import FeatureMap, FineMap, FixedMap

COORDINATES = 2
"""Instructions that write the coordinates of a fetch."""


def products(layer: Layer) -> int | None:
    """Return the multiplications of a frame in which a weight meets a texel's lane, by the shape of the kernel.

    Weights that are zero are counted, the residual's and the activation's factors are not. None where the layer is no
    convolution of 8-bit maps, and where its weights lie in a texture: most of its fetches are weights then, and what it
    saves are draws (``lowering.weights_plan``).
    """
    if any(member.endswith(".rgba") for member in layer.members):
        return None
    kernel: Sequence[int] | None = layer.weights.get("kernel")
    if not isinstance(layer.output, (FeatureMap, FineMap, FixedMap)) or kernel is None or len(kernel) != 4:
        return None
    height, width, channels, filters = kernel
    columns = columns_of((height, width, channels + bool(layer.attrs.get("alpha")), filters), layer.attrs["groups"])
    return 4 * columns.count * columns.slices * layer.output.height * layer.output.width
