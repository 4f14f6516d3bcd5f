"""Labels of mixed images: the visible shares, measured in images of one colour each."""

from dataclasses import replace

import numpy as np
import pytest
from apply_variations import NOTHING, apply, plain

from training.augmentation import draw, mixed_labels
from training.recipe_augmentation import Cutout, Mixing
from training.variation import FILL

COUNT, SIZE = 12, 96
LABELS = np.eye(3, dtype=np.float32)[np.arange(COUNT) % 3]
PIXELS = np.broadcast_to((255 * LABELS).astype(np.uint8)[:, None, None], (COUNT, 8, 8, 3))
"""Red, green, blue, red ...: the mean colour of a mixture is its label."""


def seen(draws, size=SIZE):
    return apply(np.ascontiguousarray(PIXELS), draws, size).mean(axis=(1, 2), dtype=float)


@pytest.mark.parametrize(
    "mixture, tolerance", [({"mixup": Mixing(1.0, 0.4)}, 1e-5), ({"cutmix": Mixing(1.0, 1.0)}, 2.5 / SIZE)]
)
def test_labels_are_the_shares_that_are_seen(mixture, tolerance):
    draws = draw(replace(NOTHING, **mixture), COUNT, 5, 0)
    labels = mixed_labels(draws, LABELS)
    assert labels.dtype == np.float32 and np.allclose(labels.sum(axis=1), 1)
    assert (labels.max(axis=1) < 0.95).sum() >= 4, "really mixed"
    assert np.abs(seen(draws) - labels).max() < tolerance


def test_mixed_one_way_or_the_other_in_one_batch():
    chosen = replace(NOTHING, mixup=Mixing(0.4, 1.0), cutmix=Mixing(0.4, 1.0))
    draws = draw(chosen, COUNT, 5, 0)
    assert (draws["keep"] < 1).any() and (draws["cutmix"][:, 2] > draws["cutmix"][:, 0]).any()
    assert np.abs(seen(draws) - mixed_labels(draws, LABELS)).max() < 2.5 / SIZE


def test_the_partner_is_the_picture_before():
    draws = plain(COUNT, keep=0.75)
    assert np.allclose(mixed_labels(draws, LABELS), 0.75 * LABELS + 0.25 * np.roll(LABELS, 1, axis=0))
    assert np.abs(seen(draws) - mixed_labels(draws, LABELS)).max() < 1e-5


def test_a_pasted_quarter():
    draws = plain(COUNT, cutmix=[-1.0, 0.0, 0.0, 1.0])  # the lower left one
    mixed = apply(np.ascontiguousarray(PIXELS), draws, 8)
    before = np.roll(LABELS, 1, axis=0)
    for picture, own, partner in zip(mixed, LABELS, before):
        assert np.abs(picture[4:, :4] - partner).max() < 1e-5
        assert np.abs(picture[:4] - own).max() < 1e-5 and np.abs(picture[:, 4:] - own).max() < 1e-5
    assert np.allclose(mixed_labels(draws, LABELS), 0.75 * LABELS + 0.25 * before)


def test_a_cutout_is_grey_and_keeps_the_label():
    draws = plain(COUNT, cutout=[0.0, -1.0, 1.0, 0.0])  # the upper right quarter
    mixed = apply(np.ascontiguousarray(PIXELS), draws, 8)
    assert (mixed[:, :4, 4:] == FILL).all() and np.abs(mixed[:, 4:] - LABELS[:, None, None]).max() < 1e-5
    assert np.array_equal(mixed_labels(draws, LABELS), LABELS)


def test_cutout_is_applied_after_mixing():
    everything = replace(NOTHING, mixup=Mixing(1.0, 1.0), cutout=Cutout(1.0, (1.0, 1.0)))
    draws = draw(everything, COUNT, 5, 0)
    mixed = apply(np.ascontiguousarray(PIXELS), draws, 32)
    grey = (mixed == FILL).all(axis=-1).mean(axis=(1, 2))
    assert np.abs(grey - np.prod(draws["cutout"][:, 2:] - draws["cutout"][:, :2], axis=1) / 4).max() < 2.5 / 32
    assert grey.min() > 0.1 and grey.max() < 1
