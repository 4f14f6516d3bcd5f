#!/usr/bin/env python3
"""Load weights of somebody's own X22 by the names of its layers, and save the whole network.

    python -m training.named_weights WEIGHTS.h5 -o x22.keras [--size 385] [--classes 120] [--activation NAME]

The file is HDF5 as Keras 2 and 3 write it (``model.save_weights("x.h5")``, or a whole model): a group for each layer,
whose weights have their order in its attribute ``weight_names``. Every layer with weights has to be there, in its
shape, and no other.

Exit status: 2 for a file that cannot be used, with all that is wrong in it.
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
_SHOWN = 5


def read(path: Path) -> dict[str, Arrays]:
    """Return the weights of each layer that has any, by its name, in the file's order.

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
                inner = [_text(one) for one in group[name].attrs.get("weight_names", [])]
                if inner:
                    layers[name] = [np.asarray(group[name][one]) for one in inner]
            return layers
    except (OSError, KeyError) as error:
        raise InputError(f"{path}: cannot be read as HDF5 weights of Keras ({error})") from None


def matched(model: keras.Model, given: Mapping[str, Arrays], where: Path) -> None:
    """Set a model's weights to those of layers of the same names.

    Raises:
        InputError: layers are missing or have other shapes; all of them are named. The model is left as it is then.
    """
    wanted = {layer.name: layer for layer in model.layers if layer.weights}
    wrong = []
    for name, layer in wanted.items():
        shapes = [tuple(weight.shape) for weight in layer.weights]
        found = [array.shape for array in given.get(name, [])]
        if name not in given:
            wrong.append(f"layer '{name}' is missing")
        elif found != shapes:
            wrong.append(f"layer '{name}' has weights of {_listed(found)}, not of {_listed(shapes)}")
    wrong += [f"layer '{name}' is none of the network's" for name in given if name not in wanted]
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"{where}: is not of this {model.name} ({'; '.join(wrong[:_SHOWN])}{more}); the file has the layers "
            f"{', '.join(list(given)[:_SHOWN])} ..., the network {', '.join(list(wanted)[:_SHOWN])} ..."
        )
    for name, layer in wanted.items():
        layer.set_weights(given[name])


def main(argv: Sequence[str] | None = None) -> int:
    """Load, match and save; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path, help="an HDF5 file")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the *.keras file to write")
    parser.add_argument("--size", type=int, default=385, help="side of the picture (385)")
    parser.add_argument("--classes", type=int, default=120, help="length of the logits (120)")
    parser.add_argument("--activation", choices=sorted(ACTIVATIONS), default="piecewise_linear_sigmoid")
    arguments = parser.parse_args(argv)
    try:
        model = x22(arguments.size, arguments.classes, activation=arguments.activation)
        matched(model, read(arguments.weights), arguments.weights)
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
