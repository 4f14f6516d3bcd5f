#!/usr/bin/env python3
"""Train a small network that doubles the width and height of an image.

    python training/super_resolution.py --data data --out runs/sr

--data is any folder of images, with its sub-folders and links. KERAS_BACKEND selects the framework (tensorflow by
default). --out gets model.keras, for glsl-infer export, and scores.json: PSNR on the val images, and on a test split if
there is one, of the network, of the network with feature maps rounded to 8 bits, and of Pillow's bicubic and bilinear
filters.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from training.backend import keras

# isort: split

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import InputError
from glsl_infer.importers.keras.layers import DepthToSpace
from glsl_infer.support.files import replacing, write_text
from training import command, crops
from training.stored import Hook, Range, calibrate, rounding

CHANNELS, HIDDEN = 24, 3
"""Chosen by PSNR among networks of 10 to 20 thousand multiply-adds for each input pixel (models/superres-x2-96.md)."""

LUMA = np.array([0.299, 0.587, 0.114])
REPORTS = 8
CALIBRATION_CROPS = 128


def network(size: int | tuple[int, int], stored: Hook = lambda tensor: tensor) -> keras.Model:
    """Build the network: a residual added to the bilinear image, computed at the input size.

    Args:
        size: side, or height and width, of the input ``(height, width, 3)`` in [0, 1]; the output is twice as large.
        stored: called on each tensor that the engine stores (training/stored.py); returns the tensor to use.
    """
    height, width = (size, size) if isinstance(size, int) else size
    inputs = x = keras.Input((height, width, 3))
    for index in range(HIDDEN):
        # A larger kernel is cheapest in the first layer, which has three input channels.
        conv = keras.layers.Conv2D(
            CHANNELS, 3 if index else 5, padding="same", kernel_initializer="he_normal", name=f"conv{index + 1}"
        )
        x = stored(keras.layers.ReLU(name=f"relu{index + 1}")(conv(x)))
    # With zeros, the network starts as the bilinear filter.
    last = keras.layers.Conv2D(12, 3, padding="same", kernel_initializer="zeros", name="residual")
    detail = DepthToSpace(2, name="depth_to_space")(stored(last(x)))
    smooth = stored(keras.layers.UpSampling2D(2, interpolation="bilinear", name="bilinear")(inputs))
    # max_value makes the range that of a byte.
    outputs = keras.layers.ReLU(max_value=1.0, name="picture")(keras.layers.Add(name="sum")([smooth, detail]))
    return keras.Model(inputs, stored(outputs), name="superres_x2")


class Crops(keras.utils.PyDataset):  # type: ignore[misc]
    """``steps`` batches of random crops, determined by seed and index, as (small, sharp) in [0, 1]."""

    def __init__(self, pictures: list[crops.Picture], crop: int, batch: int, steps: int, seed: int) -> None:
        super().__init__()
        self.pictures, self.crop, self.batch, self.steps, self.seed = pictures, crop, batch, steps, seed
        self.first = 0

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rng = np.random.default_rng([self.seed, self.first + index])
        small, sharp = crops.batch(self.pictures, self.crop, self.batch, rng)
        return _unit(small), _unit(sharp)


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, train, and return the exit code."""
    return execute(_parser(), argv, interrupted="nothing is kept of this run")


def train(args: argparse.Namespace) -> None:
    """Train for ``args.steps`` batches, measure, and write ``args.out``."""
    started = time.perf_counter()
    if (args.out / "model.keras").exists():
        raise InputError(f"{args.out}: holds a run already; choose another --out")
    keras.utils.set_random_seed(args.seed)
    side = 2 * args.crop
    paths = crops.find(args.data)
    print(f"reading {sum(map(len, paths.values()))} images", flush=True)
    sharp = {split: crops.read(paths[split], side, strict=args.strict) for split in paths if paths[split]}
    pictures = sharp["train"]

    model = network(args.crop)
    _compile(model, args)
    steps_by_report = np.diff(np.linspace(0, args.steps, min(REPORTS, args.steps) + 1).astype(int))
    batches = Crops(pictures, side, args.batch, 0, args.seed)
    for report_index, steps in enumerate(steps_by_report):
        batches.steps = int(steps)
        history = model.fit(
            batches, epochs=report_index + 1, initial_epoch=report_index, shuffle=False, verbose=command.verbosity()
        )
        batches.first += batches.steps
        loss, seconds = history.history["loss"][0], time.perf_counter() - started
        print(f"step {batches.first:5d}/{args.steps}  loss {loss:.5f}  {seconds:.0f} s", flush=True)

    weights = model.get_weights()
    calibration_crops = Crops(pictures, side, CALIBRATION_CROPS, 1, args.seed)[0][0]
    ranges = calibrate(lambda stored: network(args.crop, stored), weights, calibration_crops)
    # The last two are images, whose range is that of a byte.
    ranges[-2:] = [Range(np.zeros(3, np.float32), np.ones(3, np.float32))] * 2
    scores = {split: measure(sharp[split], weights, ranges) for split in ("val", "test") if split in sharp}
    final_network = network(args.input_size)
    final_network.set_weights(weights)
    args.out.mkdir(parents=True, exist_ok=True)
    write_text(args.out / "scores.json", json.dumps(scores, indent=1) + "\n")
    with replacing(args.out / "model.keras") as temporary:
        final_network.save(temporary)
    for split, score in scores.items():
        for name, (rgb, luma) in score.items():
            print(f"{split:4s}  {name:8s}  RGB {rgb:.2f} dB  luma {luma:.2f} dB")
    print(f"{time.perf_counter() - started:.0f} s -> {args.out / 'model.keras'}")


def measure(
    pictures: list[crops.Picture], weights: list[NDArray[np.float32]], ranges: list[Range]
) -> dict[str, tuple[float, float]]:
    """Return the mean PSNR in dB, (RGB, luma), of each method to enlarge halved ``pictures``, including borders."""
    shapes = sorted({picture.shape for picture in pictures})
    scores: dict[str, list[tuple[float, float]]] = {}
    for shape in shapes:
        height, width = shape[0] // 2, shape[1] // 2
        networks = {"network": network((height, width)), "8 bits": network((height, width), rounding(ranges))}
        for model in networks.values():
            model.set_weights(weights)
        for picture in (picture for picture in pictures if picture.shape == shape):
            small = crops.halve(picture)
            results = {name: _bytes(np.asarray(model(_unit(small)[None]))[0]) for name, model in networks.items()}
            for name, filter_ in (("bicubic", Image.Resampling.BICUBIC), ("bilinear", Image.Resampling.BILINEAR)):
                results[name] = np.asarray(Image.fromarray(small).resize((2 * width, 2 * height), filter_))
            for name, result in results.items():
                scores.setdefault(name, []).append(psnr(result, picture))
    return {name: (float(np.mean(v, axis=0)[0]), float(np.mean(v, axis=0)[1])) for name, v in scores.items()}


def psnr(result: crops.Picture, picture: crops.Picture) -> tuple[float, float]:
    """Return the peak signal-to-noise ratio in dB over RGB, and over luma (BT.601 weights, full range)."""
    error = result.astype(np.float64) - picture
    rgb, luma = (max(float(np.mean(e**2)), 1e-9) for e in (error, error @ LUMA))
    return 10 * float(np.log10(255**2 / rgb)), 10 * float(np.log10(255**2 / luma))


def _compile(model: keras.Model, args: argparse.Namespace) -> None:
    warmup = args.steps // 20
    schedule = keras.optimizers.schedules.CosineDecay(
        args.rate / 20, args.steps - warmup, alpha=0.02, warmup_target=args.rate, warmup_steps=warmup
    )
    model.compile(keras.optimizers.Adam(schedule), "mae")


def _unit(pixels: crops.Picture) -> NDArray[np.float32]:
    values: NDArray[np.float32] = pixels.astype(np.float32) / np.float32(255.0)
    return values


def _bytes(values: NDArray[np.float32]) -> crops.Picture:
    rounded: crops.Picture = np.round(np.clip(values, 0.0, 1.0) * 255.0).astype(np.uint8)
    return rounded


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="super_resolution.py", description="Train a small network that doubles the width and height of an image."
    )
    parser.examples = (
        "python training/super_resolution.py --data data/grocery --out runs/sr",
        "python training/super_resolution.py --data photos/ --out runs/sr --steps 2000",
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="Any folder of images, with its subfolders. Folders called train, val and test keep their images; all "
        "other images are divided among these three by their names.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="The folder to write.")
    parser.add_argument(
        "--input-size",
        type=command.positive,
        default=96,
        metavar="PIXELS",
        help="Width and height of the saved network's input (default: 96).",
    )
    parser.add_argument(
        "--steps",
        type=command.positive,
        default=8000,
        metavar="N",
        help="The number of training steps (default: 8000).",
    )
    parser.add_argument(
        "--batch", type=command.positive, default=16, metavar="N", help="The number of crops in a step (default: 16)."
    )
    parser.add_argument(
        "--crop",
        type=command.positive,
        default=32,
        metavar="PIXELS",
        help="Width and height of a crop before it is doubled (default: 32).",
    )
    parser.add_argument(
        "--rate", type=command.rate, default=4e-3, metavar="RATE", help="The highest learning rate (default: 0.004)."
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="The seed of the weights and the crops (default: 0)."
    )
    parser.add_argument("--strict", action="store_true", help=command.STRICT)
    add_debug(parser)
    parser.set_defaults(run=train)
    return parser


if __name__ == "__main__":
    sys.exit(main())
