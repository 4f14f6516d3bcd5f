"""Options of commands that read a model to export: its inputs and outputs by name, its modules, its size."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments
from glsl_infer.errors import InputError
from glsl_infer.graph.purposes import PURPOSES

if TYPE_CHECKING:
    from glsl_infer.importers.core.io_options import IoOptions

_BACKEND = "KERAS_BACKEND"

_MOST_AXES = 8

_RANGE = "0,1, or 0,255 if the network begins with a Rescaling"


def add(parser: argparse.ArgumentParser, *options: str, input_range: str = _RANGE) -> None:
    """Declare options of a command that reads a model to export: the named ones, then those of every such command.

    ``input_range`` describes the default of ``--input-range``.
    """
    declared = _declared(input_range)
    for option in (*options, "--import", "--operator", "--max-weights"):
        title, settings = declared[option]
        arguments.group(parser, title).add_argument(option, **settings)


def add_operator(parser: argparse.ArgumentParser) -> None:
    """Declare ``--operator``, which ``load_operators`` reads, for a command that only runs exported models."""
    arguments.group(parser, arguments.ADVANCED).add_argument("--operator", **_OPERATOR)


_SEVERAL: dict[str, Any] = {"action": "append", "default": []}
_OPERATOR: dict[str, Any] = {
    **_SEVERAL,
    "metavar": "[CLASS=]MODULE:FUNCTION",
    "help": "A custom function for a custom layer, run on the CPU; repeat it for each layer. Every command for the "
    "model needs this option, because the model file contains only the name of the function.",
}


def _declared(input_range: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the group and the declaration of each option."""
    from glsl_infer.importers.core import limits

    max_weights = {
        "type": arguments.number(
            int, f"megabytes, from 1 to {limits.MOST_MB}", lambda size: 0 < size <= limits.MOST_MB
        ),
        "metavar": "MB",
        "help": f"The largest unpacked size of the weights of a model file (default: {limits.DEFAULT_MB}).",
    }
    return {
        **{option: ("Inputs and outputs", settings) for option, settings in _inputs_and_outputs(input_range).items()},
        "--operator": (arguments.ADVANCED, _OPERATOR),
        "--max-weights": (arguments.ADVANCED, max_weights),
    }


def _inputs_and_outputs(input_range: str) -> dict[str, dict[str, Any]]:
    """Return the declaration of each option of the group for inputs and outputs."""
    from glsl_infer.graph.picture import FITS

    fits = ", ".join(fit.partition("/")[0] for fit in FITS)
    return {
        "--input-range": {
            **_SEVERAL,
            "type": _range,
            "metavar": "[NAME=]LOW,HIGH",
            "help": "The network's values for bytes 0 and 255 of an image (default: " + input_range + "), or the "
            "range of an input of numbers. Give the input's name if there are several.",
        },
        "--fit": {
            **_SEVERAL,
            "type": _named,
            "metavar": "[NAME=]FIT",
            "help": f"How an image is fitted to the network's size: {fits} (default: center-square), or none "
            "if the input takes numbers.",
        },
        "--input-size": {
            **_SEVERAL,
            "type": _size,
            "metavar": "[NAME=]PIXELS",
            "help": "Height and width of an input that the file leaves open: 320, or 240x320.",
        },
        "--input-shape": {
            **_SEVERAL,
            "type": _shape,
            "metavar": "[NAME=]SIZES",
            "help": "All sizes of an input in the order of the file, with the batch: 1x512. They replace the sizes in "
            "the file. Give the input's name if there are several.",
        },
        "--constant": {
            **_SEVERAL,
            "type": _constant,
            "metavar": "NAME=VALUE",
            "help": "The value of an input that is always the same, such as a sample rate: sr=16000. The exported "
            "model does not have this input. A tensor takes one value for all its elements, or all values separated "
            "by commas.",
        },
        "--outputs": {
            "type": lambda text: tuple(text.split(",")),
            "default": (),
            "metavar": "NAME,...",
            "help": "The outputs to export (default: all). For an .onnx file, inner tensors are possible as well.",
        },
        "--purpose": {
            **_SEVERAL,
            "type": _named,
            "metavar": "[NAME=]PURPOSE",
            "help": f"The purpose of an output: {', '.join(PURPOSES)} (default: by its shape and its last layers).",
        },
        "--import": {
            **_SEVERAL,
            "dest": "imports",
            "metavar": "MODULE",
            "help": "A Python module of yours with the Keras layers of the model, imported before the model is read. "
            "Can be repeated.",
        },
    }


def load_operators(modules: Sequence[str], *, draws: bool = False) -> None:
    """Import the functions of ``--operator``.

    Args:
        modules: ``[CLASS=]MODULE:FUNCTION``.
        draws: whether this process draws. Such a process must not import TensorFlow, so a module that also defines the
            Keras layer gets Keras on NumPy.

    Raises:
        InputError: a function cannot be imported, or would import TensorFlow into a process that draws.
    """
    if not modules:
        return
    from glsl_infer.cpu import custom
    from glsl_infer.support import llvm_clash

    if not draws or llvm_clash.tensorflow_loaded():
        custom.load_all(modules)
        return
    before = os.environ.get(_BACKEND)
    os.environ[_BACKEND] = "numpy"
    try:
        custom.load_all(modules)
    finally:  # child processes that evaluate the model need its own backend
        del os.environ[_BACKEND]
        if before is not None:
            os.environ[_BACKEND] = before
    if llvm_clash.tensorflow_loaded():
        raise InputError(
            f"--operator {' '.join(modules)}: a module imports TensorFlow, which crashes in one process with "
            "Mesa's drivers; import only keras, or put the function into a separate module"
        )


def io_options(args: argparse.Namespace) -> IoOptions:
    """Return the options of inputs and outputs. Those that a command does not have keep their defaults."""
    from glsl_infer.importers.core.io_options import IoOptions

    fields = {
        "ranges": "--input-range",
        "fits": "--fit",
        "purposes": "--purpose",
        "sizes": "--input-size",
        "shapes": "--input-shape",
        "constants": "--constant",
    }
    values = {
        field: _by_name(option, getattr(args, option[2:].replace("-", "_"), [])) for field, option in fields.items()
    }
    return IoOptions(outputs=getattr(args, "outputs", ()), **values)


def prepare_import(args: argparse.Namespace, *, draws: bool = False) -> None:
    """Apply ``--max-weights``, ``--import`` and ``--operator``, also for child processes.

    Args:
        args: the arguments of the command.
        draws: as for ``load_operators``.

    Raises:
        InputError: a value is not valid.
    """
    from glsl_infer.importers import own_modules
    from glsl_infer.importers.core import limits

    if args.max_weights is not None:
        os.environ[limits.VARIABLE] = str(args.max_weights)
    own_modules.remember(args.imports)
    load_operators(args.operator, draws=draws)


def _by_name(option: str, pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    """Return the values of an option by name. The empty name selects the only input or output.

    Raises:
        InputError: a name has two values.
    """
    names = [name for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{option} {twice[0]}: given twice; give it once for each name")
    return dict(pairs)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, value = _named(text)
    try:
        low, high = (float(bound) for bound in value.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}; give LOW,HIGH or NAME=LOW,HIGH, such as -1,1") from None
    return name, (low, high)


def _size(text: str) -> tuple[str, tuple[int, int]]:
    name, value = _named(text)
    try:
        sides = [int(side) for side in value.lower().split("x")]
    except ValueError:
        sides = []
    if len(sides) not in (1, 2) or not all(1 <= side <= 8192 for side in sides):
        raise argparse.ArgumentTypeError(f"{text}; give a number of pixels, or HEIGHTxWIDTH, such as 240x320")
    return name, (sides[0], sides[-1])


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, value = _named(text)
    try:
        sizes = tuple(int(size) for size in value.lower().split("x"))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1 or len(sizes) > _MOST_AXES:
        raise argparse.ArgumentTypeError(f"{text}; give a size for each axis, such as 1x512 or 1x3x240x320")
    return name, sizes


def _constant(text: str) -> tuple[str, tuple[float, ...]]:
    name, value = _named(text)
    words = {"true": 1.0, "false": 0.0}
    try:
        values = tuple(words[word] if word in words else float(word) for word in value.lower().split(","))
    except ValueError:
        values = ()
    if not name or not values:
        raise argparse.ArgumentTypeError(f"{text}; give NAME=VALUE, such as sr=16000")
    return name, values


def _named(text: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE. The name is empty if it is left out."""
    name, _, value = text.rpartition("=")
    return name, value
