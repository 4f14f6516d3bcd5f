"""The trained networks of the AI Benchmark restore a degraded photograph outside their training data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.tools.aibench.before import CHANGES
from training.aibench.build import build
from training.aibench.networks import MASKS, NETWORKS
from training.aibench.pasted import CLASSES, cut_out, pasted

pytestmark = pytest.mark.exhaustive

PHOTOGRAPHS = sorted((Path(__file__).resolve().parents[2] / "docs/images").glob("*.jpg"))
HIGH, WIDE = 96, 120
EDGE = 8
"""Pixels at the edge, where a network reads zeros outside the image."""


def photograph() -> Image.Image:
    """Return a reduced photograph without JPEG artefacts."""
    with Image.open(PHOTOGRAPHS[0]) as image:
        return image.convert("RGB").resize((WIDE, HIGH), Image.Resampling.LANCZOS)


def psnr(found: NDArray[np.float32], wanted: NDArray[np.float32]) -> float:
    off = (np.clip(found, 0.0, 1.0) - wanted)[EDGE:-EDGE, EDGE:-EDGE]
    return float(-10.0 * np.log10((off**2).mean()))


@pytest.mark.parametrize("name, gain", [("srcnn", 2.0), ("vdsr", 0.7), ("dped", 15.0)])
def test_a_photograph_gets_better(name: str, gain: float) -> None:
    (network,) = (network for network in NETWORKS if network.name == name)
    spoilt = CHANGES[name](photograph())
    before, wanted = (np.asarray(image, np.float32) / 255.0 for image in (spoilt, photograph().convert(spoilt.mode)))
    shape = (HIGH, WIDE, -1)
    before, wanted = before.reshape(shape), wanted.reshape(shape)
    after = np.asarray(build(network, HIGH, WIDE)(before[None]))[0]
    print(f"{name}: {psnr(before, wanted):.2f} -> {psnr(after, wanted):.2f} dB")
    assert psnr(after, wanted) > psnr(before, wanted) + gain


def test_waste_is_found_on_groceries() -> None:
    """Waste from photographs of the test splits, pasted onto groceries, has a mean overlap (IoU) above 0.6."""
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
