"""The AI Benchmark's networks have the parameters of the paper's table, and signals that live."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.tools.aibench.tests import TESTS
from training.aibench.build import batch, build, photographs
from training.aibench.networks import NETWORKS, Network

SMALL = {"srcnn": (24, 24), "vdsr": (24, 24), "srgan": (16, 16), "icnet": (192, 192), "dped": (16, 24)}
"""Pictures of (height, width) that are quick to compute; parameters do not depend on them."""


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_parameters_are_the_papers(network: Network) -> None:
    size = SMALL.get(network.name, (160, 160))
    count = network.build(*size).count_params()
    assert abs(count / network.parameters - 1.0) <= 0.03 or network.difference, f"{count} parameters"


def test_the_command_knows_the_same_networks() -> None:
    ours = {network.name: (network.width, network.height, network.values) for network in NETWORKS}
    assert {test.network: (test.width, test.height, test.values) for test in TESTS} == ours


@pytest.mark.parametrize("name", ["srcnn", "vdsr", "srgan", "dped"])
def test_signals_live_and_weights_are_the_same_each_time(name: str) -> None:
    (network,) = (entry for entry in NETWORKS if entry.name == name)
    height, width = SMALL[name]
    first, second = build(network, height, width), build(network, height, width)
    pictures = batch(network, height, width, first.input_shape[-1])
    made = np.asarray(first(pictures))
    assert np.array_equal(made, np.asarray(second(pictures)))
    assert np.isfinite(made).all() and 0.01 < made.std() < 10.0
    assert np.abs(made[0] - made[1]).mean() > 0.01, "it does not look at the picture"


def blurred(sharp: Image.Image) -> Image.Image:
    """A Gaussian blur of 1.6 pixels, cut off at 4."""
    line = np.exp(-0.5 * (np.arange(-4, 5) / 1.6) ** 2)
    pixels = np.asarray(sharp, np.float64)
    for axis in (0, 1):
        pixels = np.apply_along_axis(np.convolve, axis, pixels, line / line.sum(), mode="same")
    return Image.fromarray(np.rint(pixels).astype(np.uint8))


def enlarged(sharp: Image.Image) -> Image.Image:
    """A third as wide and high, and as large again."""
    small = sharp.resize((sharp.width // 3, sharp.height // 3), Image.Resampling.BICUBIC)
    return small.resize(sharp.size, Image.Resampling.BICUBIC)


def dull(sharp: Image.Image) -> Image.Image:
    """Pale, dark and yellow."""
    pixels = np.asarray(sharp, np.float64) / 255.0
    grey = pixels.mean(axis=2, keepdims=True)
    dark = 0.7 * (0.06 + 0.88 * (grey + 0.57 * (pixels - grey))) ** 1.15 * [1.0, 0.95, 0.8]
    return Image.fromarray(np.rint(255.0 * dark).astype(np.uint8))


@pytest.mark.parametrize(
    ("name", "worse", "gain"), [("srcnn", blurred, 3.0), ("vdsr", enlarged, 0.7), ("dped", dull, 6.0)]
)
def test_trained_networks_do_what_they_are_for(name: str, worse: Callable[..., Image.Image], gain: float) -> None:
    """PSNR of 96x96 pixels of four photographs, in dB, without their edges."""
    (network,) = (entry for entry in NETWORKS if entry.name == name)
    model = build(network, 96, 96)
    mode = "L" if model.input_shape[-1] == 1 else "RGB"
    sharp = []
    for path in photographs()[:4]:
        with Image.open(path) as image:
            whole = image.convert(mode)
        left, top = (whole.width - 192) // 2, (whole.height - 192) // 2
        sharp.append(whole.crop((left, top, left + 192, top + 192)).resize((96, 96), Image.Resampling.LANCZOS))
    wanted, given = (
        np.stack([np.asarray(picture, np.float32).reshape(96, 96, -1) / 255.0 for picture in pictures])
        for pictures in (sharp, [worse(picture) for picture in sharp])
    )

    def psnr(pictures: NDArray[np.float32]) -> float:
        error = (np.clip(pictures, 0.0, 1.0) - wanted)[:, 8:-8, 8:-8]
        return float(np.mean(-10.0 * np.log10((error**2).mean(axis=(1, 2, 3)))))

    assert psnr(np.asarray(model(given))) >= psnr(given) + gain
