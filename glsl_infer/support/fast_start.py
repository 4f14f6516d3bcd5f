"""A fast start of commands that use a model, for processes of glsl-infer's own.

NumPy is imported without modules that no session uses: they are executed at their first use. NumPy 2 delays five of
them itself. NumPy 1 executes them when it is imported, which takes a Pi Zero 58 million instructions. The others take
35 million: modules of the standard library, and those that give functions of NumPy their docstrings.

Python looks for garbage after each 700 new objects. The objects of a start are not garbage, and looking at them takes
18 million instructions.
"""

from __future__ import annotations

import gc
import sys
import threading
from importlib.machinery import PathFinder
from types import ModuleType

TYPE_CHECKING = False  # checkers know the name, and the module typing loads slowly
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

DELAYED = {
    **dict.fromkeys(("numpy.ctypeslib", "numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.random"), "numpy"),
    **dict.fromkeys(("numpy.core._add_newdocs", "numpy.core._add_newdocs_scalars"), "numpy"),  # NumPy 1
    **dict.fromkeys(("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars"), "numpy"),  # NumPy 2
    **dict.fromkeys(("ast", "pickle", "textwrap"), "numpy"),
    "ipaddress": "urllib.parse",
}
"""Modules that are delayed while another module is imported, and that module, which uses nothing of them meanwhile."""

OBJECTS_OF_START = 50_000
"""Number of new objects before a collection during a start, which creates fewer."""

_SET_BY_IMPORTS = ("__path__", "__file__", "__cached__")
"""Attributes that the import system looks up before it sets them."""

_lock = threading.RLock()
_usual_thresholds: list[tuple[int, int, int]] = []
"""Thresholds of garbage collection from before a start that has not ended."""


def begin() -> None:
    """Delay ``DELAYED`` and collect less garbage until ``end``, unless NumPy is imported already."""
    if "numpy" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
        _usual_thresholds.append(gc.get_threshold())
        gc.set_threshold(OBJECTS_OF_START)


def end() -> None:
    """Collect garbage as usual again, but not among the objects of the start. It has no effect without ``begin``."""
    if _usual_thresholds:
        gc.freeze()
        gc.set_threshold(*_usual_thresholds.pop())


def _is_being_imported(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and getattr(module.__spec__, "_initializing", False)


class _Finder:
    """Finds the delayed modules while the other module is imported, and nothing afterwards."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in DELAYED or not _is_being_imported(DELAYED[name]):
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
