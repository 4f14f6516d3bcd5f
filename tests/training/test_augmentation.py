"""Random variations: reproducible, in range, and really there."""

import numpy as np
import pytest

from training.augmentation import augment, batch_rng, margin_size

SIZE = 16
SIDE = margin_size(SIZE)


def draws(image, count):
    return np.stack([augment(image, SIZE, batch_rng(1, 2, index)) for index in range(count)])


def grey():
    return np.full((SIDE, SIDE, 3), 128, np.uint8)


def columns():
    """Brighter from left to right, darker by a little from top to bottom."""
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    return np.repeat((70 + 5 * x - y)[..., None], 3, axis=2).astype(np.uint8)


def test_margin():
    assert SIDE == 18 and margin_size(129) == 148


@pytest.mark.parametrize("value", [0, 255])
def test_shape_type_and_range(value):
    image = np.full((SIDE, SIDE, 3), value, np.uint8)
    image[::2, ::2] = 255 - value
    results = draws(image, 50)
    assert results.shape == (50, SIZE, SIZE, 3) and results.dtype == np.float32
    assert results.min() >= 0 and results.max() <= 1
    assert results.min() < 0.05 and results.max() > 0.95


def test_same_key_same_picture():
    assert np.array_equal(augment(columns(), SIZE, batch_rng(1, 2, 3)), augment(columns(), SIZE, batch_rng(1, 2, 3)))


@pytest.mark.parametrize("key", [(2, 2, 3), (1, 3, 3), (1, 2, 4), (1, 3, 2)])
def test_other_key_other_picture(key):
    assert not np.array_equal(augment(columns(), SIZE, batch_rng(1, 2, 3)), augment(columns(), SIZE, batch_rng(*key)))


def test_source_is_left_alone():
    image = columns()
    draws(image, 20)
    assert np.array_equal(image, columns())


def test_half_are_flipped():
    means = draws(columns(), 400).mean(axis=(1, 3))  # over rows and channels: one value a column
    flipped = np.mean(means[:, 0] > means[:, -1])
    assert 0.42 < flipped < 0.58


def spot(side=120, size=97, **options):
    """Where a bright spot at the picture's centre turns up, over many draws: (n, 2) rows and columns."""
    image = np.zeros((side, side, 3), np.uint8)
    image[side // 2 - 2 : side // 2 + 2, side // 2 - 2 : side // 2 + 2] = 255
    results = [augment(image, size, batch_rng(1, 2, index), **options)[..., 0] for index in range(200)]
    return np.array([np.unravel_index(one.argmax(), one.shape) for one in results])


def test_windows_move_about_the_centre():
    places = spot() - 48
    assert np.abs(places.mean(axis=0)).max() < 4
    assert 5 < places.std() < 15
    assert np.abs(places).max() < 40


def test_windows_vary_in_size_and_angle():
    image = np.zeros((120, 120, 3), np.uint8)
    image[58:62] = 255  # a horizontal bar
    slopes, heights = [], []
    for index in range(200):
        result = augment(image, 97, batch_rng(1, 2, index))[..., 0]
        lit = result > (result.min() + result.max()) / 2
        rows = [np.flatnonzero(lit[:, x]).mean() for x in (30, 66) if lit[:, x].any()]
        if len(rows) == 2:
            slopes.append((rows[1] - rows[0]) / 36)
            heights.append(lit[:, 48].sum())
    angles = np.degrees(np.arctan(slopes))
    assert len(angles) > 150
    assert np.abs(angles).max() < 17 and angles.std() > 6 and abs(angles.mean()) < 3
    assert len(set(heights)) >= 2


def test_beyond_the_edge_the_picture_goes_on():
    image = np.full((120, 120, 3), 200, np.uint8)
    for index in range(100):
        result = augment(image, 105, batch_rng(1, 2, index))
        assert np.ptp(result, axis=(0, 1)).max() < 0.02, "no black corner"


def test_any_way_up_turns_as_well():
    image = np.zeros((120, 120, 3), np.uint8)
    image[:40] = 200  # bright at the top
    ways = set()
    for index in range(60):
        result = augment(image, 97, batch_rng(1, 2, index), any_way_up=True)[..., 0]
        edges = [result[:20].mean(), result[-20:].mean(), result[:, :20].mean(), result[:, -20:].mean()]
        ways.add(int(np.argmax(edges)))
        upright = augment(image, 97, batch_rng(1, 2, index))[..., 0]
        assert upright[:20].mean() > upright[-20:].mean()
    assert ways == {0, 1, 2, 3}


def test_brightness_varies_around_the_original():
    means = draws(grey(), 600).mean(axis=(1, 2, 3))
    assert means.mean() == pytest.approx(128 / 255, abs=0.015)
    assert 0.04 < means.std() < 0.08
    assert means.min() < 0.42 and means.max() > 0.58


def test_contrast_varies_around_the_original():
    image = np.full((60, 60, 3), 108, np.uint8)
    image[:, 30:] = 148
    results = np.stack([augment(image, 48, batch_rng(1, 2, index)) for index in range(600)])
    spread = np.ptp(results, axis=(1, 2)).mean(axis=1) / (40 / 255)
    assert spread.min() < 0.85 and spread.max() > 1.18
    assert spread.mean() == pytest.approx(1.025, abs=0.025)


def test_tint_varies_by_channel():
    means = draws(grey(), 600).mean(axis=(1, 2))
    differences = means[:, 0] - means[:, 1]
    assert abs(differences.mean()) < 0.01 and 0.02 < differences.std() < 0.06
