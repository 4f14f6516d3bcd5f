#!/usr/bin/env python3
"""Keras' part of applications.py: ``applications_keras.py NAME FOLDER`` writes FOLDER/NAME.keras, with random weights.

Batch norms get the statistics of FOLDER/calibration/*.png. The network's ``outputs`` for FOLDER/test/*.png are written
to FOLDER/NAME.npz, and facts about the network to FOLDER/NAME.facts.json. Any backend of Keras works.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import keras
import numpy as np
from keras import layers
from numpy.typing import NDArray

from glsl_infer.runtime.pictures import preprocess

SEED = 21
HEADLESS = ("VGG16", "VGG19")
"""Networks with fewer than 30 million parameters only without their dense layers."""

OPEN = (*HEADLESS, "MobileNetV3Small", "MobileNetV3Large")
"""Networks without a fixed input size, which must be given."""

STATISTICS = 4
"""Number of images for the statistics of batch norms."""

SIGNED, BYTES = (-1.0, 1.0), (0.0, 255.0)


def network(name: str) -> keras.Model:
    """Return a network of keras.applications with weights under which values neither vanish nor explode.

    Biases, factors and offsets of norms differ from channel to channel, as in a trained network.
    """
    keras.utils.set_random_seed(SEED)
    make = getattr(keras.applications, name)
    shape = (224, 224, 3) if name in OPEN else None
    if name in HEADLESS:
        headless: keras.Model = make(weights=None, include_top=False, input_shape=shape)
        return headless
    model: keras.Model = make(weights=None, classifier_activation=None, input_shape=shape)
    return model


def randomise(model: keras.Model) -> None:
    """Draw all weights again."""
    rng = np.random.default_rng(SEED)
    for weight in model.trainable_weights:
        kind, shape = weight.path.rsplit("/", 1)[1], tuple(weight.shape)
        if kind in {"beta", "bias"}:
            weight.assign(rng.normal(0.0, 0.2, shape))
        elif len(shape) == 1:  # factors of norms, and of ConvNeXt's branches
            weight.assign(rng.uniform(0.5, 1.5, shape))
        else:
            inputs = np.prod(shape[:2]) if "depthwise" in kind or "depthwise" in weight.path else np.prod(shape[:-1])
            weight.assign(rng.normal(0.0, np.sqrt(2.0 / inputs), shape))


@contextlib.contextmanager
def measuring(model: keras.Model) -> Iterator[None]:
    """Let batch norms take a batch's statistics unchanged, and disable dropout."""
    kept = []
    for layer in model.layers:
        name = "momentum" if isinstance(layer, layers.BatchNormalization) else "rate"
        if isinstance(layer, (layers.BatchNormalization, layers.Dropout)):
            kept.append((layer, name, getattr(layer, name)))
            setattr(layer, name, 0.0)
    try:
        yield
    finally:
        for layer, name, value in kept:
            setattr(layer, name, value)


def pictures(folder: Path, model: keras.Model) -> NDArray[np.float32]:
    """Return the images of a folder as bytes, (n, height, width, 3)."""
    height, width = model.input_shape[1:3]
    assert height == width
    return np.stack([preprocess.load(path, height) for path in sorted(folder.glob("*.png"))]).astype(np.float32)


def main() -> None:
    """Write the network and its outputs."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    model = network(name)
    randomise(model)
    fed = BYTES if any(isinstance(layer, layers.Rescaling) for layer in model.layers) else SIGNED

    def values(bytes_: NDArray[np.float32]) -> NDArray[np.float32]:
        return (bytes_ / 255.0 * (fed[1] - fed[0]) + fed[0]).astype(np.float32)

    if any(isinstance(layer, layers.BatchNormalization) for layer in model.layers):
        with measuring(model):
            model(values(pictures(folder / "calibration", model)[:STATISTICS]), training=True)
    outputs = [
        keras.ops.convert_to_numpy(model(values(one[None]), training=False))[0]
        for one in pictures(folder / "test", model)
    ]
    np.savez(folder / f"{name}.npz", outputs=np.stack(outputs))
    model.save(folder / f"{name}.keras")
    classes = int(model.output_shape[-1]) if len(model.output_shape) == 2 else 0
    facts = {"parameters": model.count_params(), "size": model.input_shape[1], "classes": classes, "fed": fed}
    (folder / f"{name}.facts.json").write_text(json.dumps(facts), "utf-8")


if __name__ == "__main__":
    main()
