"""Random variations of an image: their draws, pixels, and the labels of mixed images."""

from __future__ import annotations

import colorsys
import math
from dataclasses import replace

import numpy as np
import pytest
from apply_variations import NO_VARIATION, apply, pictures
from apply_variations import plain as plain_draws

from training import augmentation
from training.augmentation import FOCAL, YIQ, draw, mixed_labels, order, plain
from training.recipe_augmentation import Augmentation, Cutout, Mixing
from training.trainee import Batches
from training.variation import FILL

MANY = 4000
ALL = Augmentation(
    perspective=20.0,
    gamma=0.2,
    hue=10.0,
    tint=0.2,
    blur=0.5,
    quarter_turns=True,
    mixup=Mixing(0.4, 0.4),
    cutmix=Mixing(0.3, 1.0),
    cutout=Cutout(0.5),
)


def drawn(**changed):
    return draw(replace(NO_VARIATION, **changed), MANY, 1, 2)


def same(first, second):
    return all(np.array_equal(first[name], second[name]) for name in first)


def uniform_between(values, low, high):
    """Return whether the values fill the range evenly without exceeding it."""
    inside = low - 1e-5 <= values.min() and values.max() <= high + 1e-5
    quarters = np.quantile(values, [0.02, 0.25, 0.5, 0.75, 0.98])
    return inside and np.abs(quarters - (low + (high - low) * np.array([0.02, 0.25, 0.5, 0.75, 0.98]))).max() < 0.05 * (
        high - low
    )


def share(result, expected):
    """Return whether a share of MANY is as expected, within four standard deviations."""
    return abs(np.mean(result) - expected) < 4 * np.sqrt(expected * (1 - expected) / MANY) + 1e-9


def areas(boxes):
    """Return the areas of boxes as shares of the image."""
    return np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) / 4


# --- dependencies
def test_seed_and_epoch_decide():
    first = draw(ALL, 50, 3, 7)
    assert same(first, draw(ALL, 50, 3, 7))
    for other in (draw(ALL, 50, 4, 7), draw(ALL, 50, 3, 8), draw(ALL, 50, 7, 3)):
        changed = [name for name in first if not np.array_equal(first[name], other[name])]
        assert changed == [name for name in first if name != "index"]
    assert order(50, 3, 7).tolist() == order(50, 3, 7).tolist() != order(50, 3, 8).tolist()
    assert sorted(order(50, 3, 7)) == list(range(50))


@pytest.mark.parametrize("batch", [4, 7])
def test_the_variation_of_an_image_does_not_depend_on_the_batch(batch):
    epoch = Batches(ALL, np.zeros(30, np.int64), 2, batch, seed=3)
    epoch.begin(7)
    packed = augmentation.packed(draw(ALL, 30, 3, 7))["numbers"]
    variations = []
    for index in range(len(epoch)):
        images, labels = epoch[index]
        assert images["index"].shape == (batch,) and labels.shape == (batch, 2)
        assert np.array_equal(images["numbers"], packed[images["index"]])
        variations += images["index"].tolist()
    assert variations == order(30, 3, 7).tolist()[: len(variations)] and len(variations) == 30 - 30 % batch


def test_a_phase_without_mixing():
    epoch = Batches(ALL, np.arange(30) % 2, 2, 30, seed=3, mixing=False)
    epoch.begin(7)
    images, labels = epoch[0]
    packed = augmentation.packed(draw(ALL, 30, 3, 7))["numbers"][images["index"]]
    *_, cutmix_size, keep_size = (math.prod(shape) for shape in augmentation.FIELDS.values())
    assert list(augmentation.FIELDS)[-2:] == ["cutmix", "keep"]
    unmixed, cutmix, keep = np.split(images["numbers"], [-cutmix_size - keep_size, -keep_size], axis=1)
    assert np.array_equal(unmixed, packed[:, : unmixed.shape[1]]), "all else is as it would be"
    assert not cutmix.any() and (keep == 1).all()
    assert np.array_equal(labels, np.eye(2, dtype=np.float32)[images["index"] % 2])


def test_strength_0_is_the_plain_picture():
    draws, nothing = draw(ALL, 20, 1, 2, strength=0.0), plain(20)
    for name in nothing:
        if name not in ("cutout", "cutmix"):
            assert np.allclose(draws[name], nothing[name], atol=1e-6), name
    pixels = pictures(20, 9)
    assert np.abs(apply(pixels, draws, 9) - pixels / 255.0).max() < 1e-4


def test_strength_scales_ranges_and_shares():
    half = draw(ALL, MANY, 1, 2, strength=0.5)
    assert np.abs(np.log(half["gamma"])).max() == pytest.approx(0.1, abs=0.001)
    assert share(half["keep"] < 1, 0.2) and share(areas(half["cutout"]) > 0, 0.25)
    flipped = draw(replace(NO_VARIATION, flip=0.5), MANY, 1, 2, strength=0.5)["window"][:, 0, 0] < 0
    assert share(flipped, 0.25)


def test_types_and_shapes():
    draws = draw(ALL, 5, 1, 2)
    assert set(draws) == {"index", *augmentation.FIELDS}
    assert {name: draws[name].shape[1:] for name in augmentation.FIELDS} == augmentation.FIELDS
    assert all(values.dtype == (np.int32 if name == "index" else np.float32) for name, values in draws.items())


# --- geometry
def test_flip():
    windows = drawn(flip=0.3)["window"]
    assert share(windows[:, 0, 0] == -1, 0.3) and (np.abs(windows) == np.eye(3)).all()


def test_rotation():
    windows = drawn(rotation=15.0)["window"]
    angles = np.degrees(np.arctan2(windows[:, 1, 0], windows[:, 0, 0]))
    assert uniform_between(angles, -15, 15)
    assert np.allclose(np.linalg.det(windows), 1, atol=1e-6), "nothing is stretched"


def test_quarter_turns():
    windows = drawn(quarter_turns=True)["window"]
    angles = np.round(np.degrees(np.arctan2(windows[:, 1, 0], windows[:, 0, 0]))) % 360
    assert all(share(angles == angle, 0.25) for angle in (0, 90, 180, 270))


def test_scale_is_even_in_its_logarithm_and_a_window_stays_in_the_picture():
    windows = drawn(scale=(0.5, 1.25))["window"]
    sides = windows[:, 0, 0]
    assert np.array_equal(sides, windows[:, 1, 1])
    assert uniform_between(np.log(sides), np.log(0.5), np.log(1.25))
    for axis in (0, 1):
        shift = windows[:, axis, 2]
        assert (np.abs(shift) <= np.maximum(1 - sides, 0) + 1e-6).all(), "a small window lies in the picture"
        smaller = sides < 0.9
        assert uniform_between(shift[smaller] / (1 - sides[smaller]), -1, 1), "and anywhere in it"


def test_translation():
    windows = drawn(translation=0.1)["window"]
    for axis in (0, 1):
        assert uniform_between(windows[:, axis, 2], -0.2, 0.2)  # relative to a side of 2
    assert abs(np.corrcoef(windows[:, 0, 2], windows[:, 1, 2])[0, 1]) < 0.05


def test_perspective():
    windows = drawn(perspective=20.0)["window"]
    tilt_y = np.degrees(np.arcsin(windows[:, 2, 0] * FOCAL))
    assert uniform_between(tilt_y, -20, 20)
    assert np.allclose(windows[:, 0, 0], np.cos(np.radians(tilt_y)), atol=1e-5)
    tilt_x = np.degrees(np.arccos(np.clip(windows[:, 1, 1], -1, 1))) * -np.sign(windows[:, 2, 1])
    assert uniform_between(tilt_x, -20, 20)


# --- colours
def test_gamma():
    assert uniform_between(np.log(drawn(gamma=0.2)["gamma"]), -0.2, 0.2)


def in_yiq(colour):
    return YIQ @ colour[:, :, :3].astype(float) @ np.linalg.inv(YIQ)


def test_hue():
    turned = in_yiq(drawn(hue=30.0)["colour"])
    assert uniform_between(np.degrees(np.arctan2(turned[:, 2, 1], turned[:, 1, 1])), -30, 30)
    assert np.allclose(np.linalg.det(turned), 1, atol=1e-5)


def test_tint_is_a_factor_for_each_channel():
    colour = drawn(tint=0.3)["colour"][:, :, :3]
    factors = np.diagonal(colour, axis1=1, axis2=2)
    assert np.allclose(colour, factors[:, :, None] * np.eye(3), atol=1e-5)
    for channel in range(3):
        assert uniform_between(np.log(factors[:, channel]), -0.3, 0.3)
    assert np.abs(np.corrcoef(factors.T) - np.eye(3)).max() < 0.05


def test_blur():
    blur = drawn(blur=0.25)["blur"]
    assert np.mean(blur > 0) == pytest.approx(0.25, abs=0.03)
    assert uniform_between(blur[blur > 0], 0, 1)
    assert not drawn(blur=0.0)["blur"].any()


def test_saturation():
    turned = in_yiq(drawn(saturation=0.4)["colour"])
    assert uniform_between(turned[:, 1, 1], 0.6, 1.4)
    assert np.allclose(turned[:, 0, 0], 1, atol=1e-5), "brightness stays"


def test_brightness():
    colour = drawn(brightness=0.1)["colour"]
    assert uniform_between(colour[:, 0, 3], -0.1, 0.1)
    assert np.allclose(colour[:, :, :3], np.eye(3), atol=1e-6) and (colour[:, 0, 3] == colour[:, 2, 3]).all()


def test_contrast_is_about_middle_grey():
    colour = drawn(contrast=0.2)["colour"]
    assert uniform_between(colour[:, 0, 0], 0.8, 1.2)
    assert np.allclose(colour @ [0.5, 0.5, 0.5, 1], 0.5, atol=1e-6)


# --- boxes and mixtures
def test_cutout():
    boxes = drawn(cutout=Cutout(0.5, (0.3, 0.5)))["cutout"]
    sides = (boxes[:, 2:] - boxes[:, :2]) / 2
    has_box = sides[:, 0] > 0
    assert share(has_box, 0.5) and not sides[~has_box].any()
    assert boxes.min() >= -1 and boxes.max() <= 1
    off_edges = has_box & (np.abs(boxes) < 1).all(axis=1)
    assert np.allclose(sides[off_edges, 0], sides[off_edges, 1], atol=1e-6)
    assert sides[off_edges].min() >= 0.3 and sides[has_box].max() <= 0.5 + 1e-6
    centres = boxes[off_edges][:, :2] + sides[off_edges]
    assert np.abs(centres.mean(axis=0)).max() < 0.05 and centres.std() > 0.3


def test_mixup_keeps_the_larger_part():
    keep = drawn(mixup=Mixing(0.5, 0.4))["keep"]
    blended = keep[keep < 1]
    assert share(keep < 1, 0.5) and blended.min() >= 0.5
    symmetric = np.random.default_rng(0).beta(0.4, 0.4, 100_000)
    assert blended.mean() == pytest.approx(np.maximum(symmetric, 1 - symmetric).mean(), abs=0.02)


def test_cutmix_areas():
    boxes = drawn(cutmix=Mixing(0.5, 1.0))["cutmix"]
    assert share(areas(boxes) > 0, 0.5) and 0.9 < areas(boxes).max() <= 1
    off_edges = (areas(boxes) > 0) & (np.abs(boxes) < 1).all(axis=1)
    widths, heights = (np.ptp(boxes[off_edges][:, axis::2], axis=1) for axis in (0, 1))
    assert np.allclose(widths, heights, atol=1e-6)


def test_a_picture_is_mixed_in_one_way_at_most():
    draws = drawn(mixup=Mixing(0.4, 0.4), cutmix=Mixing(0.6, 1.0))
    blended, pasted = draws["keep"] < 1, areas(draws["cutmix"]) > 0
    assert share(blended, 0.4) and share(pasted, 0.6) and not (blended & pasted).any()


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
    draws = draw(replace(NO_VARIATION, **mixture), COUNT, 5, 0)
    labels = mixed_labels(draws, LABELS)
    assert labels.dtype == np.float32 and np.allclose(labels.sum(axis=1), 1)
    assert (labels.max(axis=1) < 0.95).sum() >= 4, "really mixed"
    assert np.abs(seen(draws) - labels).max() < tolerance


def test_mixed_one_way_or_the_other_in_one_batch():
    chosen = replace(NO_VARIATION, mixup=Mixing(0.4, 1.0), cutmix=Mixing(0.4, 1.0))
    draws = draw(chosen, COUNT, 5, 0)
    assert (draws["keep"] < 1).any() and (draws["cutmix"][:, 2] > draws["cutmix"][:, 0]).any()
    assert np.abs(seen(draws) - mixed_labels(draws, LABELS)).max() < 2.5 / SIZE


def test_the_partner_is_the_picture_before():
    draws = plain_draws(COUNT, keep=0.75)
    assert np.allclose(mixed_labels(draws, LABELS), 0.75 * LABELS + 0.25 * np.roll(LABELS, 1, axis=0))
    assert np.abs(seen(draws) - mixed_labels(draws, LABELS)).max() < 1e-5


def test_a_pasted_quarter():
    draws = plain_draws(COUNT, cutmix=[-1.0, 0.0, 0.0, 1.0])  # the lower left one
    mixed = apply(np.ascontiguousarray(PIXELS), draws, 8)
    before = np.roll(LABELS, 1, axis=0)
    for picture, own, partner in zip(mixed, LABELS, before):
        assert np.abs(picture[4:, :4] - partner).max() < 1e-5
        assert np.abs(picture[:4] - own).max() < 1e-5 and np.abs(picture[:, 4:] - own).max() < 1e-5
    assert np.allclose(mixed_labels(draws, LABELS), 0.75 * LABELS + 0.25 * before)


def test_a_cutout_is_grey_and_keeps_the_label():
    draws = plain_draws(COUNT, cutout=[0.0, -1.0, 1.0, 0.0])  # the upper right quarter
    mixed = apply(np.ascontiguousarray(PIXELS), draws, 8)
    assert (mixed[:, :4, 4:] == FILL).all() and np.abs(mixed[:, 4:] - LABELS[:, None, None]).max() < 1e-5
    assert np.array_equal(mixed_labels(draws, LABELS), LABELS)


def test_cutout_is_applied_after_mixing():
    everything = replace(NO_VARIATION, mixup=Mixing(1.0, 1.0), cutout=Cutout(1.0, (1.0, 1.0)))
    draws = draw(everything, COUNT, 5, 0)
    mixed = apply(np.ascontiguousarray(PIXELS), draws, 32)
    grey = (mixed == FILL).all(axis=-1).mean(axis=(1, 2))
    assert np.abs(grey - np.prod(draws["cutout"][:, 2:] - draws["cutout"][:, :2], axis=1) / 4).max() < 2.5 / 32
    assert grey.min() > 0.1 and grey.max() < 1


GREY = np.linspace(0, 255, 16).astype(np.uint8)[:, None, None, None] * np.ones((1, 4, 4, 3), np.uint8)


def one_colour(rgb):
    return np.full((1, 4, 4, 3), rgb, np.uint8)


def drawn_until(expected, **changed):
    """Return a draw of one image for which ``expected`` holds."""
    chosen = replace(NO_VARIATION, **changed)
    return next(draws for draws in (draw(chosen, 1, 1, epoch) for epoch in range(500)) if expected(draws))


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_gamma_is_a_power(gamma):
    pixels = pictures(3, 6)
    pixels[0], pixels[1] = 0, 255
    result = apply(pixels, plain_draws(3, gamma=gamma), 6)
    assert np.abs(result - (pixels / 255.0) ** gamma).max() < 1e-4
    assert (result[0] < 1e-6).all() and np.allclose(result[1], 1), "black stays black, and white white"


def test_brightness_is_added_and_clipped():
    colour = np.eye(3, 4)
    colour[:, 3] = 0.1
    pixels = pictures(2, 6)
    assert np.abs(apply(pixels, plain_draws(2, colour=colour), 6) - np.minimum(pixels / 255.0 + 0.1, 1)).max() < 1e-5
    colour[:, 3] = -0.1
    assert np.abs(apply(pixels, plain_draws(2, colour=colour), 6) - np.maximum(pixels / 255.0 - 0.1, 0)).max() < 1e-5


def test_grey_has_no_hue_and_no_saturation():
    draws = draw(replace(NO_VARIATION, hue=180.0, saturation=1.0), len(GREY), 1, 0)
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
    chosen = replace(NO_VARIATION, hue=180.0, saturation=1.0, brightness=0.5, contrast=1.0, gamma=1.0)
    result = apply(pictures(64, 5), draw(chosen, 64, 1, 0), 5)
    assert result.min() == 0 and result.max() == 1 and result.dtype == np.float32


def boxed(picture, side):
    """Average over ``side`` pixels in both directions, and over fewer at an edge."""
    size = len(picture)
    offsets = range(-(side // 2), side // 2 + 1)
    positions = np.arange(size)[:, None]
    rows = np.array([positions == index + step for index in range(size) for step in offsets], float)
    weights = rows.reshape(size, side, size).sum(axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ab,cd,bde->ace", weights, weights, picture, optimize=True)


@pytest.mark.parametrize("size, side", [(120, 3), (257, 5)])
def test_two_box_filters(size, side):
    pixels = pictures(1, size)
    sharp, soft, half = (apply(pixels, plain_draws(1, blur=blur), size)[0] for blur in (0.0, 1.0, 0.5))
    assert np.abs(soft - boxed(boxed(pixels[0] / 255.0, side), side)).max() < 1e-4
    assert np.abs(half - (sharp + soft) / 2).max() < 1e-5
    assert soft.std() < 0.4 * sharp.std()


def test_small_pictures_stay_sharp():
    pixels = pictures(1, 33)
    assert np.abs(apply(pixels, plain_draws(1, blur=1.0), 33)[0] - pixels[0] / 255.0).max() < 1e-4
