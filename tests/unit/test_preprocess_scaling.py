"""The centred square, the exact area average, bilinear enlarging."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bundle_files import peak_memory_below
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from preprocessing_images import noise, only_colour, saved

from glsl_infer.runtime.pictures import preprocess, scaling


def overlaps(side: int, size: int) -> NDArray[np.float64]:
    """Return the overlap of each of ``side`` pixels with each of ``size`` equal windows, in pixels."""
    starts, ends = np.arange(size) * side / size, (np.arange(size) + 1) * side / size
    pixel = np.arange(side)
    common = np.minimum(ends[:, None], pixel + 1) - np.maximum(starts[:, None], pixel)
    return np.maximum(common, 0.0)


@given(side=st.integers(1, 40), data=st.data(), seed=st.integers(0, 2**32 - 1), dark=st.booleans())
@settings(max_examples=150)
def test_area_average_is_the_overlap_weighted_mean(side: int, data: st.DataObject, seed: int, dark: bool) -> None:
    size = data.draw(st.integers(1, side))
    pixels = np.random.default_rng(seed).integers(0, 2 if dark else 256, (side, side, 3), np.uint8)
    weights = overlaps(side, size)
    mean = np.einsum("ay,bx,yxc->abc", weights, weights, pixels.astype(np.float64)) * (size / side) ** 2
    # A mean that is not a tie is at least 1/(2 * 40**2) away from one, so 1e-6 rounds ties up and changes no other.
    expected = np.floor(mean + 0.5 + 1e-6)
    assert (preprocess.area_average(pixels, size) == expected).all()
    assert (preprocess.load(pixels, size) == expected).all()


@pytest.mark.parametrize(("side", "size"), [(40, 7), (41, 40), (97, 96), (64, 8), (33, 1)])
def test_area_average_in_bands_equals_that_of_the_entire_image(
    side: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = noise(side, side)
    expected = preprocess.area_average(pixels, size)
    for band in (1, 100, 700, 3000):
        monkeypatch.setattr(scaling, "_BAND", band)
        assert (preprocess.area_average(pixels, size) == expected).all()
        assert (preprocess.load(Image.fromarray(pixels), size) == expected).all()


def test_a_large_picture_is_not_copied() -> None:
    picture = Image.new("RGB", (4000, 3000))
    with peak_memory_below(12 << 20):  # the square's bytes take 27 MB
        preprocess.load(picture, 129)


@given(side=st.integers(1, 60), size=st.integers(1, 60), value=st.integers(0, 255))
@settings(max_examples=60)
def test_a_constant_picture_stays_constant(side: int, size: int, value: int) -> None:
    assert (preprocess.load(np.full((side, side, 3), value, np.uint8), size) == value).all()


@pytest.mark.parametrize("factor", [1, 2, 4, 8])
def test_powers_of_two_equal_pillows_reduce(factor: int) -> None:
    picture = Image.fromarray(noise(9 * factor, 9 * factor, seed=factor))
    assert (preprocess.load(picture, 9) == np.asarray(picture.reduce(factor))).all()


@pytest.mark.parametrize("factor", [3, 5, 6, 7])
def test_other_factors_equal_pillows_reduce_but_for_its_rounding(factor: int) -> None:
    """Pillow multiplies by 2**24 // area, so it is one lower if the mean plus one half is (nearly) an integer."""
    pixels, area = noise(20 * factor, 20 * factor, seed=factor), factor**2
    sums = pixels.reshape(20, factor, 20, factor, 3).sum(axis=(1, 3), dtype=np.int64)
    pillows_slip = (sums + area // 2) % area == 0
    averaged = preprocess.load(pixels, 20)
    assert (averaged == (sums + area // 2) // area).all()
    assert (averaged - pillows_slip == np.asarray(Image.fromarray(pixels).reduce(factor))).all()


@pytest.mark.parametrize(("side", "size"), [(1, 5), (7, 8), (10, 33), (16, 32)])
def test_enlarging_is_bilinear(side: int, size: int) -> None:
    pixels = noise(side, side, seed=size)
    enlarged = preprocess.load(pixels, size)
    pillows = Image.fromarray(pixels).resize((size, size), Image.Resampling.BILINEAR)
    assert (enlarged == np.asarray(pillows)).all()
    centre = np.clip((np.arange(size) + 0.5) * side / size - 0.5, 0, side - 1)
    weights = np.maximum(1 - np.abs(centre[:, None] - np.arange(side)), 0)
    expected = np.einsum("ay,bx,yxc->abc", weights, weights, pixels.astype(np.float64))
    assert np.abs(enlarged - expected).max() <= 1.01  # Pillow rounds twice: after the rows and after the columns


def test_the_size_of_the_network_is_left_alone() -> None:
    pixels = noise(13, 13)
    assert (preprocess.load(pixels, 13) == pixels).all()


@pytest.mark.parametrize(
    ("width", "height", "left", "top"),
    [(10, 4, 3, 0), (11, 4, 3, 0), (4, 9, 0, 2), (5, 4, 0, 0), (4, 5, 0, 0), (6, 6, 0, 0)],
)
def test_the_square_is_centred_and_an_odd_pixel_is_cut_right_or_below(
    width: int, height: int, left: int, top: int
) -> None:
    pixels, side = noise(width, height), min(width, height)
    assert (preprocess.load(pixels, side) == pixels[top : top + side, left : left + side]).all()


def test_a_picture_of_one_pixel_fills_the_square(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.new("RGB", (1, 1), (10, 20, 30)))
    assert only_colour(preprocess.load(path, 7)) == (10, 20, 30)
