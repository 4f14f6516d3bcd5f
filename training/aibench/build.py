#!/usr/bin/env python3
"""Write the AI Benchmark's networks as .keras files: ``python -m training.aibench.build FOLDER [NAME ...]``.

Four networks have trained weights (training/aibench/weights; ``pretrain``, ``pretrain_masks``). The others have seeded
random weights, so that the files are reproducible. Their batch norms then get the mean and variance of real
activations, because signals of a deep random network otherwise vanish or explode.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.aibench.networks import MASKS, NETWORKS, Network
from training.backend import keras

# isort: split

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.cli.execution import Parser, add_debug, execute, picture_size
from glsl_infer.errors import InputError
from glsl_infer.support.files import replacing

SEED = 2018
PICTURES = Path(__file__).resolve().parents[2] / "docs/images"
WEIGHTS = Path(__file__).resolve().parent / "weights"
"""Folder of NAME.npz, the arrays of Keras' ``get_weights()`` of trained networks in 16-bit floats."""

BATCH_NORM_IMAGES = 4
"""Number of images for the statistics of batch norms."""


def photographs(folder: Path = PICTURES) -> list[Path]:
    """Return the photographs of the documentation, sorted."""
    return sorted(folder.glob("*.jpg"))


def batch(network: Network, height: int, width: int, channels: int) -> NDArray[np.float32]:
    """Return ``BATCH_NORM_IMAGES`` photographs as inputs of the network: (n, height, width, channels)."""
    low, high = network.values
    pictures = []
    for path in photographs()[:BATCH_NORM_IMAGES]:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L" if channels == 1 else "RGB").resize((width, height)), np.float32)
        pictures.append(pixels.reshape(height, width, channels))
    return low + np.stack(pictures) * ((high - low) / 255.0)


def build(network: Network, height: int | None = None, width: int | None = None) -> keras.Model:
    """Return a network with its trained weights, or else seeded ones.

    Args:
        network: the network.
        height: of the input, by default the benchmark's.
        width: of the input, by default the benchmark's.
    """
    keras.utils.set_random_seed(SEED)
    height, width = height or network.height, width or network.width
    model = network.build(height, width)
    trained = WEIGHTS / f"{network.name}.npz"
    if trained.is_file():
        with np.load(trained) as stored:
            model.set_weights([stored[f"arr_{index}"].astype(np.float32) for index in range(len(stored.files))])
        return model
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    if norms:
        momenta = [layer.momentum for layer in norms]
        for layer in norms:
            layer.momentum = 0.0
        model(batch(network, height, width, model.input_shape[-1]), training=True)
        for layer, momentum in zip(norms, momenta):
            layer.momentum = momentum
    return model


def main(argv: list[str] | None = None) -> int:
    """Write the files; return the exit code."""
    parser = Parser(prog="python -m training.aibench.build", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="The folder for the NAME.keras files.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="Names of networks (default: the benchmark's).")
    parser.add_argument(
        "--size", type=picture_size, metavar="WIDTHxHEIGHT", help="Size of the image (default: the benchmark's)."
    )
    add_debug(parser)
    parser.set_defaults(run=_run)
    return execute(parser, argv)


def _run(args: argparse.Namespace) -> int:
    networks = {network.name: network for network in (*NETWORKS, MASKS)}
    if unknown := [name for name in args.names if name not in networks]:
        raise InputError(f"{', '.join(unknown)}: no such network; there are {', '.join(networks)}")
    if not args.folder.is_dir():
        raise InputError(f"{args.folder}: no such folder")
    width, height = args.size or (None, None)
    for name in args.names or [network.name for network in NETWORKS]:
        model = build(networks[name], height, width)
        path = args.folder / f"{name}.keras"
        with replacing(path) as target:
            model.save(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
