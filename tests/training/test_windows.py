"""Windows of images against an independent resampler, and the contact sheet of variations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from apply_variations import NO_VARIATION, apply, pictures, plain
from PIL import Image

from glsl_infer.errors import InputError
from training.augmentation import draw
from training.preview import COLUMNS, ROWS, contact_sheet
from training.recipe import Recipe
from training.recipe_augmentation import Augmentation
from training.variation import PicturesOnDevice, pack

WILD = Augmentation(rotation=180.0, scale=(0.5, 2.0), translation=0.3, perspective=40.0, saturation=0, brightness=0)


def resampled(picture, window, size):
    """Resample pixel by pixel, in float64: np.pad mirrors the image instead of folding coordinates."""
    side = len(picture)
    border = 6 * side
    mirrored = np.pad(picture / 255.0, ((border, border), (border, border), (0, 0)), mode="symmetric")
    result = np.empty((size, size, 3))
    for row in range(size):
        for column in range(size):
            position = window.astype(float) @ [(2 * column + 1) / size - 1, (2 * row + 1) / size - 1, 1]
            x, y = (position[:2] / position[2] + 1) / 2 * side - 0.5 + border
            left, top = int(np.floor(x)), int(np.floor(y))
            corners = mirrored[top : top + 2, left : left + 2]
            across = corners[:, 0] * (1 - (x - left)) + corners[:, 1] * (x - left)
            result[row, column] = across[0] * (1 - (y - top)) + across[1] * (y - top)
    return result


@pytest.mark.parametrize("side, size", [(13, 9), (8, 17)])
def test_windows_are_homographies(side, size):
    pixels, windows = pictures(12, side), draw(WILD, 12, 1, 2)["window"]
    result = apply(pixels, plain(12, window=windows), size)
    expected = np.stack([resampled(image, window, size) for image, window in zip(pixels, windows)])
    assert expected.std() > 0.1 and np.ptp(windows, axis=0)[:2].max() > 1
    assert np.abs(result - expected).max() < 2e-4  # coordinates are float32


def test_a_plain_draw_is_the_picture():
    pixels = pictures(5, 11)
    pixels[0], pixels[1] = 0, 255
    assert np.abs(apply(pixels, plain(5), 11) - pixels / 255.0).max() < 1e-5


@pytest.mark.parametrize("size", [13, 29])
def test_a_plain_draw_at_another_size_is_the_bilinear_resize(size):
    pixels = pictures(3, 17)
    outcome = apply(pixels, plain(3), size)
    if size > 17:  # Pillow's filter grows with the step when it reduces an image; this one does not
        for image, result in zip(pixels, outcome):
            expected = Image.fromarray(image).resize((size, size), Image.Resampling.BILINEAR)
            assert np.abs(result * 255 - np.asarray(expected)).max() < 1.01
    expected = np.stack([resampled(image, np.eye(3), size) for image in pixels])
    assert np.abs(outcome - expected).max() < 1e-4


@pytest.mark.parametrize(
    "window, expected",
    [
        ([[-1, 0, 0], [0, 1, 0], [0, 0, 1]], lambda p: p[:, ::-1]),
        ([[0, -1, 0], [1, 0, 0], [0, 0, 1]], np.rot90),
        ([[0.5, 0, -0.5], [0, 0.5, -0.5], [0, 0, 1]], None),
        ([[1, 0, 2], [0, 1, 0], [0, 0, 1]], lambda p: p[:, ::-1]),
    ],
)
def test_windows_mirror_turn_and_shift_as_in_numpy(window, expected):
    pixels = pictures(1, 8)
    if expected is None:  # the upper left quarter, at its own size
        assert np.abs(apply(pixels, plain(1, window=window), 4)[0] - pixels[0, :4, :4] / 255.0).max() < 1e-5
    else:
        assert np.abs(apply(pixels, plain(1, window=window), 8)[0] - expected(pixels[0]) / 255.0).max() < 1e-5


def test_pictures_are_selected_by_index():
    pixels = pictures(6, 5)
    draws = plain(4)
    draws["index"] = np.array([5, 0, 3, 3], np.int32)
    assert np.abs(apply(pixels, draws, 5) - pixels[[5, 0, 3, 3]] / 255.0).max() < 1e-5


def test_the_variation_is_the_same_at_every_size():
    smooth = np.asarray(Image.fromarray(pictures(1, 4)[0]).resize((40, 40), Image.Resampling.BICUBIC))[None]
    draws = plain(1, window=draw(WILD, 1, 1, 2)["window"], cutout=[-0.5, -0.5, 0.25, 0.5], gamma=0.8)
    small, large = apply(smooth, draws, 20)[0], apply(smooth, draws, 60)[0]
    averaged = large.reshape(20, 3, 20, 3, 3).mean(axis=(1, 3))
    assert np.mean(np.abs(small - averaged)) < 0.01


def test_packed_pixels_have_a_byte_for_each_channel():
    pixels = pictures(2, 3)
    packed = pack(pixels)
    assert packed.dtype == np.int32 and packed.shape == (18,)
    channels = np.stack([(packed >> shift) & 255 for shift in (0, 8, 16)], axis=-1)
    assert np.array_equal(channels.reshape(pixels.shape), pixels)


def test_too_many_pixels_for_32_bit_indices_are_refused():
    many = np.broadcast_to(np.zeros(1, np.uint8), (40_000, 256, 256, 3))
    with pytest.raises(InputError, match="--input-size"):
        PicturesOnDevice(many)


SIDE = 12


def cells(path):
    with Image.open(path) as opened:
        sheet = np.asarray(opened)
    rows = sheet.shape[0] // SIDE
    return sheet.reshape(rows, SIDE, COLUMNS, SIDE, 3).swapaxes(1, 2)


def test_a_contact_sheet_has_a_picture_and_its_augmentations_in_a_row(tmp_path):
    pixels = pictures(20, SIDE)
    contact_sheet(tmp_path / "new" / "sheet.png", pixels, Recipe(augmentation=replace(NO_VARIATION, flip=0.5)), SIDE)
    result = cells(tmp_path / "new" / "sheet.png")
    assert len(result) == ROWS
    indices = []
    for row in result:
        (index,) = [i for i, image in enumerate(pixels) if np.array_equal(row[0], image)]
        indices.append(index)
        for cell in row[1:]:
            assert np.array_equal(cell, pixels[index]) or np.array_equal(cell, pixels[index][:, ::-1])
    assert len(set(indices)) == ROWS
    flipped = [not np.array_equal(cell, row[0]) for row in result for cell in row[1:]]
    assert 0.2 < np.mean(flipped) < 0.8


def test_few_pictures_make_a_short_sheet(tmp_path):
    contact_sheet(tmp_path / "sheet.png", pictures(2, SIDE), Recipe(), SIDE)
    assert len(cells(tmp_path / "sheet.png")) == 2


def test_a_suffix_of_another_format_is_refused(tmp_path):
    (tmp_path / "notes.doc").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.doc"):
        contact_sheet(tmp_path / "notes.doc", pictures(2, SIDE), Recipe(), SIDE)
    assert (tmp_path / "notes.doc").read_text() == "mine"
