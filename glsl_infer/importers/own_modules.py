"""The user's Python modules with Keras layers (``--import``). The process that reads the model imports them."""

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
    """Register modules to import. Call this only with names that the user typed.

    Args:
        names: of modules, ``package.module``, or of files in the current folder, ``module.py``.

    Raises:
        InputError: a name is not the name of a Python module.
    """
    for argument in names:
        name = argument.removesuffix(".py").replace("/", ".")
        if not _NAME.fullmatch(name):
            raise InputError(f"--import {argument}; give the name of a Python module, such as my_layers")
        if name not in _remembered:
            _remembered.append(name)


def remembered() -> list[str]:
    """Return the registered names, to register them in another process."""
    return list(_remembered)


def load() -> None:
    """Import the registered modules. They can be in the current folder.

    Raises:
        InputError: a module cannot be imported.
    """
    missing = [name for name in _remembered if name not in _modules]
    here = str(Path.cwd())
    if missing and here not in sys.path:  # last: a numpy.py in the folder must not replace NumPy
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
    """Yield the attributes with this name of all imported modules."""
    for module in _modules.values():
        if name in vars(module):
            yield vars(module)[name]
