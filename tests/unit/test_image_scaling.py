"""The centred square, area averages and the four fits, compared with results worked out by hand and with fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bundle_files import peak_memory_below
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageCms
from preprocessing_images import noise, only_colour, saved

from glsl_infer.bundle.manifest import CENTER_CROP, CENTER_SQUARE, FITS, LETTERBOX, STRETCH, Input
from glsl_infer.program.layout import FeatureMap, View
from glsl_infer.runtime.pictures import preprocess, scaling
from glsl_infer.runtime.pictures.scaling import Fitted, Region, fitted


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


Pixels = NDArray[np.uint8]


@pytest.mark.parametrize(
    ("fit", "size", "expected", "source", "target"),
    [
        (CENTER_SQUARE, (10, 7), (4, 6), (1, 0, 7, 7), (0, 0, 4, 6)),
        (CENTER_CROP, (1920, 1080), (256, 256), (420, 0, 1080, 1080), (0, 0, 256, 256)),
        (CENTER_CROP, (100, 100), (16, 9), (0, 22, 100, 56), (0, 0, 16, 9)),
        (CENTER_CROP, (1000, 2), (1, 900), (499, 0, 1, 2), (0, 0, 1, 900)),
        (LETTERBOX, (1920, 1080), (256, 256), (0, 0, 1920, 1080), (0, 56, 256, 144)),
        (LETTERBOX, (9, 16), (32, 18), (0, 0, 9, 16), (11, 0, 10, 18)),
        (LETTERBOX, (1000, 1), (10, 10), (0, 0, 1000, 1), (0, 4, 10, 1)),
        (STRETCH, (5, 9), (3, 3), (0, 0, 5, 9), (0, 0, 3, 3)),
    ],
)
def test_each_fit_reads_and_writes_the_expected_regions(
    fit: str, size: tuple[int, int], expected: tuple[int, int], source: tuple[int, ...], target: tuple[int, ...]
) -> None:
    assert fitted(fit, *size, *expected) == Fitted(Region(*source), Region(*target))


def rounded(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def slow_places(fit: str, width: int, height: int, w: int, h: int) -> tuple[list[int], list[int]]:
    """Return by definition the (left, top, width, height) of the source region and of its destination."""
    outer, inner = [0, 0, width, height], [0, 0, w, h]
    ratio = Fraction(width * h, height * w)
    if fit == CENTER_SQUARE:
        outer[2:] = [min(width, height)] * 2
    elif fit == CENTER_CROP and ratio > 1:
        outer[2] = min(width, max(1, rounded(Fraction(height * w, h))))
    elif fit == CENTER_CROP:
        outer[3] = min(height, max(1, rounded(Fraction(width * h, w))))
    elif fit == LETTERBOX and ratio > 1:
        inner[3] = min(h, max(1, rounded(Fraction(height * w, width))))
    elif fit == LETTERBOX:
        inner[2] = min(w, max(1, rounded(Fraction(width * h, height))))
    outer[:2] = [(width - outer[2]) // 2, (height - outer[3]) // 2]
    inner[:2] = [(w - inner[2]) // 2, (h - inner[3]) // 2]
    return outer, inner


def averaged(line: list[Fraction], size: int) -> list[Fraction]:
    """Return a line reduced to a size by area averages."""
    side = len(line)
    sums = []
    for i in range(size):
        begin, end = Fraction(i * side, size), Fraction((i + 1) * side, size)
        overlaps = [max(Fraction(0), min(end, p + 1) - max(begin, Fraction(p))) for p in range(side)]
        sums.append(sum((share * value for share, value in zip(overlaps, line)), Fraction(0)) * Fraction(size, side))
    return sums


def enlarged(line: list[int], size: int) -> list[int]:
    """Return a line enlarged to a size as Pillow does, in fixed point."""
    side = len(line)
    result = []
    for i in range(size):
        center = (i + 0.5) * side / size
        low, high = max(0, math.floor(center - 0.5)), min(side, math.floor(center + 1.5))
        weights = [max(0.0, 1 - abs(p + 0.5 - center)) for p in range(low, high)]
        fixed = [math.floor(weight / sum(weights) * 2**22 + 0.5) for weight in weights]
        total = sum(weight * value for weight, value in zip(fixed, line[low:high]))
        result.append(min(255, max(0, (total + 2**21) // 2**22)))
    return result


def slow_channel(values: list[list[int]], height: int, width: int) -> list[list[int]]:
    """Return a channel scaled to a size, by exact fractions."""
    exact = [[Fraction(value) for value in row] for row in values]
    if width < len(values[0]):
        exact = [averaged(row, width) for row in exact]
    if height < len(values):
        exact = [list(row) for row in zip(*(averaged(list(column), height) for column in zip(*exact)))]
    integers = [[rounded(value) for value in row] for row in exact]
    if width > len(values[0]):
        integers = [enlarged(row, width) for row in integers]
    if height > len(values):
        integers = [list(row) for row in zip(*(enlarged(list(column), height) for column in zip(*integers)))]
    return integers


def slowly(pixels: Pixels, fit: str, height: int, width: int) -> Pixels:
    """Compute ``scaling.fit`` by definition, a pixel at a time."""
    (left, top, window_width, window_height), (x, y, w, h) = slow_places(
        fit, pixels.shape[1], pixels.shape[0], width, height
    )
    window = pixels[top : top + window_height, left : left + window_width].astype(int)
    canvas = np.zeros((height, width, pixels.shape[2]), np.uint8)
    canvas[..., 3:] = 255
    for channel in range(pixels.shape[2]):
        canvas[y : y + h, x : x + w, channel] = slow_channel(window[..., channel].tolist(), h, w)
    return canvas


def image_of(pixels: Pixels) -> Image.Image:
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


side = st.integers(1, 12)


@given(width=side, height=side, w=side, h=side, fit=st.sampled_from(FITS), channels=st.sampled_from([1, 3, 4]))
@settings(max_examples=120, deadline=None)
def test_every_pixel_is_the_definition_s(width: int, height: int, w: int, h: int, fit: str, channels: int) -> None:
    pixels = np.random.default_rng(width + 13 * height).integers(0, 256, (height, width, channels), np.uint8)
    np.testing.assert_array_equal(scaling.fit(image_of(pixels), fit, h, w), slowly(pixels, fit, h, w))


@pytest.mark.parametrize(("w", "h"), [(20, 31), (12, 40), (9, 7)])
def test_enlarging_is_pillow_s_bilinear(w: int, h: int) -> None:
    pixels = noise(9, 7)
    expected = Image.fromarray(pixels).resize((w, h), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(preprocess.load(pixels, (h, w), fit=STRETCH), np.asarray(expected))


@pytest.mark.parametrize("factors", [(2, 4), (4, 1), (1, 8)])
def test_powers_of_two_are_pillow_s_reduce(factors: tuple[int, int]) -> None:
    pixels = noise(8 * factors[0], 6 * factors[1])
    expected = Image.fromarray(pixels).reduce(factors)
    np.testing.assert_array_equal(preprocess.load(pixels, (6, 8), fit=STRETCH), np.asarray(expected))


def test_fits_in_bands_equal_those_of_the_entire_image(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = noise(61, 83)
    expected = [preprocess.load(pixels, (20, 70), fit=fit) for fit in FITS]
    monkeypatch.setattr(scaling, "_BAND", 300)
    for fit, target in zip(FITS, expected):
        np.testing.assert_array_equal(preprocess.load(pixels, (20, 70), fit=fit), target)


# Channels ------------------------------------------------------------------------------------------
def test_grey_is_made_of_colours_before_they_are_scaled() -> None:
    pixels = noise(6, 4)
    red, green, blue = (pixels[..., channel].astype(int) for channel in range(3))
    grey = (19595 * red + 38470 * green + 7471 * blue + 32768) // 65536
    np.testing.assert_array_equal(preprocess.load(pixels, (4, 6), fit=STRETCH, channels=1)[..., 0], grey)
    smaller = preprocess.load(pixels, (2, 3), fit=STRETCH, channels=1)
    np.testing.assert_array_equal(smaller, slowly(grey.astype(np.uint8)[..., None], STRETCH, 2, 3))


def test_grey_of_the_right_size_is_unchanged() -> None:
    grey = noise(5, 5)[..., 0]
    np.testing.assert_array_equal(preprocess.load(grey, 5, channels=1)[..., 0], grey)


def test_alpha_is_kept_and_does_not_weigh_colours() -> None:
    pixels = np.dstack([noise(8, 6), noise(6, 8)[..., 0].T])
    np.testing.assert_array_equal(preprocess.load(pixels, (6, 8), fit=STRETCH, channels=4), pixels)
    for h, w in ((3, 4), (9, 11)):
        np.testing.assert_array_equal(
            preprocess.load(pixels, (h, w), fit=STRETCH, channels=4), slowly(pixels, STRETCH, h, w)
        )


def test_without_alpha_it_is_255() -> None:
    assert (preprocess.load(noise(6, 6), 6, channels=4)[..., 3] == 255).all()


def test_a_profile_leaves_alpha_alone(tmp_path: Path) -> None:
    pixels = np.dstack([noise(4, 4), np.arange(16, dtype=np.uint8).reshape(4, 4)])
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    path = saved(tmp_path, Image.fromarray(pixels), "alpha.png", icc_profile=profile)
    loaded = preprocess.load(path, 4, channels=4)
    np.testing.assert_array_equal(loaded[..., 3], pixels[..., 3])
    assert np.abs(loaded[..., :3].astype(int) - pixels[..., :3]).max() <= 1


def test_load_for_uses_the_fit_of_the_input() -> None:
    value = FeatureMap(5, 9, 1, 0, (View("image", 0, 0),))
    model_input = Input("image", "picture", value, LETTERBOX)
    pixels = noise(20, 20)
    expected = preprocess.load(pixels, (5, 9), fit=LETTERBOX, channels=1)
    np.testing.assert_array_equal(preprocess.load_for(pixels, model_input), expected)
    assert not expected[:, [0, 1, 7, 8]].any()
