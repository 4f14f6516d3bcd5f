#!/usr/bin/env python3
"""Train three networks of the AI Benchmark on a GPU: SRCNN (deblurring), VDSR (x3) and DPED (enhancement).

    python training/aibench/pretrain.py pack ../shared/data .trained/patches.npz        # where the images are
    python3 training/aibench/pretrain.py train .trained/patches.npz OUT --seconds 130   # on the GPU: 8 minutes
    ... train .trained/patches.npz OUT --only dped --go-on training/aibench/weights     # from earlier weights

It needs NumPy, JAX and, for ``pack``, Pillow, but not Keras, TensorFlow or this project. OUT gets NAME.npz, the arrays
of Keras' ``get_weights()``, and scores.json: PSNR on patches of the validation split, before and after.
``training.aibench.build`` reads training/aibench/weights, in 16-bit floats.

A network learns to undo the degradation of its task (``blurred``, ``enlarged``, ``dull``). Images are rounded to 8
bits. DPED, which accumulates errors over its blocks, is also trained with 8-bit feature maps, because their rounding
otherwise causes stains of colour.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from training.aibench import adam
from training.aibench.patches import blurred, dull, enlarged, in_bytes, pack, unpack

EDGE = 8
"""Width of a patch's border with a low weight in the loss, because zero padding affects it."""

EPSILON = 1e-3
"""Epsilon of Keras' batch norm."""

STEPS = 50
"""Training steps in one call of the GPU."""

ROOM = 1.5
"""Width of a channel's range relative to its values, as in docs/engineering/design.md."""

DPED_NORMS = range(2, 50, 6)
"""Indices of DPED's convolutions with a batch norm, whose mean and variance are 4 and 5 arrays later."""

Params = list[Any]


# ---- networks; arrays are in the order of Keras' get_weights()


def _conv(x: Any, kernel: Any, bias: Any) -> Any:
    from jax import lax

    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias


def _he(rng: np.random.Generator, side: int, channels: int, filters: int, gain: float = 1.0) -> Params:
    scale = gain * (2.0 / (side * side * channels)) ** 0.5
    return [rng.normal(0.0, scale, (side, side, channels, filters)).astype(np.float32), np.zeros(filters, np.float32)]


def srcnn_start(rng: np.random.Generator) -> Params:
    """Return initial arrays of SRCNN 9-5-5."""
    return _he(rng, 9, 3, 64) + _he(rng, 5, 64, 32) + _he(rng, 5, 32, 3, 0.5)


def srcnn(params: Params, x: Any, _: Any) -> tuple[Any, list[Any]]:
    """Return the output for a batch, and an empty list of statistics."""
    from jax.nn import relu

    x = relu(_conv(x, *params[0:2]))
    return _conv(relu(_conv(x, *params[2:4])), *params[4:6]), []


def vdsr_start(rng: np.random.Generator) -> Params:
    """Return initial arrays of VDSR with 20 layers."""
    middle = [array for _ in range(18) for array in _he(rng, 3, 64, 64)]
    return _he(rng, 3, 1, 64) + middle + _he(rng, 3, 64, 1, 0.05)


def vdsr(params: Params, image: Any, _: Any) -> tuple[Any, list[Any]]:
    """Return the image plus the residual of 20 layers, and an empty list of statistics."""
    from jax.nn import relu

    x = image
    for at in range(0, 38, 2):
        x = relu(_conv(x, *params[at : at + 2]))
    return image + _conv(x, *params[38:40]), []


def dped_start(rng: np.random.Generator) -> Params:
    """Return initial arrays of DPED with 4 blocks; a convolution with batch norm is followed by its four arrays."""
    norm = [np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones(64, np.float32)]
    blocks = [array for _ in range(8) for array in (*_he(rng, 3, 64, 64), *norm)]
    return _he(rng, 9, 3, 64) + blocks + _he(rng, 3, 64, 64) + _he(rng, 3, 64, 64) + _he(rng, 9, 64, 3, 0.3)


def dped(params: Params, image: Any, moments: Any) -> tuple[Any, list[Any]]:
    """Return the enhanced batch, and the mean and variance of each batch norm's input.

    Args:
        params: all arrays.
        image: the batch.
        moments: None to use the batch's mean and variance, otherwise those of ``params``.
    """
    import jax.numpy as jnp
    from jax import lax
    from jax.nn import relu

    statistics: list[Any] = []

    def stored(x: Any) -> Any:
        """Round a nonnegative map to 8 bits, with a straight-through gradient."""
        step = lax.stop_gradient(x.max(axis=(0, 1, 2)) * (ROOM / 255.0) + 1e-6)
        return x + lax.stop_gradient(jnp.round(x / step) * step - x)

    def block(x: Any, at: int) -> Any:
        x = _conv(x, *params[at : at + 2])
        gamma, beta, mean, variance = params[at + 2 : at + 6]
        if moments is None:
            mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
            statistics.extend([mean, variance])
        return stored(relu((x - mean) / jnp.sqrt(variance + EPSILON) * gamma + beta))

    x = stored(relu(_conv(image, *params[0:2])))
    for at in range(2, 50, 12):
        x = stored(x + block(block(x, at), at + 6))
    x = stored(relu(_conv(x, *params[50:52])))
    x = stored(relu(_conv(x, *params[52:54])))
    return jnp.tanh(_conv(x, *params[54:56])) * 0.58 + 0.5, statistics


TASKS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], int, float]] = {
    "srcnn": (srcnn_start, srcnn, blurred, 32, 1e-3),
    "vdsr": (vdsr_start, vdsr, enlarged, 32, 5e-4),
    "dped": (dped_start, dped, dull, 24, 1e-3),
}
"""Initial arrays, network, degradation, patches in a batch, and the largest learning rate."""


# ---- training


def learn(
    name: str, patches: dict[str, NDArray[np.uint8]], seconds: float, before: Path | None = None
) -> tuple[Params, dict[str, float]]:
    """Train one network for some seconds, optionally from saved arrays; return its arrays and its scores."""
    import jax
    import jax.numpy as jnp

    begin, network, degrade, count, rate = TASKS[name]
    start = begin(np.random.default_rng(2018))
    if before is not None:
        with np.load(before) as saved:
            start = [saved[f"arr_{index}"].astype(np.float32) for index in range(len(start))]
        rate /= 3.0
    sharp = jnp.asarray(patches["train"])
    norms = DPED_NORMS if name == "dped" else ()
    statistics = {index + offset for index in norms for offset in (4, 5)}
    initial = [jnp.asarray(array) for array in start]
    settings = adam.Settings(rate, clip=0.5, steps=STEPS, fixed=statistics)
    params, steps = adam.fit(_loss(name, sharp, count), initial, seconds, settings, name)
    if norms:
        _measure_norms(params, sharp, network, degrade)
    validation = jnp.asarray(patches["val"]).astype(jnp.float32) / 255.0
    inputs, target = degrade(validation, jax.random.key(7))
    outputs = in_bytes(network(params, inputs, True)[0])
    if before is not None:
        old_outputs = in_bytes(network(initial, inputs, True)[0])
        print(f"{name}: {psnr(old_outputs, target):.2f} dB as it was", flush=True)
    scores = {"steps": steps, "before": psnr(inputs, target), "after": psnr(outputs, target)}
    print(f"{name}: {steps} steps, PSNR {scores['before']:.2f} -> {scores['after']:.2f} dB", flush=True)
    return params, scores


def _loss(name: str, sharp: Any, count: int) -> Callable[[Params, Any], Any]:
    """Return the loss of random mirrored and transposed patches, as a function of the arrays and a random key."""
    import jax
    import jax.numpy as jnp

    _, network, degrade, _, _ = TASKS[name]

    def loss(params: Params, key: Any) -> Any:
        keys = jax.random.split(key, 4)
        patches = sharp[jax.random.randint(keys[0], (count,), 0, len(sharp))]
        patches = jnp.where(jax.random.bernoulli(keys[1], 0.5, (count, 1, 1, 1)), patches[:, :, ::-1], patches)
        transposed = patches.transpose(0, 2, 1, 3)
        patches = jnp.where(jax.random.bernoulli(keys[2], 0.5, (count, 1, 1, 1)), transposed, patches)
        inputs, target = degrade(patches.astype(jnp.float32) / 255.0, keys[3])
        error = network(params, inputs, None)[0] - target
        inner = error[:, EDGE:-EDGE, EDGE:-EDGE]
        robust = jnp.sqrt(inner**2 + 1e-6).mean() if name == "dped" else 30.0 * (inner**2).mean()
        return robust + 0.1 * (error**2).mean()

    return loss


def _measure_norms(params: Params, sharp: Any, network: Callable[..., Any], degrade: Callable[..., Any]) -> None:
    """Put the mean and variance of many batches, computed with the final weights, into DPED's batch norms."""
    import jax
    import jax.numpy as jnp

    batches = [
        degrade(sharp[at : at + 96].astype(jnp.float32) / 255.0, jax.random.key(at))[0] for at in range(0, 768, 96)
    ]
    statistics = [network(params, batch, None)[1] for batch in batches if len(batch)]
    averages = [sum(arrays) / len(arrays) for arrays in zip(*statistics)]
    for norm, index in enumerate(DPED_NORMS):
        params[index + 4], params[index + 5] = averages[2 * norm], averages[2 * norm + 1]


def psnr(output: Any, target: Any) -> float:
    """Return the mean PSNR of patches without their borders, in dB."""
    error = np.asarray(output - target)[:, EDGE:-EDGE, EDGE:-EDGE]
    return float(np.mean(-10.0 * np.log10(np.maximum((error**2).mean(axis=(1, 2, 3)), 1e-10))))


def train(packed: Path, out: Path, seconds: float, names: list[str], weights_folder: Path | None) -> None:
    """Train networks one after another, and save each result."""
    patches = unpack(packed)
    out.mkdir(parents=True, exist_ok=True)
    scores: dict[str, dict[str, float]] = {}
    for name in names:
        params, scores[name] = learn(name, patches, seconds, weights_folder and weights_folder / f"{name}.npz")
        np.savez_compressed(out / f"{name}.npz", *[np.asarray(array, np.float16) for array in params])
        (out / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", "utf-8")


def main(argv: list[str] | None = None) -> int:
    """Pack or train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="write patches of images into one file")
    packing.add_argument("data", type=Path, metavar="FOLDER", help="data sets: .../SPLIT/CLASS/*.jpg")
    packing.add_argument("out", type=Path, metavar="FILE.npz")
    training = verbs.add_parser("train", help="train on a GPU")
    training.add_argument("packed", type=Path, metavar="FILE.npz")
    training.add_argument("out", type=Path, metavar="FOLDER")
    training.add_argument("--seconds", type=float, default=130.0, help="for each network (default: 130)")
    training.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS), help="which networks")
    training.add_argument("--go-on", type=Path, metavar="FOLDER", help="where NAME.npz are that were learnt before")
    args = parser.parse_args(argv)
    if args.verb == "pack":
        pack(args.data, args.out)
    else:
        train(args.packed, args.out, args.seconds, args.only, args.go_on)
    return 0


if __name__ == "__main__":
    sys.exit(main())
