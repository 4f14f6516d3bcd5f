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
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from training.aibench.pasted import CLASSES, composed, pack

COUNT, STEPS, HIGHEST = 64, 25, 1.5e-3
"""Images in a batch, steps in one call of the GPU, and the largest learning rate."""

WIDTHS = (16, 32, 64, 96, 128)
"""Channels by the number of halvings, as in training.aibench.masks."""

JUDGED = 12
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
        pad = "SAME"
        return (
            lax.conv_general_dilated(x, kernel, (strides,) * 2, pad, dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
        )

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

    arrays_by_name = {name: jnp.asarray(array) for name, array in data.items()}
    arrays = [jnp.asarray(array) for array in start(np.random.default_rng(2018))]

    def batch(split: str, key: Any) -> tuple[Any, Any]:
        parts = [arrays_by_name[f"{split}_{name}"] for name in ("cuts", "materials", "behind")]
        return composed(
            parts[0].astype(jnp.float32), parts[1].astype(jnp.int32), parts[2].astype(jnp.float32), key, COUNT
        )

    def loss(arrays: list[Any], key: Any) -> Any:
        images, truth = batch("train", key)
        chances = jax.nn.log_softmax(network(arrays, images))
        return -jnp.take_along_axis(chances, truth[..., None], axis=-1).mean()

    def step(state: Any, key: Any, rate: Any) -> Any:
        arrays, first, second, average, at = state
        value, slopes = jax.value_and_grad(loss)(arrays, key)
        norm = jnp.sqrt(sum((slope**2).sum() for slope in slopes))
        slopes = [slope * jnp.minimum(1.0, 1.0 / (norm + 1e-12)) for slope in slopes]
        at = at + 1
        first = [0.9 * old + 0.1 * slope for old, slope in zip(first, slopes)]
        second = [0.99 * old + 0.01 * slope**2 for old, slope in zip(second, slopes)]
        fix1, fix2 = 1.0 - 0.9**at, 1.0 - 0.99**at
        arrays = [
            old * (1.0 - 1e-2 * rate) - rate * (mean / fix1) / (jnp.sqrt(square / fix2) + 1e-8)
            for old, mean, square in zip(arrays, first, second)
        ]
        average = [0.998 * old + 0.002 * new for old, new in zip(average, arrays)]
        return (arrays, first, second, average, at), value

    @jax.jit
    def steps(state: Any, keys: Any, rate: Any) -> Any:
        return jax.lax.scan(lambda carried, key: step(carried, key, rate), state, keys)

    zeros = [jnp.zeros_like(array) for array in arrays]
    state: Any = (arrays, zeros, zeros, arrays, jnp.float32(0.0))
    key = jax.random.key(2018)
    begun, steps_done = time.perf_counter(), 0
    while (progress := (time.perf_counter() - begun) / seconds) < 1.0:
        key, now = jax.random.split(key)
        rate = HIGHEST * min(1.0, (steps_done + 1) / 300) * 0.5 * (1.0 + np.cos(np.pi * progress))
        state, values = steps(state, jax.random.split(now, STEPS), rate)
        if not np.isfinite(value := float(values.mean())):
            raise SystemExit(f"the loss is {value} after {steps_done} steps")
        if steps_done % (20 * STEPS) == 0:
            print(f"{progress:4.0%} {steps_done} steps, loss {value:.4f}", flush=True)
        steps_done += STEPS
    learnt = [np.asarray(array, np.float16) for array in state[3]]
    counts = np.zeros((len(CLASSES), len(CLASSES)), np.int64)
    rounded = [jnp.asarray(array, jnp.float32) for array in learnt]

    @jax.jit
    def judged(key: Any) -> tuple[Any, Any]:
        images, truth = batch("val", key)
        return network(rounded, images).argmax(axis=-1), truth

    for index in range(JUDGED):
        predicted, truth = judged(jax.random.key(1000 + index))
        np.add.at(counts, (np.asarray(truth).ravel(), np.asarray(predicted).ravel()), 1)
    scores = {"steps": steps_done, "pictures": JUDGED * COUNT, **united(counts)}
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
