"""Cache of the compiler's statistics of programs, in a file, so that the next export does not compile them again.

The statistics depend on the driver, on the texts passed to it, and on the modules that pass them and read its messages.
The file's name is a hash of the driver and the modules. A failure is not kept, because it can have another cause. The
file is next to the compiled programs (``runtime.program_cache``), and ``GLSL_INFER_CACHE`` moves or disables both.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from glsl_infer.runtime.program_cache import default_folder, read_own, replace_own
from glsl_infer.tools.videocore.driver import FILES, GALLIUM, Driver
from glsl_infer.tools.videocore.transcript import Shader

SUFFIX = ".vc4.json"

MAX_PROGRAMS = 8192
"""Maximum number of programs in the file; the least recently used are deleted. One takes 110 bytes."""

_PACKAGE = Path(__file__).resolve().parents[2]
_MODULES = (
    "runtime/drivers/__init__.py",
    *(f"tools/videocore/{name}.py" for name in ("compile_only", "harness", "loops", "transcript")),
)
"""The modules, not imported here: they load OpenGL."""


def key_of(common: Mapping[str, object], vertex: str, fragment: str) -> str:
    """Return the key of a program: 64 hexadecimal digits.

    Args:
        common: what ``compile_only`` gets for all programs: the prelude and the attributes.
        vertex: its vertex shader.
        fragment: its fragment shader.
    """
    return hashlib.sha256(json.dumps([common, vertex, fragment], sort_keys=True).encode("utf-8")).hexdigest()


class KnownPrograms:
    """The file of one driver.

    Args:
        driver: the driver.

    Attributes:
        path: the file; None if the cache is off.
        name: the driver's own name; empty if no program is known.
    """

    def __init__(self, driver: Driver) -> None:
        self.path: Path | None = None
        self.name, self._programs = "", dict[str, Shader]()
        folder = default_folder()
        with contextlib.suppress(OSError):
            self.path = None if folder is None else folder / f"{_identity(driver)}{SUFFIX}"
        with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
            data = json.loads(read_own(self.path) if self.path else b"null")
            programs = {str(key): Shader(*map(int, figures)) for key, figures in data["programs"].items()}
            self.name, self._programs = str(data["name"]), programs

    def get(self, key: str) -> Shader | None:
        """Return the statistics of a program, if they are known."""
        return self._programs.get(key)

    def keep(self, name: str, used: Mapping[str, Shader]) -> None:
        """Write the statistics of the programs used now, by key, and those before; a failure costs only time."""
        if self.path is None or not used.keys() - self._programs.keys():
            return
        others = [(key, shader) for key, shader in self._programs.items() if key not in used]
        programs = dict([*others, *used.items()][-MAX_PROGRAMS:])
        data = {"name": name, "programs": {key: astuple(shader) for key, shader in programs.items()}}
        replace_own(self.path, json.dumps(data, separators=(",", ":")).encode("utf-8"))


def _identity(driver: Driver) -> str:
    """Return the hash of a driver's files and of the modules: 64 hexadecimal digits.

    Raises:
        OSError: one of them cannot be read.
    """
    patterns: Sequence[str] = (*FILES, *GALLIUM)
    files = sorted({path for pattern in patterns for path in driver.prefix.glob(pattern)})
    stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    texts = [hashlib.sha256((_PACKAGE / name).read_bytes()).hexdigest() for name in _MODULES]
    return hashlib.sha256(json.dumps([stats, texts]).encode("utf-8")).hexdigest()
