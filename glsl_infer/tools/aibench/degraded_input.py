"""Input image of a test: a photograph with the degradation that the test's network was trained to remove.

The page and the app show it next to the network's result. It is stored in the bundle's folder, under the bundle's name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter, ImageOps

from glsl_infer.support.child_process import ROOT
from glsl_infer.support.files import replacing
from glsl_infer.tools.aibench.tests import Test

PICTURES = ROOT / "docs/images"
"""Photographs of a checkout, ``.jpg`` among other images. The statistics of the networks come from them too."""

SCALE = 3
"""Scale of test 5."""

SOFT, NOISE = 0.7, 0.012
"""Degradation of test 8: standard deviation of the blur in pixels, and of the noise."""

Change = Callable[[Image.Image], Image.Image]


def blurred(sharp: Image.Image) -> Image.Image:
    """Return the image with the Gaussian blur of test 4."""
    return sharp.filter(ImageFilter.GaussianBlur(1.6))


def enlarged(sharp: Image.Image) -> Image.Image:
    """Return the grey image of test 5: reduced to a third by a bicubic filter, and enlarged again by one."""
    grey = sharp.convert("L")
    small = grey.resize((grey.width // SCALE, grey.height // SCALE), Image.Resampling.BICUBIC)
    return small.resize(grey.size, Image.Resampling.BICUBIC)


def dull(sharp: Image.Image) -> Image.Image:
    """Return the image of test 8: soft, pale, dark, yellow and noisy, as in ``training/aibench/patches.py``."""
    pixels = np.asarray(sharp.filter(ImageFilter.GaussianBlur(SOFT)), np.float64) / 255.0
    grey = pixels.mean(axis=-1, keepdims=True)
    dark = 0.7 * (0.06 + 0.88 * (grey + 0.6 * (pixels - grey))) ** 1.15 * np.array([1.0, 0.95, 0.8])
    noisy = dark + NOISE * np.random.default_rng(2018).standard_normal(dark.shape)
    return Image.fromarray(np.uint8(np.clip(255.0 * noisy + 0.5, 0, 255)))


CHANGES: dict[str, Change] = {"srcnn": blurred, "vdsr": enlarged, "dped": dull}
"""Degradation that each network is trained to remove, by network."""


def centre_of(photograph: Path, width: int, height: int) -> Image.Image:
    """Return the largest centred part of a photograph with this aspect ratio, resized to a width and height."""
    with Image.open(photograph) as image:
        return ImageOps.fit(image.convert("RGB"), (width, height), Image.Resampling.LANCZOS)


def typical(test: Test, folder: Path) -> Path:
    """Write photographs in the size of a test's network, for the ranges of its export; return the folder.

    Args:
        test: the test.
        folder: folder to write to.
    """
    for path in sorted(PICTURES.glob("*.jpg")):
        write(test, path, (test.width, test.height), folder / f"{path.stem}.png")
    return folder


def write(test: Test, photograph: Path, size: tuple[int, int], path: Path) -> None:
    """Write the input image of a test as PNG.

    Args:
        test: the test.
        photograph: the photograph to degrade.
        size: width and height of the network's input.
        path: the PNG file.
    """
    sharp = centre_of(photograph, *size)
    picture = CHANGES[test.network](sharp) if test.network in CHANGES else sharp
    with replacing(path) as target:
        picture.save(target, format="PNG")
