"""Modules of the user with Keras layers, imported by the process that reads the model (``--import``)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from glsl_infer.errors import InputError

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

_remembered: list[str] = []
_modules: dict[str, ModuleType] = {}


def remember(names: Sequence[str]) -> None:
    """Take note of modules to import. Call this only with names that the user typed.

    Args:
        names: of modules, ``package.module``, or of files in the current folder, ``module.py``.

    Raises:
        InputError: not the name of a module.
    """
    for given in names:
        name = given.removesuffix(".py").replace("/", ".")
        if not _NAME.fullmatch(name):
            raise InputError(f"--import {given}; give the name of a Python module, such as my_layers")
        if name not in _remembered:
            _remembered.append(name)


def remembered() -> list[str]:
    """Return the names of the modules, for another process to remember."""
    return list(_remembered)


def load() -> None:
    """Import the modules, also from the current folder.

    Raises:
        InputError: one of them cannot be imported.
    """
    missing = [name for name in _remembered if name not in _modules]
    here = str(Path.cwd())
    if missing and here not in sys.path:  # last: a numpy.py that is there must not replace NumPy
        sys.path.append(here)
    for name in missing:
        try:
            _modules[name] = importlib.import_module(name)
        except ImportError as error:
            raise InputError(
                f"--import {name}: the module cannot be imported ({error}); run the command in the module's folder, or "
                "set PYTHONPATH"
            ) from None
        except Exception as error:
            raise InputError(f"--import {name}: the module fails ({type(error).__name__}: {error})") from error


def objects_called(name: str) -> Iterator[object]:
    """Yield the objects of the modules with this name."""
    for module in _modules.values():
        if name in vars(module):
            yield vars(module)[name]
