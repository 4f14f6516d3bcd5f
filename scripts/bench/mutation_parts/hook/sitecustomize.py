"""Import hook of scripts/bench/mutate.py: replace one module, or record the executed lines of packages for each test.

Python imports this file at the start of every process with this folder in ``PYTHONPATH``, which includes child
processes of tests. ``MUTATION_HOOK`` names a JSON file. Its keys are ``packages`` (prefixes of module names), and
either ``module`` and ``source`` (its text) to replace it, or ``cover`` (the folder for the lines) to record.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

SETTINGS: dict[str, Any] = {}
if "MUTATION_HOOK" in os.environ:
    SETTINGS = json.loads(Path(os.environ["MUTATION_HOOK"]).read_text("utf-8"))
PACKAGES = tuple(SETTINGS.get("packages", ()))
MONITORED = sys.version_info >= (3, 12)
TOOL = 4  # an identifier free for programs in sys.monitoring

executed: dict[str, set[tuple[str, int]]] = {}
"""Lines as (module, line), by test; those executed outside of tests have the key ""."""

current = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def begin(test: str) -> None:
    """Record the lines from here on for ``test``."""
    global current  # noqa: PLW0603  one process runs one test at a time
    current = test
    if MONITORED and "cover" in SETTINGS:
        sys.monitoring.restart_events()


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        if fullname == SETTINGS.get("module"):
            return compile(SETTINGS["source"], self.path, "exec", dont_inherit=True)
        code = super().get_code(fullname)
        if "cover" in SETTINGS and code is not None:
            _monitor(code, fullname)
        return code


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PACKAGES):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


_modules: dict[str, str] = {}


def _monitor(code: CodeType, module: str) -> None:
    _modules[code.co_filename] = module
    if not MONITORED:
        return
    sys.monitoring.set_local_events(TOOL, code, sys.monitoring.events.LINE)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _monitor(inner, module)


def _line(code: CodeType, line: int) -> object:
    executed.setdefault(current, set()).add((_modules[code.co_filename], line))
    return sys.monitoring.DISABLE


def _trace(frame: FrameType, event: str, argument: object) -> Any:
    if frame.f_code.co_filename not in _modules:
        return None
    executed.setdefault(current, set()).add((_modules[frame.f_code.co_filename], frame.f_lineno))
    return _trace


def _write() -> None:
    path = Path(SETTINGS["cover"]) / f"{os.getpid()}-{time.time_ns()}.json"
    path.write_text(json.dumps({test: sorted(lines) for test, lines in executed.items()}), "utf-8")


if PACKAGES:
    sys.meta_path.insert(0, _Finder())
if "cover" in SETTINGS:
    atexit.register(_write)
    if MONITORED:
        sys.monitoring.use_tool_id(TOOL, "mutate")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.LINE, _line)
    else:
        sys.settrace(_trace)
