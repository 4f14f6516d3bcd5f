"""ICC profiles are converted to sRGB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageCms
from preprocessing_images import (
    BLUE,
    D50,
    GREEN,
    LINEAR,
    RED,
    Pixels,
    icc_profile,
    linear_rgb,
    noise,
    palette_picture,
    saved,
    xyz,
)

from glsl_infer.runtime.pictures import preprocess


def srgb_curve(linear: Pixels) -> NDArray[np.float64]:
    """Convert bytes of linear light to bytes of sRGB (IEC 61966-2-1)."""
    light = linear / 255.0
    return 255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_a_linear_profile_is_converted_to_srgb(tmp_path: Path, suffix: str) -> None:
    pixels = noise(8, 8)
    path = saved(tmp_path, Image.fromarray(pixels), f"a.{suffix}", icc_profile=linear_rgb(RED, GREEN, BLUE))
    assert np.abs(preprocess.load(path, 8) - srgb_curve(pixels)).max() <= 1.5
    assert np.abs(preprocess.load(path, 8).astype(int) - pixels).max() > 40


def test_a_profile_with_red_and_green_exchanged(tmp_path: Path) -> None:
    pixels = noise(8, 8)
    path = saved(tmp_path, Image.fromarray(pixels), icc_profile=linear_rgb(GREEN, RED, BLUE))
    assert np.abs(preprocess.load(path, 8) - srgb_curve(pixels[..., [1, 0, 2]])).max() <= 1.5


def test_a_profile_of_a_palette_picture_and_of_one_with_alpha(tmp_path: Path) -> None:
    exchanged = linear_rgb(GREEN, RED, BLUE)
    palette = saved(tmp_path, palette_picture(), icc_profile=exchanged)
    assert np.abs(preprocess.load(palette, 3)[0] - [[0.0, 255, 0], [255, 0, 0], [0, 0, 255]]).max() <= 1
    alpha = Image.new("RGBA", (3, 3), (255, 0, 0, 0))
    alpha.paste((255, 0, 0, 255), (0, 0, 1, 3))
    row = preprocess.load(saved(tmp_path, alpha, "alpha.png", icc_profile=exchanged), 3)[0]
    assert np.abs(row - [[0.0, 255, 0], [255, 255, 255], [255, 255, 255]]).max() <= 1


def test_a_grey_profile(tmp_path: Path) -> None:
    grey = noise(8, 8)[..., 0]
    profile = icc_profile(b"GRAY", {b"wtpt": xyz(D50), b"kTRC": LINEAR})
    pixels = preprocess.load(saved(tmp_path, Image.fromarray(grey), icc_profile=profile), 8)
    light = grey >= 16  # LittleCMS interpolates grey profiles coarsely near black
    assert light.any()
    assert np.abs(pixels - srgb_curve(grey)[..., None])[light].max() <= 1.5


def test_the_srgb_profile_keeps_pixels(tmp_path: Path) -> None:
    pixels = noise(16, 16)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    path = saved(tmp_path, Image.fromarray(pixels), icc_profile=srgb)
    assert np.abs(preprocess.load(path, 16).astype(int) - pixels).max() <= 1


@pytest.mark.parametrize(
    "profile",
    [b"no profile", linear_rgb(GREEN, RED, BLUE)[:200], icc_profile(b"GRAY", {b"wtpt": xyz(D50), b"kTRC": LINEAR})],
    ids=["garbage", "truncated", "of another colour space"],
)
def test_a_profile_that_cannot_be_used_is_ignored(tmp_path: Path, profile: bytes) -> None:
    pixels = noise(8, 8)
    path = saved(tmp_path, Image.fromarray(pixels), icc_profile=profile)
    assert (preprocess.load(path, 8) == pixels).all()
