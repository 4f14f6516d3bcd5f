"""Pixels of three bytes become texels of four, for any memory layout."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from glsl_infer.program.texels import put_rgb

SHAPES = [(1, 1), (1, 2), (3, 1), (5, 7), (64, 33)]
MEMORY_LAYOUTS = {
    "RGB": lambda pixels: pixels,
    "read only": lambda pixels: np.frombuffer(pixels.tobytes(), np.uint8).reshape(pixels.shape),
    "at an odd address": lambda pixels: np.frombuffer(b"?" + pixels.tobytes(), np.uint8)[1:].reshape(pixels.shape),
    "mirrored": lambda pixels: pixels[:, ::-1],
    "by columns": np.asfortranarray,
    "BGR": lambda pixels: pixels[..., ::-1],
    "a part": lambda pixels: np.pad(pixels, ((2, 3), (1, 4), (0, 0)))[2:-3, 1:-4],
}


@pytest.mark.parametrize("layout", MEMORY_LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_texels_have_every_byte(shape: tuple[int, int], layout: str) -> None:
    pixels: NDArray[np.uint8] = MEMORY_LAYOUTS[layout](np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8))
    before = pixels.copy()
    texels = np.full((*shape, 4), 255, np.uint8)
    for _ in range(2):  # the second time over the first result
        put_rgb(pixels, texels)
        np.testing.assert_array_equal(texels[..., :3], before)
        np.testing.assert_array_equal(texels[..., 3], 255)
    np.testing.assert_array_equal(pixels, before)


def test_texels_with_gaps() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 5, 3), np.uint8)
    canvas = np.full((8, 9, 4), 255, np.uint8)
    put_rgb(pixels, canvas[1:7, 2:7])
    np.testing.assert_array_equal(canvas[1:7, 2:7, :3], pixels)
    canvas[1:7, 2:7] = 255
    assert (canvas == 255).all(), "texels next to the picture are unchanged"
