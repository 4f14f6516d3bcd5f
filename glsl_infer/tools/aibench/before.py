"""The picture that a test begins with: a photograph, spoilt as the test's network is to undo it.

The page and the app show it beside what the network makes of it. It lies beside the bundle, under the bundle's name.
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
"""A checkout's photographs, .jpg, among other pictures; networks' statistics are from these as well."""

SCALE = 3
"""Of test 5."""

SOFT, NOISE = 0.7, 0.012
"""Of test 8: a blur's standard deviation in pixels, and that of the noise."""

Change = Callable[[Image.Image], Image.Image]


def blurred(sharp: Image.Image) -> Image.Image:
    """Test 4: a Gaussian blur."""
    return sharp.filter(ImageFilter.GaussianBlur(1.6))


def enlarged(sharp: Image.Image) -> Image.Image:
    """Test 5: grey, a third as high and wide by a bicubic filter, and as large again by one."""
    grey = sharp.convert("L")
    small = grey.resize((grey.width // SCALE, grey.height // SCALE), Image.Resampling.BICUBIC)
    return small.resize(grey.size, Image.Resampling.BICUBIC)


def dull(sharp: Image.Image) -> Image.Image:
    """Test 8: soft, pale, dark, yellow and noisy, as ``training/aibench/patches.py`` has it."""
    pixels = np.asarray(sharp.filter(ImageFilter.GaussianBlur(SOFT)), np.float64) / 255.0
    grey = pixels.mean(axis=-1, keepdims=True)
    dark = 0.7 * (0.06 + 0.88 * (grey + 0.6 * (pixels - grey))) ** 1.15 * np.array([1.0, 0.95, 0.8])
    noisy = dark + NOISE * np.random.default_rng(2018).standard_normal(dark.shape)
    return Image.fromarray(np.uint8(np.clip(255.0 * noisy + 0.5, 0, 255)))


CHANGES: dict[str, Change] = {"srcnn": blurred, "vdsr": enlarged, "dped": dull}
"""By network: what it is trained to undo."""


def cut(photograph: Path, width: int, height: int) -> Image.Image:
    """Return the middle of a photograph with a number of pixels."""
    with Image.open(photograph) as image:
        return ImageOps.fit(image.convert("RGB"), (width, height), Image.Resampling.LANCZOS)


def typical(test: Test, folder: Path) -> Path:
    """Write photographs as a test's network reads them, for the ranges of its export; return the folder.

    Args:
        test: which.
        folder: where to write them.
    """
    for path in sorted(PICTURES.glob("*.jpg")):
        write(test, path, (test.width, test.height), folder / f"{path.stem}.png")
    return folder


def write(test: Test, photograph: Path, size: tuple[int, int], path: Path) -> None:
    """Write the picture that a test begins with as PNG.

    Args:
        test: which.
        photograph: what is spoilt.
        size: width and height that the network reads.
        path: of the PNG file.
    """
    sharp = cut(photograph, *size)
    picture = CHANGES[test.network](sharp) if test.network in CHANGES else sharp
    with replacing(path) as target:
        picture.save(target, format="PNG")
