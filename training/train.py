#!/usr/bin/env python3
"""Train a network on a folder of pictures.

    python training/train.py --data data/trashnet --model x22 --stages 4 --input-size 129 --epochs 30 --out runs/trash

KERAS_BACKEND chooses the framework (tensorflow by default). Interrupted, the same command with --resume goes on
after the last finished epoch. training/run_folder.py says what is left in --out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from glsl_infer.errors import GlslInferError, InputError, MissingExtraError
from glsl_infer.importers.quiet import stderr_silenced

try:
    with stderr_silenced():
        import keras

        keras.ops.zeros(1)  # looks for devices, and says so where there is no GPU
except ImportError as error:
    missing = MissingExtraError.of(f"Keras with a backend ({error})", "train", "training")
    print(f"error: {missing}", file=sys.stderr)
    sys.exit(missing.exit_code)

import numpy as np
from numpy.typing import NDArray

from training import augmentation, data
from training.batch_norm import recalibrate
from training.layers import BlockDiagonalConv2D
from training.models import x22
from training.run_folder import RunFolder

MODELS = {"x22": x22}
RECALIBRATION_BATCHES = 12


class AugmentedBatches(keras.utils.PyDataset):  # type: ignore[misc]
    """The training split in a new random order each epoch, augmented, with one-hot labels."""

    def __init__(self, images: NDArray[np.uint8], labels: NDArray[np.int64], classes: int, args: argparse.Namespace):
        super().__init__()
        self.images, self.labels, self.classes = images, labels, classes
        self.size: int = args.input_size
        self.batch: int = args.batch
        self.seed: int = args.seed
        self.any_way_up: bool = args.any_way_up
        self.epoch = 0

    def __len__(self) -> int:
        return max(len(self.images) // self.batch, 1)

    def __getitem__(self, index: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.images))
        chosen = order[index * self.batch : (index + 1) * self.batch]
        rng = augmentation.batch_rng(self.seed, self.epoch, index)
        x = np.stack([augmentation.augment(self.images[i], self.size, rng, any_way_up=self.any_way_up) for i in chosen])
        return x, np.eye(self.classes, dtype=np.float32)[self.labels[chosen]]


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, train, and return the exit code."""
    args = _parser().parse_args(argv)
    try:
        train(args)
    except KeyboardInterrupt:
        print("interrupted; --resume goes on after the last finished epoch", file=sys.stderr)
        return 130
    except GlslInferError as error:
        if args.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def train(args: argparse.Namespace) -> None:
    """Run the epochs that are left to do and keep ``args.out`` up to date after each."""
    keras.utils.set_random_seed(args.seed)
    dataset = data.find(args.data)
    classes = len(dataset.labels)
    try:
        plain = _build(args, classes, keras.layers.Conv2D)
    except ValueError as error:
        raise InputError(str(error)) from None
    folder = RunFolder(args.out)
    config = {key: str(value) for key, value in vars(args).items() if key not in ("resume", "out", "debug")}
    config["backend"] = keras.backend.backend()
    history: list[dict[str, float]] = []
    if args.resume:
        history = folder.resume(config)
    else:
        folder.start(config, dataset.labels)

    print(f"reading {len(dataset.splits['train'].paths)} + {len(dataset.splits['val'].paths)} pictures", flush=True)
    batches = AugmentedBatches(
        data.pixels(dataset.splits["train"], augmentation.margin_size(args.input_size)),
        dataset.splits["train"].labels,
        classes,
        args,
    )
    val_x = data.pixels(dataset.splits["val"], args.input_size).astype(np.float32) / 255.0
    val_y = dataset.splits["val"].labels
    model = folder.checkpoint() if args.resume else None
    if model is None:
        model = _compiled(_build(args, classes, BlockDiagonalConv2D), args, steps=len(batches))

    for epoch in range(len(history), args.epochs):
        batches.epoch = epoch
        started = time.perf_counter()
        fitted = model.fit(batches, epochs=epoch + 1, initial_epoch=epoch, shuffle=False, verbose=_verbosity())
        recalibrate(model, (batches[i][0] for i in range(min(RECALIBRATION_BATCHES, len(batches)))))
        logits = model.predict(val_x, batch_size=args.batch, verbose=0)
        entry = {
            "epoch": epoch + 1,
            "loss": float(fitted.history["loss"][0]),
            "accuracy": float(fitted.history["accuracy"][0]),
            "val_loss": _cross_entropy(logits, val_y),
            "val_accuracy": float(np.mean(logits.argmax(axis=1) == val_y)),
            "seconds": round(time.perf_counter() - started, 1),
        }
        best = all(_rank(entry) > _rank(earlier) for earlier in history)
        history.append(entry)
        folder.save(model, plain, history, best=best)
        print(_line(entry, args.epochs, best), flush=True)
    top = max(history, key=_rank)
    print(f"best: epoch {top['epoch']}, val accuracy {100 * top['val_accuracy']:.2f} % -> {args.out / 'model.keras'}")


def _build(args: argparse.Namespace, classes: int, conv: Any) -> keras.Model:
    return MODELS[args.model](args.input_size, classes, width=args.width, stages=args.stages, conv=conv)


def _compiled(model: keras.Model, args: argparse.Namespace, steps: int) -> keras.Model:
    total = steps * args.epochs
    schedule = keras.optimizers.schedules.CosineDecay(
        args.rate / 10, total, warmup_target=args.rate, warmup_steps=min(3 * steps, total // 4)
    )
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=args.label_smoothing)
    model.compile(keras.optimizers.AdamW(schedule, weight_decay=args.weight_decay), loss, metrics=["accuracy"])
    return model


def _cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_probabilities[np.arange(len(labels)), labels].mean())


def _rank(entry: dict[str, float]) -> tuple[float, float]:
    return entry["val_accuracy"], -entry["val_loss"]


def _line(entry: dict[str, float], epochs: int, best: bool) -> str:
    return (
        f"epoch {entry['epoch']:3d}/{epochs}  loss {entry['loss']:.4f}  accuracy {100 * entry['accuracy']:.2f} %  "
        f"val loss {entry['val_loss']:.4f}  val accuracy {100 * entry['val_accuracy']:.2f} %  "
        f"{entry['seconds']:.0f} s{'  best' if best else ''}"
    )


def _verbosity() -> int:
    """Keras' progress bar on a terminal, nothing in a log file."""
    return 1 if sys.stdout.isatty() else 0


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train.py", description="Train a network on a folder of pictures.", allow_abbrev=False
    )
    parser.add_argument("--data", type=Path, required=True, help="SPLIT/CLASS/*.jpg with train and val, or CLASS/*.jpg")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--model", choices=sorted(MODELS), default="x22", help="architecture (default: x22)")
    parser.add_argument("--input-size", type=int, default=385, help="side of the input in pixels (default: 385)")
    parser.add_argument("--stages", type=int, default=5, help="stages of x22, 1 to 5 (default: 5)")
    parser.add_argument("--width", type=float, default=1.0, help="multiplies the channels (default: 1)")
    parser.add_argument("--epochs", type=_positive, default=30, help="passes over the training pictures (default: 30)")
    parser.add_argument("--batch", type=_positive, default=32, help="pictures a step (default: 32)")
    parser.add_argument("--rate", type=float, default=3e-3, help="highest learning rate (default: 0.003)")
    parser.add_argument("--weight-decay", type=float, default=1e-3, help="of AdamW (default: 0.001)")
    parser.add_argument("--label-smoothing", type=float, default=0.05, help="(default: 0.05)")
    parser.add_argument("--seed", type=int, default=1, help="of weights, order and augmentation (default: 1)")
    parser.add_argument("--any-way-up", action="store_true", help="the things have no up: turn them every way")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
