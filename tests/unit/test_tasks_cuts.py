"""Crops: conversion of points in both directions, and rotated, averaged and extended pixels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.tasks.cuts import Cut, around, direction, pixels_of

ANGLES = st.floats(-math.pi, math.pi)
PLACES = st.floats(-1e3, 1e3)
SIDES = st.floats(1, 1e3)


@given(PLACES, PLACES, SIDES, SIDES, ANGLES)
def test_points_go_there_and_back(x: float, y: float, width: float, height: float, angle: float) -> None:
    cut = Cut(x, y, width, height, angle)
    points = np.array([[0, 0], [1, 0.25], [0.5, 0.5], [-2, 3]])
    assert cut.from_picture(cut.to_picture(points)) == pytest.approx(points, abs=1e-6)
    assert cut.to_picture(np.array([[0.5, 0.5]]))[0] == pytest.approx((x, y))


def test_a_cut_can_be_a_quarter_turn_clockwise() -> None:
    cut = Cut(10, 20, 4, 2, math.pi / 2)
    assert cut.to_picture(np.array([[1.0, 0.5]]))[0] == pytest.approx((10, 22))  # the crop's right is the image's down
    assert cut.corners[0] == pytest.approx((11, 18))


@pytest.mark.parametrize("angle", range(-180, 181, 30))
def test_a_cut_in_which_a_line_points_up(angle: int) -> None:
    unit_vector = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    cut = Cut(0, 0, 10, 10, direction(np.zeros(2), unit_vector, 90.0))
    begin, end = cut.from_picture(np.stack([np.zeros(2), unit_vector]))
    assert end - begin == pytest.approx((0, -0.1))


def test_a_cut_around_points_holds_them_and_is_shifted_as_it_sees_them() -> None:
    points = Cut(50, 60, 20, 10, 0.3).corners
    cut = around(points, 0.3, scale=2.0, square=False)
    assert (cut.x, cut.y, cut.width, cut.height) == pytest.approx((50, 60, 40, 20))
    shifted = around(points, 0.3, shift=(0, -0.5))
    assert shifted.width == shifted.height == pytest.approx(20)
    centre = Cut(50, 60, 20, 10, 0.3).to_picture(np.array([[0.5, 0.0]]))[0]
    assert (shifted.x, shifted.y) == pytest.approx(tuple(centre))


def test_upright_cuts_of_whole_pixels_are_those_pixels() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    assert (pixels_of(picture, Cut(10, 8, 8, 6), 6, 8) == picture[5:11, 6:14]).all()
    turned = pixels_of(picture, Cut(10, 8, 6, 8, math.pi / 2), 8, 6)
    assert (turned == np.rot90(picture[5:11, 6:14])).all()
    over = pixels_of(picture, Cut(10, 8, 8, 6, math.pi), 6, 8)
    assert (over == picture[5:11, 6:14][::-1, ::-1]).all()


def test_shrinking_averages_all_pixels() -> None:
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[::2, ::2] = 200  # single pixels read as 200 or 0
    assert (pixels_of(picture, Cut(32, 32, 64, 64), 8, 8) == 50).all()
    tilted = pixels_of(picture, Cut(32, 32, 40, 40, 0.4), 5, 5)
    assert np.abs(tilted.astype(int) - 50).max() <= 3


def test_beyond_the_picture_its_edge_goes_on() -> None:
    picture = np.zeros((10, 10, 3), np.uint8)
    picture[:, 0] = (250, 10, 20)
    cut = pixels_of(picture, Cut(0, 5, 20, 10), 10, 20)
    assert (cut[:, :10] == (250, 10, 20)).all() and not cut[:, 11:].any()


@given(st.integers(1, 5), st.integers(1, 5), PLACES, PLACES, st.floats(1, 3000), ANGLES)
def test_any_cut_of_any_picture(rows: int, columns: int, x: float, y: float, side: float, angle: float) -> None:
    picture = np.full((rows, columns, 1), 77, np.uint8)
    assert (pixels_of(picture, Cut(x, y, side, side, angle), 7, 9) == 77).all()


def test_unusable_crops_and_overlaps() -> None:
    assert not Cut(0, 0, 0.5, 10).usable
    assert not Cut(math.nan, 0, 5, 5).usable
    assert Cut(0, 0, 2, 2).overlap(Cut(1, 0, 2, 2)) == pytest.approx(1 / 3)
    assert Cut(0, 0, 2, 2).overlap(Cut(9, 0, 2, 2)) == 0
