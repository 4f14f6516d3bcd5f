#!/usr/bin/env python3
"""Create a network with Keras: ``networks_in_keras.py NAME FOLDER`` writes FOLDER/NAME.graph.

NAME is ``mobilenet-varied-64``, or a ``.keras`` file, whose graph is FOLDER/STEM.graph. FOLDER/pictures.npz has uint8
(n, size, size, 3) images: the batch norms of the former get the statistics of ``calibration``. If it also has ``test``
images, the network's outputs are written to FOLDER/NAME.npz.

``keras_graphs.run`` starts this script: TensorFlow and Mesa's LLVM cannot share a process
(glsl_infer/support/llvm_clash.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this checkout's packages, even with a wheel installed

import keras
import keras_graphs
import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.keras import load, to_graph
from glsl_infer.importers.keras.reader import load_model
from training.batch_norm import Recalibrator

VARIED, SIDE, CLASSES, SEED = "mobilenet-varied-64", 64, 120, 25
SIGNED, POSITIVE = (-1.0, 1.0), (0.0, 1.0)
"""Values of bytes 0 and 255."""


def create(pictures: NDArray[np.uint8], side: int = SIDE) -> keras.Model:
    """Return MobileNet v1 0.25 for logits, with random weights and the batch norm statistics of images.

    The factors and offsets of its batch norms are random, which makes channels as different as in a trained network.

    Args:
        pictures: uint8 (n, side, side, 3).
        side: of its image, in pixels.
    """
    keras.utils.set_random_seed(SEED)
    shape = (side, side, 3)
    model: keras.Model = keras.applications.MobileNet(
        alpha=0.25, weights=None, input_shape=shape, classifier_activation=None, classes=CLASSES
    )
    rng = np.random.default_rng(SEED)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            channels = layer.gamma.shape
            layer.gamma.assign(rng.uniform(0.5, 2.5, channels))
            layer.beta.assign(rng.normal(0.0, 0.7, channels))
    Recalibrator(model, scale=1.0).recalibrate(scaled(pictures, SIGNED), len(pictures))
    return model


def scaled(pictures: NDArray[np.uint8], bounds: tuple[float, float]) -> NDArray[np.float32]:
    """Return bytes as the values of a network's input, of which ``bounds`` are those of 0 and 255."""
    low, high = bounds
    return pictures.astype(np.float32) / np.float32(255.0) * np.float32(high - low) + np.float32(low)


def main() -> int:
    """Write the graph, and the outputs; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0], allow_abbrev=False)
    parser.add_argument("network", metavar="NAME", help=f"{VARIED}, or a .keras file")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    arrays = {}
    if (args.folder / "pictures.npz").exists():
        with np.load(args.folder / "pictures.npz") as saved:
            arrays = dict(saved)
    if args.network == VARIED:
        name, bounds = VARIED, SIGNED
        model = create(arrays["calibration"])
        graph = to_graph(model, bounds)
    else:
        name, bounds = Path(args.network).stem, POSITIVE
        model, graph = load_model(args.network), load(Path(args.network))
    keras_graphs.write(graph, args.folder / f"{name}.graph")
    if "test" in arrays:
        outputs = np.asarray(model.predict(scaled(arrays["test"], bounds), batch_size=1, verbose=0))
        np.savez(args.folder / f"{name}.npz", outputs=outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
