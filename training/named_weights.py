#!/usr/bin/env python3
"""Load weights of an X22 by the names of its layers, and save the entire network.

    python -m training.named_weights WEIGHTS.h5 -o x22.keras [--size 385] [--classes 120] [--activation NAME]

The file is HDF5 as Keras 2 and 3 write it (``model.save_weights("x.h5")``, or a complete model): a group for each
layer, with the order of its weights in the attribute ``weight_names``. The layers with weights must be exactly those of
the network, with equal shapes.

Exit status: 2 for an unusable file, with all its problems.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np

from glsl_infer.errors import GlslInferError, InputError
from training.models import ACTIVATIONS, x22

Arrays = list[Any]
_LISTED = 5


def read(path: Path) -> dict[str, Arrays]:
    """Read the weights of each layer, by its name, in the file's order.

    Raises:
        InputError: the file cannot be read, or has no layers.
    """
    try:
        with h5py.File(path, "r") as file:
            group = file.get("model_weights", file)
            names = [_text(name) for name in group.attrs.get("layer_names", [])]
            if not names:
                raise InputError(f"{path}: has no 'layer_names'; give weights that Keras saved as *.h5, by layers")
            layers = {}
            for name in names:
                inner = [_text(weight_name) for weight_name in group[name].attrs.get("weight_names", [])]
                if inner:
                    layers[name] = [np.asarray(group[name][weight_name]) for weight_name in inner]
            return layers
    except (OSError, KeyError) as error:
        raise InputError(f"{path}: cannot be read as HDF5 weights of Keras ({error})") from None


def set_weights(model: keras.Model, file_layers: Mapping[str, Arrays], path: Path) -> None:
    """Set a model's weights to those of layers with the same names.

    Raises:
        InputError: layers are missing or have other shapes; the message lists them. The model is then unchanged.
    """
    model_layers = {layer.name: layer for layer in model.layers if layer.weights}
    problems = []
    for name, layer in model_layers.items():
        shapes = [tuple(weight.shape) for weight in layer.weights]
        file_shapes = [array.shape for array in file_layers.get(name, [])]
        if name not in file_layers:
            problems.append(f"layer '{name}' is missing")
        elif file_shapes != shapes:
            problems.append(f"layer '{name}' has weights of {_listed(file_shapes)}, not of {_listed(shapes)}")
    problems += [f"the network has no layer '{name}'" for name in file_layers if name not in model_layers]
    if problems:
        remainder = f"; and {len(problems) - _LISTED} more" if len(problems) > _LISTED else ""
        raise InputError(
            f"{path}: is not of this {model.name} ({'; '.join(problems[:_LISTED])}{remainder}); "
            f"the file has the layers "
            f"{', '.join(list(file_layers)[:_LISTED])} ..., the network {', '.join(list(model_layers)[:_LISTED])} ..."
        )
    for name, layer in model_layers.items():
        layer.set_weights(file_layers[name])


def main(argv: Sequence[str] | None = None) -> int:
    """Load the weights, save the network, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path, help="The HDF5 file with the weights.")
    parser.add_argument("-o", "--output", type=Path, required=True, help="The *.keras file to write.")
    parser.add_argument("--size", type=int, default=385, help="Width and height of the input in pixels (default: 385).")
    parser.add_argument("--classes", type=int, default=120, help="The number of classes (default: 120).")
    parser.add_argument(
        "--activation",
        choices=sorted(ACTIVATIONS),
        default="piecewise_linear_sigmoid",
        help="The function after every layer but the last (default: piecewise_linear_sigmoid).",
    )
    arguments = parser.parse_args(argv)
    try:
        model = x22(arguments.size, arguments.classes, activation=arguments.activation)
        set_weights(model, read(arguments.weights), arguments.weights)
        model.save(arguments.output)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _text(name: Any) -> str:
    return name.decode("utf-8") if isinstance(name, bytes) else str(name)


def _listed(shapes: Sequence[Sequence[int]]) -> str:
    return ", ".join("x".join(map(str, shape)) or "1" for shape in shapes) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
