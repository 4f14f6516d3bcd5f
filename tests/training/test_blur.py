"""Blurred images: two box filters, whose sides scale with the image, and mixtures with the sharp image."""

import numpy as np
import pytest
from varied import apply, pictures, plain


def boxed(picture, side):
    """Average over ``side`` pixels in both directions, and over fewer at an edge."""
    size = len(picture)
    reach = range(-(side // 2), side // 2 + 1)
    there = np.arange(size)[:, None]
    rows = np.array([there == place + step for place in range(size) for step in reach], float)
    weights = rows.reshape(size, side, size).sum(axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ab,cd,bde->ace", weights, weights, picture, optimize=True)


@pytest.mark.parametrize("size, side", [(120, 3), (257, 5)])
def test_two_box_filters(size, side):
    pixels = pictures(1, size)
    sharp, soft, half = (apply(pixels, plain(1, blur=blur), size)[0] for blur in (0.0, 1.0, 0.5))
    assert np.abs(soft - boxed(boxed(pixels[0] / 255.0, side), side)).max() < 1e-4
    assert np.abs(half - (sharp + soft) / 2).max() < 1e-5
    assert soft.std() < 0.4 * sharp.std()


def test_small_pictures_stay_sharp():
    pixels = pictures(1, 33)
    assert np.abs(apply(pixels, plain(1, blur=1.0), 33)[0] - pixels[0] / 255.0).max() < 1e-4
