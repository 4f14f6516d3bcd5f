#!/usr/bin/env python3
"""Train three networks of the AI Benchmark on a GPU: SRCNN (deblurring), VDSR (x3) and DPED (enhancement).

    python training/aibench/pretrain.py pack ../shared/data .trained/patches.npz        # where the pictures are
    python3 training/aibench/pretrain.py train .trained/patches.npz OUT --seconds 130   # where the GPU is: 8 minutes
    ... train .trained/patches.npz OUT --only dped --go-on training/aibench/weights     # from what was learnt before

It needs NumPy, JAX and, to pack, Pillow: no Keras, no TensorFlow, nothing of this project. OUT gets NAME.npz, the
arrays of Keras' ``get_weights()``, and scores.json: PSNR on patches of the validation split, before and after. What
``training.aibench.build`` takes lies in training/aibench/weights, in 16-bit floats.

A network learns to undo what its task does to a picture (``blurred``, ``enlarged``, ``dull``). Everything is rounded to
8 bits where a picture would be. DPED, whose blocks add up, learns with its feature maps in 8 bits as well: without,
what rounding did to them were stains of colour.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from training.aibench.patches import blurred, dull, enlarged, in_bytes, pack, unpack

EDGE = 8
"""Pixels at a patch's edge that hardly count: a network sees zeros there, which in a picture are rare."""

EPSILON = 1e-3
"""Of Keras' batch norm."""

STEPS = 50
"""In one call of the GPU."""

ROOM = 1.5
"""How much wider than its values a channel's range is; see docs/engineering/design.md."""

Params = list[Any]


# ---- networks; arrays are in the order of Keras' get_weights()


def _conv(x: Any, kernel: Any, bias: Any) -> Any:
    from jax import lax

    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias


def _he(rng: np.random.Generator, side: int, channels: int, filters: int, gain: float = 1.0) -> Params:
    scale = gain * (2.0 / (side * side * channels)) ** 0.5
    return [rng.normal(0.0, scale, (side, side, channels, filters)).astype(np.float32), np.zeros(filters, np.float32)]


def srcnn_start(rng: np.random.Generator) -> Params:
    """Return SRCNN 9-5-5."""
    return _he(rng, 9, 3, 64) + _he(rng, 5, 64, 32) + _he(rng, 5, 32, 3, 0.5)


def srcnn(params: Params, x: Any, _: Any) -> tuple[Any, list[Any]]:
    """Return what it makes of a batch, and no statistics: it has no batch norm."""
    from jax.nn import relu

    x = relu(_conv(x, *params[0:2]))
    return _conv(relu(_conv(x, *params[2:4])), *params[4:6]), []


def vdsr_start(rng: np.random.Generator) -> Params:
    """Return VDSR of 20 layers."""
    middle = [array for _ in range(18) for array in _he(rng, 3, 64, 64)]
    return _he(rng, 3, 1, 64) + middle + _he(rng, 3, 64, 1, 0.05)


def vdsr(params: Params, image: Any, _: Any) -> tuple[Any, list[Any]]:
    """Return the picture and what 20 layers add to it."""
    from jax.nn import relu

    x = image
    for at in range(0, 38, 2):
        x = relu(_conv(x, *params[at : at + 2]))
    return image + _conv(x, *params[38:40]), []


def dped_start(rng: np.random.Generator) -> Params:
    """Return DPED of 4 blocks; a convolution has a batch norm's four arrays behind it where it has one."""
    norm = [np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.ones(64, np.float32)]
    blocks = [array for _ in range(8) for array in (*_he(rng, 3, 64, 64), *norm)]
    return _he(rng, 9, 3, 64) + blocks + _he(rng, 3, 64, 64) + _he(rng, 3, 64, 64) + _he(rng, 9, 64, 3, 0.3)


def dped(params: Params, image: Any, moments: Any) -> tuple[Any, list[Any]]:
    """Return the enhanced batch, and mean and variance of what each batch norm saw.

    Args:
        params: all arrays.
        image: the batch.
        moments: None to use the batch's own mean and variance, else anything: then those of ``params`` are used.
    """
    import jax.numpy as jnp
    from jax import lax
    from jax.nn import relu

    seen: list[Any] = []

    def stored(x: Any) -> Any:
        """Return a map of no negative numbers in 8 bits; slopes pass as if it was not rounded."""
        step = lax.stop_gradient(x.max(axis=(0, 1, 2)) * (ROOM / 255.0) + 1e-6)
        return x + lax.stop_gradient(jnp.round(x / step) * step - x)

    def block(x: Any, at: int) -> Any:
        x = _conv(x, *params[at : at + 2])
        gamma, beta, mean, variance = params[at + 2 : at + 6]
        if moments is None:
            mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
            seen.extend([mean, variance])
        return stored(relu((x - mean) / jnp.sqrt(variance + EPSILON) * gamma + beta))

    x = stored(relu(_conv(image, *params[0:2])))
    for at in range(2, 50, 12):
        x = stored(x + block(block(x, at), at + 6))
    x = stored(relu(_conv(x, *params[50:52])))
    x = stored(relu(_conv(x, *params[52:54])))
    return jnp.tanh(_conv(x, *params[54:56])) * 0.58 + 0.5, seen


TASKS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], int, float]] = {
    "srcnn": (srcnn_start, srcnn, blurred, 32, 1e-3),
    "vdsr": (vdsr_start, vdsr, enlarged, 32, 5e-4),
    "dped": (dped_start, dped, dull, 24, 1e-3),
}
"""Start, network, what its task does to a picture, patches in a batch, and the highest rate of learning."""


# ---- training


def learn(
    name: str, patches: dict[str, NDArray[np.uint8]], seconds: float, before: Path | None = None
) -> tuple[Params, dict[str, float]]:
    """Train one network for a time, from what it has in a file if one is given; return its arrays and its scores."""
    import jax
    import jax.numpy as jnp

    begin, network, task, count, highest = TASKS[name]
    start = begin(np.random.default_rng(2018))
    if before is not None:
        with np.load(before) as known:
            start = [known[f"arr_{at}"].astype(np.float32) for at in range(len(start))]
        highest /= 3.0
    params = [jnp.asarray(array) for array in start]
    sharp = jnp.asarray(patches["train"])
    norms = [at for at in range(2, 50, 6)] if name == "dped" else []
    fixed = {at + place for at in norms for place in (4, 5)}

    def loss(params: Params, key: Any) -> Any:
        keys = jax.random.split(key, 4)
        chosen = sharp[jax.random.randint(keys[0], (count,), 0, len(sharp))]
        turned = jnp.where(jax.random.bernoulli(keys[1], 0.5, (count, 1, 1, 1)), chosen[:, :, ::-1], chosen)
        turned = jnp.where(jax.random.bernoulli(keys[2], 0.5, (count, 1, 1, 1)), turned.transpose(0, 2, 1, 3), turned)
        seen, wanted = task(turned.astype(jnp.float32) / 255.0, keys[3])
        error = network(params, seen, None)[0] - wanted
        inner = error[:, EDGE:-EDGE, EDGE:-EDGE]
        robust = jnp.sqrt(inner**2 + 1e-6).mean() if name == "dped" else 30.0 * (inner**2).mean()
        return robust + 0.1 * (error**2).mean()

    def step(state: Any, key: Any, rate: Any) -> Any:
        params, first, second, average, at = state
        value, slopes = jax.value_and_grad(loss)(params, key)
        norm = jnp.sqrt(sum((slope**2).sum() for slope in slopes))
        slopes = [slope * jnp.minimum(1.0, 0.5 / (norm + 1e-12)) for slope in slopes]
        at = at + 1
        first = [0.9 * old + 0.1 * slope for old, slope in zip(first, slopes)]
        second = [0.99 * old + 0.01 * slope**2 for old, slope in zip(second, slopes)]
        fix1, fix2 = 1.0 - 0.9**at, 1.0 - 0.99**at
        params = [
            old if index in fixed else old - rate * (one / fix1) / (jnp.sqrt(two / fix2) + 1e-8)
            for index, (old, one, two) in enumerate(zip(params, first, second))
        ]
        average = [0.998 * old + 0.002 * new for old, new in zip(average, params)]
        return (params, first, second, average, at), value

    @jax.jit
    def steps(state: Any, keys: Any, rate: Any) -> Any:
        return jax.lax.scan(lambda carried, key: step(carried, key, rate), state, keys)

    zeros = [jnp.zeros_like(array) for array in params]
    state: Any = (params, zeros, zeros, params, jnp.float32(0.0))
    key = jax.random.key(2018)
    begun, done = time.perf_counter(), 0
    while (part := (time.perf_counter() - begun) / seconds) < 1.0:
        key, now = jax.random.split(key)
        rate = highest * min(1.0, (done + 1) / 300) * 0.5 * (1.0 + np.cos(np.pi * part))
        state, values = steps(state, jax.random.split(now, STEPS), rate)
        value = float(values.mean())
        if not np.isfinite(value):
            raise SystemExit(f"{name}: the loss is {value} after {done} steps")
        if done % (20 * STEPS) == 0:
            print(f"{name} {part:4.0%} {done} steps, loss {value:.5f}", flush=True)
        done += STEPS
    params = list(state[3])
    if norms:  # mean and variance of many batches, with the weights as they are now
        pictures = [
            task(sharp[at : at + 96].astype(jnp.float32) / 255.0, jax.random.key(at))[0] for at in range(0, 768, 96)
        ]
        seen = [network(params, picture, None)[1] for picture in pictures if len(picture)]
        means = [sum(one) / len(one) for one in zip(*seen)]
        for place, at in enumerate(norms):
            params[at + 4], params[at + 5] = means[2 * place], means[2 * place + 1]
    held = jnp.asarray(patches["val"]).astype(jnp.float32) / 255.0
    seen, wanted = task(held, jax.random.key(7))
    made = in_bytes(network(params, seen, True)[0])
    if before is not None:
        old = in_bytes(network([jnp.asarray(array) for array in start], seen, True)[0])
        print(f"{name}: {psnr(old, wanted):.2f} dB as it was", flush=True)
    scores = {"steps": done, "before": psnr(seen, wanted), "after": psnr(made, wanted)}
    print(f"{name}: {done} steps, PSNR {scores['before']:.2f} -> {scores['after']:.2f} dB", flush=True)
    return params, scores


def psnr(made: Any, wanted: Any) -> float:
    """Return the mean PSNR of patches, in dB, without their edges."""
    error = np.asarray(made - wanted)[:, EDGE:-EDGE, EDGE:-EDGE]
    return float(np.mean(-10.0 * np.log10(np.maximum((error**2).mean(axis=(1, 2, 3)), 1e-10))))


def train(packed: Path, out: Path, seconds: float, names: list[str], known: Path | None) -> None:
    """Train networks one after another and write what they learnt after each."""
    patches = unpack(packed)
    out.mkdir(parents=True, exist_ok=True)
    scores: dict[str, dict[str, float]] = {}
    for name in names:
        params, scores[name] = learn(name, patches, seconds, known and known / f"{name}.npz")
        np.savez_compressed(out / f"{name}.npz", *[np.asarray(array, np.float16) for array in params])
        (out / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", "utf-8")


def main(argv: list[str] | None = None) -> int:
    """Pack or train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="write patches of pictures into one file")
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
