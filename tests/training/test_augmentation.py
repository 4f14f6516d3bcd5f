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


def test_every_position_is_cut():
    image = np.zeros((SIDE, SIDE, 3), np.uint8)
    image[SIDE // 2, SIDE // 2] = 255
    places = {np.unravel_index(result[..., 0].argmax(), (SIZE, SIZE)) for result in draws(image, 300)}
    room = SIDE - SIZE
    assert {int(y) for y, _ in places} == set(range(SIDE // 2 - room, SIDE // 2 + 1))
    assert len({int(x) for _, x in places}) >= room + 1


def test_brightness_varies_around_the_original():
    means = draws(grey(), 600).mean(axis=(1, 2, 3))
    assert means.mean() == pytest.approx(128 / 255, abs=0.015)
    assert 0.04 < means.std() < 0.08
    assert means.min() < 0.42 and means.max() > 0.58


def test_contrast_varies_around_the_original():
    image = grey()
    image[:, :] = np.where(np.arange(SIDE)[:, None, None] % 2, 108, 148)
    spread = draws(image, 600).std(axis=1).mean(axis=(1, 2)) / (20 / 255)
    assert spread.min() < 0.85 and spread.max() > 1.18
    assert spread.mean() == pytest.approx(1.025, abs=0.025)


def test_tint_varies_by_channel():
    means = draws(grey(), 600).mean(axis=(1, 2))
    differences = means[:, 0] - means[:, 1]
    assert abs(differences.mean()) < 0.01 and 0.02 < differences.std() < 0.06
