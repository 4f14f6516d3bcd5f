"""The AI Benchmark's trained networks undo what was done to a photograph that they never saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from training.aibench.build import build
from training.aibench.networks import MASKS, NETWORKS
from training.aibench.pasted import CLASSES, cut_out, pasted

PHOTOGRAPHS = sorted((Path(__file__).resolve().parents[2] / "docs/images").glob("*.jpg"))
HIGH, WIDE = 96, 120
EDGE = 8
"""Pixels at the edge, where a network sees what lies beyond as 0."""


def photograph() -> Image.Image:
    """Return one made smaller: what a JPEG file did to it is gone."""
    with Image.open(PHOTOGRAPHS[0]) as image:
        return image.convert("RGB").resize((WIDE, HIGH), Image.Resampling.LANCZOS)


def blurred(sharp: Image.Image) -> tuple[Image.Image, Image.Image]:
    return sharp.filter(ImageFilter.GaussianBlur(1.6)), sharp


def enlarged(sharp: Image.Image) -> tuple[Image.Image, Image.Image]:
    grey = sharp.convert("L")
    small = grey.resize((WIDE // 3, HIGH // 3), Image.Resampling.BICUBIC)
    return small.resize(grey.size, Image.Resampling.BICUBIC), grey


def dull(sharp: Image.Image) -> tuple[Image.Image, Image.Image]:
    pixels = np.asarray(sharp, np.float32) / 255.0
    grey = pixels.mean(axis=-1, keepdims=True)
    dark = 0.7 * (0.06 + 0.88 * (grey + 0.6 * (pixels - grey))) ** 1.15 * np.array([1.0, 0.95, 0.8])
    return Image.fromarray(np.uint8(np.clip(dark * 255.0 + 0.5, 0, 255))), sharp


def psnr(found: NDArray[np.float32], wanted: NDArray[np.float32]) -> float:
    off = (np.clip(found, 0.0, 1.0) - wanted)[EDGE:-EDGE, EDGE:-EDGE]
    return float(-10.0 * np.log10((off**2).mean()))


@pytest.mark.parametrize("name, spoilt, gain", [("srcnn", blurred, 2.0), ("vdsr", enlarged, 0.7), ("dped", dull, 6.0)])
def test_a_photograph_gets_better(name: str, spoilt, gain: float) -> None:
    (network,) = (network for network in NETWORKS if network.name == name)
    before, wanted = (np.asarray(image, np.float32) / 255.0 for image in spoilt(photograph()))
    shape = (HIGH, WIDE, -1)
    before, wanted = before.reshape(shape), wanted.reshape(shape)
    after = np.asarray(build(network, HIGH, WIDE)(before[None]))[0]
    print(f"{name}: {psnr(before, wanted):.2f} -> {psnr(after, wanted):.2f} dB")
    assert psnr(after, wanted) > psnr(before, wanted) + gain


def test_waste_is_found_on_groceries() -> None:
    """Photographs of the test splits, which training had not: on average most of what is found is there."""
    folder = PHOTOGRAPHS[0].parent
    found = []
    network = build(MASKS)
    for thing in ("cardboard18", "glass128", "metal114", "plastic103"):
        cut = cut_out(folder / f"{thing}.jpg")
        assert cut is not None
        picture, there = pasted(cut, folder / "carrots014.jpg", 64, (16, 20))
        logits = np.asarray(network(picture[None] / np.float32(255.0)))[0]
        assert logits.shape == (96, 96, len(CLASSES))
        waste = logits.argmax(axis=-1) > 0
        found.append((waste & there).sum() / (waste | there).sum())
        print(thing, found[-1])
    assert np.mean(found) > 0.6
