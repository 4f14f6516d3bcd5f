#!/usr/bin/env python3
"""Keras' part of scripts/accuracy.py: write graphs and float results to a folder.

Runs in its own process, because TensorFlow and Mesa's LLVM cannot share one (glsl_infer/support/llvm_clash.py).

    accuracy_keras.py trashnet OUT --data DIR --keras FILE --size N   results.npz: logits, pictures, labels
    accuracy_keras.py x22 OUT [--size N] [--activation NAME]          x22.graph: random weights, else 385x385
    accuracy_keras.py mobilenet OUT --pictures FILE.npz               mobilenet-NAME.graph and .npz: logits
    accuracy_keras.py textbook OUT --data DIR --size N                textbook.graph and .npz: logits, pictures, labels
    accuracy_keras.py file OUT --keras FILE                           file.graph
    accuracy_keras.py mobilenetv2 OUT --pictures FILE.npz             mobilenetv2.graph: 0.35, of FILE's calibration
    accuracy_keras.py efficientnet OUT --pictures FILE.npz            efficientnet-lite0.graph: FILE has the weights

``graph_file.read`` reads a ``.graph``. FILE.npz has uint8 (n, size, size, 3) arrays ``calibration`` and ``test``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this checkout's packages, even with a wheel installed

import graph_file
import keras
import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import probe
from glsl_infer.errors import GlslInferError
from glsl_infer.importers.keras import load, to_graph
from training import data, imagenet
from training.batch_norm import Recalibrator
from training.layers import LearnableSigmoid
from training.models import ACTIVATIONS, x22

CLASSES = 120

EPOCHS = 25


def randomise_norms(model: keras.Model, pictures: NDArray[np.float32], seed: int, *, varied: bool = True) -> None:
    """Set the statistics of every batch norm to those of ``pictures``, (n, height, width, 3), scaled for the model.

    If ``varied`` is true, its factors and offsets are drawn first, to make channels as different as in a trained
    network.
    """
    rng = np.random.default_rng(seed)
    for layer in model.layers:
        if varied and isinstance(layer, keras.layers.BatchNormalization):
            channels = layer.gamma.shape
            layer.gamma.assign(rng.uniform(0.5, 2.5, channels))
            layer.beta.assign(rng.normal(0.0, 0.7, channels))
    Recalibrator(model, scale=1.0).recalibrate(pictures, len(pictures))


def random_x22(size: int = 385, activation: str = "piecewise_linear_sigmoid") -> keras.Model:
    """Return X22 with seeded random weights, also in its activations, and the matching batch norm statistics."""
    keras.utils.set_random_seed(22)
    model = x22(size, activation=activation)
    rng = np.random.default_rng(22)
    for layer in model.layers:
        if isinstance(layer, LearnableSigmoid):
            for weight in layer.weights:
                weight.assign(rng.normal(0.0, 0.2, weight.shape))
    randomise_norms(model, probe.picture(size)[None].astype(np.float32) / 255.0, 22)
    return model


def random_mobilenet(pictures: NDArray[np.uint8], *, varied: bool) -> keras.Model:
    """Return MobileNet v1 0.25 for logits, with seeded random weights and the statistics of ``pictures``."""
    keras.utils.set_random_seed(25)
    shape = pictures.shape[1:]
    model = keras.applications.MobileNet(
        weights=None, alpha=0.25, input_shape=shape, classes=CLASSES, classifier_activation=None
    )
    randomise_norms(model, symmetric(pictures), 25, varied=varied)
    return model


def symmetric(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return bytes scaled to [-1, 1], the input range of MobileNet."""
    return pictures.astype(np.float32) / np.float32(127.5) - np.float32(1.0)


def write_trashnet(args: argparse.Namespace) -> None:
    """Write the float results of a trained model on the test split."""
    split = data.find(args.data).splits["test"]
    pictures = data.read(split, args.size, strict=True).pixels
    model = keras.saving.load_model(args.keras, compile=False)
    logits = np.asarray(model.predict(pictures.astype(np.float32) / 255.0, batch_size=32, verbose=0))
    np.savez_compressed(args.out / "results.npz", logits=logits, pictures=pictures, labels=split.labels)


def write_x22(args: argparse.Namespace) -> None:
    """Write the graph of the random X22."""
    model = random_x22(args.size or 385, args.activation)
    graph_file.write(to_graph(model), args.out / "x22.graph")


def write_mobilenet(args: argparse.Namespace) -> None:
    """Write two random MobileNets, and the logits of each for the test images and for slightly noisy copies."""
    with np.load(args.pictures) as saved:
        calibration, test = saved["calibration"], saved["test"]
    noise = np.random.default_rng(0).integers(-1, 2, test.shape)
    noisy = np.clip(test.astype(np.int64) + noise, 0, 255).astype(np.uint8)
    for name, varied in (("varied", True), ("plain", False)):
        model = random_mobilenet(calibration, varied=varied)
        logits, noisy_logits = (
            np.asarray(model.predict(symmetric(batch), batch_size=32, verbose=0)) for batch in (test, noisy)
        )
        graph_file.write(to_graph(model, (-1.0, 1.0)), args.out / f"mobilenet-{name}.graph")
        np.savez_compressed(args.out / f"mobilenet-{name}.npz", logits=logits, noisy=noisy_logits)


def textbook(size: int) -> keras.Model:
    """Return a small network as in any introduction to Keras; its input is bytes, its output logits."""
    layers = keras.layers
    blocks = []
    for filters in (32, 64, 64):
        blocks += [
            layers.Conv2D(filters, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
        ]
    return keras.Sequential(
        [
            keras.Input((size, size, 3)),
            layers.Rescaling(1 / 255),
            layers.RandomFlip("horizontal", seed=1),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            *blocks,
            layers.Flatten(),
            layers.Dropout(0.4, seed=2),
            layers.Dense(64, activation="relu"),
            layers.Dense(6),
        ]
    )


def write_textbook(args: argparse.Namespace) -> None:
    """Train the textbook network on the train split, and write it with its logits for the test split."""
    splits = data.find(args.data).splits
    pictures = {key: data.read(splits[key], args.size, strict=True).pixels for key in ("train", "test")}
    keras.utils.set_random_seed(7)
    model = textbook(args.size)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss)
    model.fit(pictures["train"].astype(np.float32), splits["train"].labels, batch_size=32, epochs=EPOCHS, verbose=0)
    logits = np.asarray(model.predict(pictures["test"].astype(np.float32), batch_size=32, verbose=0))
    graph_file.write(to_graph(model), args.out / "textbook.graph")
    np.savez_compressed(args.out / "textbook.npz", logits=logits, labels=splits["test"].labels, **pictures)


def write_file(args: argparse.Namespace) -> None:
    """Write the graph of a saved model."""
    graph_file.write(load(args.keras), args.out / "file.graph")


def write_mobilenet_v2(args: argparse.Namespace) -> None:
    """Write a random MobileNetV2 with the batch norm statistics of the calibration images."""
    with np.load(args.pictures) as saved:
        calibration = saved["calibration"]
    keras.utils.set_random_seed(35)
    model = keras.applications.MobileNetV2(
        weights=None, alpha=0.35, input_shape=calibration.shape[1:], classifier_activation=None
    )
    randomise_norms(model, symmetric(calibration), 35)
    graph_file.write(to_graph(model, (-1.0, 1.0)), args.out / "mobilenetv2.graph")


def write_efficientnet(args: argparse.Namespace) -> None:
    """Write EfficientNet-Lite0 with the weights of the given file, which have PyTorch's names."""
    with np.load(args.pictures) as saved:
        model = imagenet.with_weights(0, dict(saved))
    graph_file.write(to_graph(model), args.out / "efficientnet-lite0.graph")


TASKS = {
    "mobilenetv2": write_mobilenet_v2,
    "efficientnet": write_efficientnet,
    "trashnet": write_trashnet,
    "x22": write_x22,
    "mobilenet": write_mobilenet,
    "textbook": write_textbook,
    "file": write_file,
}


def main() -> int:
    """Run the requested task; return the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--keras", type=Path)
    parser.add_argument("--size", type=int)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--activation", choices=ACTIVATIONS, default="piecewise_linear_sigmoid")
    args = parser.parse_args()
    try:
        TASKS[args.task](args)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
