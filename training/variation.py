"""Training images on the device, and their augmentation with array operations of any Keras backend."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from training.augmentation import FIELDS

FILL = 0.5
"""Grey of cutouts."""


class PicturesOnDevice(keras.layers.Layer):  # type: ignore[misc]
    """All training images as 8-bit pixels, and the layer that draws augmented batches from them.

    The channels of a pixel are packed into an int32 and read by a single access, because interpolation reads four
    neighbours for each pixel of the result. The pixels are not trained, and saved models do not include them.

    Args:
        pixels: uint8 (images, side, side, 3).

    Raises:
        InputError: more pixels than 32 bits can number.
    """

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        super().__init__(trainable=False, dtype="float32", name="pictures")
        count, self.side = pixels.shape[:2]
        if count * self.side**2 >= 2**31:
            raise InputError(
                f"{count} images of {self.side} x {self.side} pixels are more than a device can number in 32 bits; "
                "take a smaller --input-size or fewer images"
            )
        self.packed = self.add_weight(
            shape=(count * self.side**2,), dtype="int32", initializer="zeros", trainable=False, name="packed"
        )
        self.packed.assign(pack(pixels))

    def call(self, draws: Any, size: int) -> Any:
        """Return an augmented batch: float32 (batch, size, size, 3) in [0, 1].

        Args:
            draws: ``index`` (batch,) and ``numbers`` (batch, 32) of ``training.augmentation.packed``.
            size: side of the result; the augmentation of an image is the same at every size.
        """
        parameters = _fields(draws["numbers"])
        coordinates = np.linspace(-1.0 + 1.0 / size, 1.0 - 1.0 / size, size, dtype=np.float32)
        x, y = ops.convert_to_tensor(coordinates[None, None, :]), ops.convert_to_tensor(coordinates[None, :, None])
        pictures = self._windows(draws["index"], parameters["window"], x, y)
        pictures = _blurred(pictures, parameters["blur"][:, None, None, None])
        pictures = ops.power(pictures, parameters["gamma"][:, None, None, None])
        colour = parameters["colour"][:, None, None]
        pictures = ops.clip(ops.sum(pictures[..., None, :] * colour[..., :3], axis=-1) + colour[..., 3], 0.0, 1.0)
        partner = ops.roll(pictures, 1, axis=0)
        keep = parameters["keep"][:, None, None, None]
        pictures = keep * pictures + (1.0 - keep) * partner
        pictures = ops.where(_inside(parameters["cutmix"], x, y), partner, pictures)
        return ops.where(_inside(parameters["cutout"], x, y), FILL, pictures)

    def _windows(self, index: Any, window: Any, x: Any, y: Any) -> Any:
        """Resample each image once, bilinearly, mirrored beyond its edges."""
        matrix = [[window[:, row, column, None, None] for column in range(3)] for row in range(3)]
        denominator = ops.maximum(matrix[2][0] * x + matrix[2][1] * y + matrix[2][2], 0.1)
        coordinates = [
            ((row[0] * x + row[1] * y + row[2]) / denominator + 1.0) * (self.side / 2.0) - 0.5 for row in matrix[:2]
        ]
        floor = [ops.floor(axis) for axis in coordinates]
        right, down = (ops.expand_dims(axis - floored, -1) for axis, floored in zip(coordinates, floor))
        first = ops.cast(index, "int32")[:, None, None] * self.side**2
        columns, rows = (
            [_mirrored(ops.cast(floored, "int32") + step, self.side) for step in (0, 1)] for floored in floor
        )
        pixels = [
            [_unpack(ops.take(self.packed, first + row * self.side + column)) for column in columns] for row in rows
        ]
        top, bottom = (left * (1.0 - right) + beyond * right for left, beyond in pixels)
        return top * (1.0 - down) + bottom * down


def _blurred(pictures: Any, weight: Any) -> Any:
    """Blend each image with itself after two box filters, whose sides are about 1/60 of the image's."""
    side = 2 * (pictures.shape[1] // 120) + 1
    soft = pictures
    for _ in range(2):
        soft = ops.average_pool(soft, side, strides=1, padding="same", data_format="channels_last")
    return pictures + weight * (soft - pictures)


def _fields(columns: Any) -> dict[str, Any]:
    """Unpack (batch, 32) to the parameters by name."""
    fields, position = {}, 0
    for name, shape in FIELDS.items():
        length = math.prod(shape)
        fields[name] = ops.reshape(columns[:, position : position + length], (-1, *shape))
        position += length
    return fields


def pack(pixels: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return int32 (pictures * side * side,) with red in the lowest byte, then green, then blue."""
    packed = np.zeros((*pixels.shape[:-1], 4), np.uint8)
    packed[..., :3] = pixels
    return packed.reshape(-1).view("<i4")


def _unpack(packed: Any) -> Any:
    """Return float32 (..., 3) in [0, 1]."""
    bytes_ = [ops.bitwise_and(ops.right_shift(packed, shift), 255) for shift in (0, 8, 16)]
    return ops.cast(ops.stack(bytes_, axis=-1), "float32") * (1.0 / 255.0)


def _mirrored(coordinate: Any, side: int) -> Any:
    """Fold integer coordinates into [0, side): ... 1 0 | 0 1 ... side-1 | side-1 ..."""
    folded = ops.mod(coordinate, 2 * side)
    return ops.minimum(folded, 2 * side - 1 - folded)


def _inside(box: Any, x: Any, y: Any) -> Any:
    """Return bool (batch, height, width, 1): whether a coordinate is in its image's box."""
    left, top, right, bottom = (box[:, side, None, None] for side in range(4))
    inside = ops.logical_and(ops.logical_and(x >= left, x < right), ops.logical_and(y >= top, y < bottom))
    return ops.expand_dims(inside, -1)
