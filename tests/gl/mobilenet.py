"""MobileNet v1 0.25 at 64 px with random weights, built by Keras in a separate process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import keras_graphs
import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph
from glsl_infer.runtime.pictures.preprocess import open_image

ROOT = Path(__file__).resolve().parents[2]
SIZE, CALIBRATION, TEST = 64, 24, 12
SOURCES = (
    "scripts/bench/networks_in_keras.py",
    "scripts/bench/keras_graphs.py",
    "training",
    "tests/gl/mobilenet.py",
    "docs/images",
)
NAME = "mobilenet-varied-64"


@dataclass(frozen=True)
class MobileNet:
    """The imported graph, Keras' logits of the test images, and calibration and test images, uint8 (n, 64, 64, 3)."""

    graph: Graph
    logits: NDArray[np.float32]
    calibration: NDArray[np.uint8]
    test: NDArray[np.uint8]


def make(folder: Path) -> None:
    """Build the network's files with Keras in ``folder``."""
    pictures = crops(CALIBRATION + TEST)
    calibration, test = pictures[:CALIBRATION], pictures[CALIBRATION:]
    np.savez(folder / "pictures.npz", calibration=calibration, test=test)
    keras_graphs.run(NAME, folder)


def read(folder: Path) -> MobileNet:
    """Return the network written by ``make``."""
    with np.load(folder / "pictures.npz") as saved:
        calibration, test = saved["calibration"], saved["test"]
    with np.load(folder / f"{NAME}.npz") as saved:
        logits = saved["outputs"]
    return MobileNet(keras_graphs.read(folder / f"{NAME}.graph"), logits, calibration, test)


def crops(count: int) -> NDArray[np.uint8]:
    """Return random crops of the photographs in docs/images."""
    rng = np.random.default_rng(0)
    photographs = [open_image(path) for path in sorted((ROOT / "docs/images").glob("*.jpg"))]
    pictures = []
    for index in range(count):
        photograph = photographs[index % len(photographs)]
        side = int(rng.integers(SIZE, min(photograph.size) + 1))
        left, top = (int(rng.integers(length - side + 1)) for length in photograph.size)
        pictures.append(
            np.asarray(photograph.crop((left, top, left + side, top + side)).resize((SIZE, SIZE)), np.uint8)
        )
    return np.stack(pictures)
