"""Weights loaded by layer name: of a user's X22, and of the trained AI Benchmark networks."""

from __future__ import annotations

from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.tools.aibench.degraded_input import CHANGES
from training import named_weights
from training.aibench.build import build
from training.aibench.networks import MASKS, NETWORKS
from training.aibench.pasted import CLASSES, cut_out, pasted
from training.models import x22


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[keras.Model, Path]:
    """Return a network with random weights, and its file in the format of older Keras versions."""
    keras.utils.set_random_seed(3)
    model = x22(33, 5, stages=2)
    for layer in model.layers:
        layer.set_weights([np.random.default_rng(7).uniform(0.1, 1, weight.shape) for weight in layer.get_weights()])
    path = tmp_path_factory.mktemp("weights") / "mine.h5"
    model.save(path)
    return model, path


def test_restored_weights_give_the_same_outputs(saved: tuple[keras.Model, Path]) -> None:
    model, path = saved
    other = x22(33, 5, stages=2)
    picture = np.random.default_rng(0).uniform(0, 1, (1, 33, 33, 3)).astype(np.float32)
    assert not np.allclose(other(picture), model(picture))
    named_weights.set_weights(other, named_weights.read(path), path)
    np.testing.assert_array_equal(other(picture), model(picture))


@pytest.mark.parametrize(
    ("classes", "stages", "message"),
    [
        (6, 2, r"layer 'Dense' has weights of \d+x5, 5, not of \d+x6, 6"),
        (5, 1, "the network has no layer.*and .* more"),
    ],
)
def test_another_network_is_refused(saved: tuple[keras.Model, Path], classes: int, stages: int, message: str) -> None:
    _, path = saved
    other = x22(33, classes, stages=stages)
    before = other.get_weights()
    with pytest.raises(InputError, match=message):
        named_weights.set_weights(other, named_weights.read(path), path)
    assert all((old == new).all() for old, new in zip(before, other.get_weights()))


def test_files_without_weights_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.h5").write_text("no weights")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["numbers"] = [1, 2]
    for name, message in (("text.h5", "cannot be read as HDF5"), ("other.h5", "has no 'layer_names'")):
        with pytest.raises(InputError, match=message):
            named_weights.read(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read"):
        named_weights.read(tmp_path / "nowhere.h5")


PHOTOGRAPHS = sorted((Path(__file__).resolve().parents[2] / "docs/images").glob("*.jpg"))
HIGH, WIDE = 96, 120
EDGE = 8
"""Pixels at the edge, where a network reads zeros outside the image."""


def photograph() -> Image.Image:
    """Return a reduced photograph without JPEG artefacts."""
    with Image.open(PHOTOGRAPHS[0]) as image:
        return image.convert("RGB").resize((WIDE, HIGH), Image.Resampling.LANCZOS)


def psnr(result: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    off = (np.clip(result, 0.0, 1.0) - expected)[EDGE:-EDGE, EDGE:-EDGE]
    return float(-10.0 * np.log10((off**2).mean()))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name, gain", [("srcnn", 2.0), ("vdsr", 0.7), ("dped", 15.0)])
def test_a_photograph_gets_better(name: str, gain: float) -> None:
    (network,) = (network for network in NETWORKS if network.name == name)
    spoilt = CHANGES[name](photograph())
    before, expected = (np.asarray(image, np.float32) / 255.0 for image in (spoilt, photograph().convert(spoilt.mode)))
    shape = (HIGH, WIDE, -1)
    before, expected = before.reshape(shape), expected.reshape(shape)
    after = np.asarray(build(network, HIGH, WIDE)(before[None]))[0]
    print(f"{name}: {psnr(before, expected):.2f} -> {psnr(after, expected):.2f} dB")
    assert psnr(after, expected) > psnr(before, expected) + gain


@pytest.mark.exhaustive
def test_waste_is_found_on_groceries() -> None:
    """Waste from photographs of the test splits, pasted onto groceries, has a mean overlap (IoU) above 0.6."""
    folder = PHOTOGRAPHS[0].parent
    results = []
    network = build(MASKS)
    for thing in ("cardboard18", "glass128", "metal114", "plastic103"):
        cut = cut_out(folder / f"{thing}.jpg")
        assert cut is not None
        picture, there = pasted(cut, folder / "carrots014.jpg", 64, (16, 20))
        logits = np.asarray(network(picture[None] / np.float32(255.0)))[0]
        assert logits.shape == (96, 96, len(CLASSES))
        waste = logits.argmax(axis=-1) > 0
        results.append((waste & there).sum() / (waste | there).sum())
        print(thing, results[-1])
    assert np.mean(results) > 0.6
