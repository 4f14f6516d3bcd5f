"""Variations of pixels: colours and blur, compared with results computed by hand."""

from __future__ import annotations

import colorsys
from dataclasses import replace

import numpy as np
import pytest
from apply_variations import NOTHING, apply, pictures, plain

from training.augmentation import draw

GREY = np.linspace(0, 255, 16).astype(np.uint8)[:, None, None, None] * np.ones((1, 4, 4, 3), np.uint8)


def one_colour(rgb):
    return np.full((1, 4, 4, 3), rgb, np.uint8)


def drawn_until(expected, **changed):
    """Return a draw of one image for which ``expected`` holds."""
    chosen = replace(NOTHING, **changed)
    return next(draws for draws in (draw(chosen, 1, 1, epoch) for epoch in range(500)) if expected(draws))


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_gamma_is_a_power(gamma):
    pixels = pictures(3, 6)
    pixels[0], pixels[1] = 0, 255
    result = apply(pixels, plain(3, gamma=gamma), 6)
    assert np.abs(result - (pixels / 255.0) ** gamma).max() < 1e-4
    assert (result[0] < 1e-6).all() and np.allclose(result[1], 1), "black stays black, and white white"


def test_brightness_is_added_and_clipped():
    colour = np.eye(3, 4)
    colour[:, 3] = 0.1
    pixels = pictures(2, 6)
    assert np.abs(apply(pixels, plain(2, colour=colour), 6) - np.minimum(pixels / 255.0 + 0.1, 1)).max() < 1e-5
    colour[:, 3] = -0.1
    assert np.abs(apply(pixels, plain(2, colour=colour), 6) - np.maximum(pixels / 255.0 - 0.1, 0)).max() < 1e-5


def test_grey_has_no_hue_and_no_saturation():
    draws = draw(replace(NOTHING, hue=180.0, saturation=1.0), len(GREY), 1, 0)
    assert np.abs(apply(GREY, draws, 4) - GREY / 255.0).max() < 1e-4


def test_no_saturation_leaves_the_brightness():
    draws = drawn_until(lambda d: abs(np.linalg.det(d["colour"][0, :, :3])) < 1e-5, saturation=1.0)
    result = apply(one_colour((200, 50, 100)), draws, 4)
    assert np.abs(result - (0.299 * 200 + 0.587 * 50 + 0.114 * 100) / 255).max() < 0.005


def test_hue_turns_the_colour_and_keeps_brightness_and_strength():
    def strength_and_angle(rgb):
        brightness, i, q = colorsys.rgb_to_yiq(*rgb)
        return brightness, np.hypot(i, q), np.degrees(np.arctan2(q, i))

    draws = drawn_until(lambda d: d["colour"][0, 0, 0] < 0.02, hue=180.0)  # far enough to remove all red from red
    muted = (150, 110, 110)  # within the limits of black and white
    before = strength_and_angle(np.array(muted) / 255)
    after = strength_and_angle(apply(one_colour(muted), draws, 4)[0, 0, 0])
    assert after[0] == pytest.approx(before[0], abs=0.005) and after[1] == pytest.approx(before[1], rel=0.05)
    assert 75 < abs(after[2] - before[2]) < 285


def test_contrast():
    draws = drawn_until(lambda d: d["colour"][0, 0, 0] > 1.15, contrast=0.2)
    factor = float(draws["colour"][0, 0, 0])
    result = apply(GREY[5:6], draws, 4)
    assert np.allclose(result, 0.5 + factor * (GREY[5:6] / 255.0 - 0.5), atol=1e-5)


def test_results_stay_between_black_and_white():
    chosen = replace(NOTHING, hue=180.0, saturation=1.0, brightness=0.5, contrast=1.0, gamma=1.0)
    result = apply(pictures(64, 5), draw(chosen, 64, 1, 0), 5)
    assert result.min() == 0 and result.max() == 1 and result.dtype == np.float32


def boxed(picture, side):
    """Average over ``side`` pixels in both directions, and over fewer at an edge."""
    size = len(picture)
    reach = range(-(side // 2), side // 2 + 1)
    there = np.arange(size)[:, None]
    rows = np.array([there == index + step for index in range(size) for step in reach], float)
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
