#!/usr/bin/env python3
"""Train a small segmentation network on a GPU, for waste and its material.

    python training/aibench/pretrain_masks.py pack ../shared/data .trained/pasted.npz       # where the images are
    python3 training/aibench/pretrain_masks.py train .trained/pasted.npz OUT --seconds 240  # on the GPU

Like ``pretrain.py``, it needs NumPy, JAX and, for ``pack``, Pillow. OUT gets masks.npz, the arrays of Keras'
``get_weights()`` of ``training.aibench.masks``, and masks.json: intersection over union of each class on images of
held-out cut-outs and backgrounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from training.aibench import adam
from training.aibench.pasted import CLASSES, composed, pack

COUNT, STEPS, HIGHEST = 64, 25, 1.5e-3
"""Images in a batch, steps in one call of the GPU, and the largest learning rate."""

WIDTHS = (16, 32, 64, 96, 128)
"""Channels by the number of halvings, as in training.aibench.masks."""

VALIDATION_BATCHES = 12
"""Number of batches of held-out images."""


def start(rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Return initial arrays of the network, in the order of Keras' ``get_weights()``."""
    arrays: list[NDArray[np.float32]] = []

    def conv(side: int, channels: int, filters: int, gain: float = 1.0) -> None:
        scale = gain * (2.0 / (side * side * channels)) ** 0.5
        arrays.append(rng.normal(0.0, scale, (side, side, channels, filters)).astype(np.float32))
        arrays.append(np.zeros(filters, np.float32))

    before = 3
    for width in WIDTHS:
        conv(3, before, width)
        conv(3, width, width)
        before = width
    for width in WIDTHS[-2:0:-1]:
        conv(1, before, width)
        conv(3, width, width)
        before = width
    conv(1, before, len(CLASSES), 0.5)
    return arrays


def network(arrays: list[Any], x: Any) -> Any:
    """Return logits (n, height, width, 7) of images (n, height, width, 3) in [0, 1]."""
    import jax
    from jax import lax
    from jax.nn import relu

    at = iter(range(0, len(arrays), 2))

    def conv(x: Any, strides: int = 1) -> Any:
        index = next(at)
        kernel, bias = arrays[index], arrays[index + 1]
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, kernel, (strides,) * 2, "SAME", dimension_numbers=layout) + bias

    def larger(x: Any) -> Any:
        count, height, width, channels = x.shape
        return jax.image.resize(x, (count, 2 * height, 2 * width, channels), "linear")

    maps = []
    for level in range(len(WIDTHS)):
        x = relu(conv(x, 1 if level == 0 else 2))
        x = relu(conv(x))
        maps.append(x)
    for level in range(len(WIDTHS) - 2, 0, -1):
        x = larger(conv(x)) + maps[level]
        x = relu(conv(x))
    return larger(conv(x))


def learn(data: dict[str, NDArray[np.uint8]], seconds: float) -> tuple[list[Any], dict[str, Any]]:
    """Train for some seconds; return the arrays and the scores."""
    import jax
    import jax.numpy as jnp

    data_on_gpu = {name: jnp.asarray(array) for name, array in data.items()}

    def batch(split: str, key: Any) -> tuple[Any, Any]:
        cuts, materials, backgrounds = (data_on_gpu[f"{split}_{name}"] for name in ("cuts", "materials", "behind"))
        return composed(
            cuts.astype(jnp.float32), materials.astype(jnp.int32), backgrounds.astype(jnp.float32), key, COUNT
        )

    def loss(arrays: list[Any], key: Any) -> Any:
        images, truth = batch("train", key)
        log_probabilities = jax.nn.log_softmax(network(arrays, images))
        return -jnp.take_along_axis(log_probabilities, truth[..., None], axis=-1).mean()

    initial = [jnp.asarray(array) for array in start(np.random.default_rng(2018))]
    settings = adam.Settings(HIGHEST, clip=1.0, steps=STEPS, decay=1e-2)
    averaged, steps = adam.fit(loss, initial, seconds, settings, "masks")
    learnt = [np.asarray(array, np.float16) for array in averaged]
    rounded = [jnp.asarray(array, jnp.float32) for array in learnt]

    @jax.jit
    def validated(key: Any) -> tuple[Any, Any]:
        images, truth = batch("val", key)
        return network(rounded, images).argmax(axis=-1), truth

    counts = np.zeros((len(CLASSES), len(CLASSES)), np.int64)
    for index in range(VALIDATION_BATCHES):
        predicted, truth = validated(jax.random.key(1000 + index))
        np.add.at(counts, (np.asarray(truth).ravel(), np.asarray(predicted).ravel()), 1)
    scores = {"steps": steps, "pictures": VALIDATION_BATCHES * COUNT, **united(counts)}
    print(json.dumps(scores), flush=True)
    return learnt, scores


def united(counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return intersection over union from counts (truth, predicted): of each class, their mean, and of all waste."""
    shares = np.diag(counts) / np.maximum(counts.sum(axis=0) + counts.sum(axis=1) - np.diag(counts), 1)
    waste = counts[1:, 1:].sum()
    return {
        "iou": {name: round(float(share), 4) for name, share in zip(CLASSES, shares)},
        "mean": round(float(shares.mean()), 4),
        "waste": round(float(waste / (waste + counts[0, 1:].sum() + counts[1:, 0].sum())), 4),
    }


def main(argv: list[str] | None = None) -> int:
    """Pack or train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="write cuts and backgrounds into one file")
    packing.add_argument("data", type=Path, metavar="FOLDER", help="has trashnet and grocery")
    packing.add_argument("out", type=Path, metavar="FILE.npz")
    training = verbs.add_parser("train", help="train on a GPU")
    training.add_argument("packed", type=Path, metavar="FILE.npz")
    training.add_argument("out", type=Path, metavar="FOLDER")
    training.add_argument("--seconds", type=float, default=240.0, help="(default: 240)")
    args = parser.parse_args(argv)
    if args.verb == "pack":
        pack(args.data / "trashnet", args.data / "grocery", args.out)
        return 0
    with np.load(args.packed) as packed:
        arrays, scores = learn({name: packed[name] for name in packed.files}, args.seconds)
    args.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out / "masks.npz", *arrays)
    (args.out / "masks.json").write_text(json.dumps(scores, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
