"""Custom operators: Python functions of the user. A bundle contains their names, never their code.

A function is called with the input arrays in order, and with the layer's settings and weights as keywords::

    def psroi(features, boxes, *, bins, **settings):
        return ...  # an array of the shape that the layer declares
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.graph.node import Array, Node

CUSTOM = "custom"
"""Name of the operator whose attribute ``calls`` is the function's name."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
"""Pattern of a function's name with its module: ``package.module:function``."""

Function = Callable[..., Any]
Functions = Mapping[str, Function]

_functions: dict[str, Function] = {}
_classes: dict[str, str] = {}


def load_all(names: Sequence[str]) -> None:
    """Import functions, also from the current folder; see ``load``."""
    here = str(Path.cwd())
    if names and here not in sys.path:  # last, so that a numpy.py in it does not replace NumPy
        sys.path.append(here)
    for name in names:
        load(name)


def load(text: str) -> str:
    """Import a function, register it and return its name. Only call this with a name typed by the user.

    Args:
        text: ``module:function``, for the layers of the class with the function's name (``psroi_align`` for
            ``PsroiAlign``), or ``CLASS=module:function``.

    Raises:
        InputError: the name has another form, or the module or the function does not exist.
    """
    class_name, _, name = text.rpartition("=")
    _check(name)
    module, _, function = name.partition(":")
    try:
        loaded = getattr(importlib.import_module(module), function)
    except ImportError as error:
        raise InputError(f"--operator {name}: the module cannot be imported ({error}); set PYTHONPATH") from None
    except AttributeError:
        raise InputError(f"--operator {name}: module '{module}' has no '{function}'") from None
    if not callable(loaded):
        raise InputError(f"--operator {name}: '{function}' is not a function")
    _functions[name] = loaded
    _classes[class_name or "".join(word.title() for word in function.split("_"))] = name
    return name


def loaded() -> list[str]:
    """Return the arguments of ``load`` to register the same functions in another process."""
    return [f"{class_name}={name}" for class_name, name in _classes.items()]


def function_of(class_name: str) -> str | None:
    """Return the name of the function registered for the layers of a class, or None."""
    return _classes.get(class_name)


def require(name: str, functions: Functions | None = None) -> Function:
    """Return the function of a name.

    Raises:
        InputError: it is missing. The message has the option that loads a function.
    """
    function = (functions or {}).get(name) or _functions.get(name)
    if function is None:
        raise InputError(
            f"the model needs the custom operator '{name}'; give --operator {name}, or "
            f"Session(..., operators={{'{name}': function}}), if you trust that code"
        )
    return function


def call(node: Node, inputs: Sequence[Array], functions: Functions | None = None) -> Array:
    """Return the output of a custom operator, in the type of the first input.

    Raises:
        InputError: the function is unknown, fails, or returns another shape than it declares.
    """
    name, shape = str(node.attrs["calls"]), tuple(node.attrs["shape"])
    function = require(name, functions)
    keywords = {**json.loads(node.attrs["settings"]), **node.weights}
    try:
        result = np.asarray(function(*inputs, **keywords))
    except Exception as error:
        raise InputError(
            f"layer '{node.name}': the custom operator '{name}' failed ({type(error).__name__}: {error})"
        ) from error
    if result.shape != shape or result.dtype.kind not in "fiub":
        raise InputError(
            f"layer '{node.name}': the custom operator '{name}' returned {result.dtype} {result.shape}; "
            f"the model expects numbers of shape {shape}"
        )
    return result.astype(inputs[0].dtype)


def _check(name: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"--operator {name}; give MODULE:FUNCTION, such as my_package.layers:psroi_align")
