"""Imports NumPy without its submodules for other purposes, as NumPy 2 does: they are executed at their first use.

NumPy 1 executes all of them when it is imported. Five that no session uses take a Pi Zero 58 million instructions, a
quarter of NumPy's import.
"""

from __future__ import annotations

import sys
import threading
from importlib.machinery import PathFinder
from types import ModuleType

TYPE_CHECKING = False  # checkers know the name, and the module typing loads slowly
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

DELAYED = ("numpy.ctypeslib", "numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.random")
"""Submodules of NumPy that its other modules do not use."""

_SET_BY_IMPORTS = ("__path__", "__file__", "__cached__")
"""Attributes that the import system looks up before it sets them."""

_lock = threading.RLock()


def delay() -> None:
    """Delay ``DELAYED`` if NumPy is not imported yet. For processes of glsl-infer's own, not for those of its users."""
    if "numpy" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the delayed submodules while NumPy itself is imported, and nothing afterwards."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in DELAYED or not getattr(sys.modules["numpy"].__spec__, "_initializing", False):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    """Creates a module without executing it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        return _Delayed(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Do nothing: ``_Delayed`` executes the module."""


class _Delayed(ModuleType):
    """A module that is executed when an attribute is missing."""

    def __getattr__(self, name: str) -> Any:
        if name not in _SET_BY_IMPORTS:
            self._execute()
        return ModuleType.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        self._execute()
        return dir(self)

    def _execute(self) -> None:
        with _lock:  # another thread waits until the module is complete
            spec = self.__spec__
            if spec is None or not isinstance(spec.loader, _Loader):
                return
            loader = spec.loader.loader
            spec.loader = self.__loader__ = loader
            loader.exec_module(self)
            self.__class__ = ModuleType
