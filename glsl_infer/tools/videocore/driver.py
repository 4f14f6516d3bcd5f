"""Mesa's VideoCore IV driver on a machine without that GPU: where it is, and how a process gets to see it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from glsl_infer.errors import InputError

SHIM = "lib/libvc4_noop_drm_shim.so"
FILES = ("lib/libEGL.so.1", "lib/libGLESv2.so.2", "lib/dri/vc4_dri.so", SHIM)
"""What a driver folder must have; scripts/vc4/build.sh makes one."""

LIBRARIES_HINT = (
    "it needs the system libraries libdrm2, libexpat1 and zlib1g: sudo apt install libdrm2 libexpat1 zlib1g"
)

_OTHERS = (
    "GALLIUM_DRIVER",
    "LIBGL_ALWAYS_SOFTWARE",
    "MESA_GLES_VERSION_OVERRIDE",
    "MESA_LOADER_DRIVER_OVERRIDE",
    "VC4_SHIM_DUMP",
    "__EGL_VENDOR_LIBRARY_FILENAMES",
)
"""Variables that would lead to another driver, or make this one write files."""

_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Driver:
    """A folder with the driver and its shim, for this machine's kind of CPU.

    Attributes:
        prefix: the folder; ``FILES`` are in it.
        origin: how it was found, for people.
    """

    prefix: Path
    origin: str

    def environment(self, *, disassembly: bool = False) -> dict[str, str]:
        """Return the environment of a process that sees this driver, and no other, and that says what it does.

        Args:
            disassembly: also of every shader it compiles.
        """
        kept = {name: value for name, value in os.environ.items() if name not in _OTHERS}
        return {
            **kept,
            "LD_PRELOAD": _joined(str(self.prefix / SHIM), kept.get("LD_PRELOAD")),
            "LD_LIBRARY_PATH": _joined(str(self.prefix / "lib"), kept.get("LD_LIBRARY_PATH")),
            "LIBGL_DRIVERS_PATH": str(self.prefix / "lib/dri"),
            "EGL_PLATFORM": "surfaceless",
            "PYOPENGL_PLATFORM": "egl",
            "PYTHONPATH": _joined(str(_PACKAGE_ROOT), kept.get("PYTHONPATH")),
            "MESA_SHADER_CACHE_DISABLE": "true",  # what is not compiled is not reported
            "VC4_DEBUG": "shaderdb,qpu" if disassembly else "shaderdb",
            "VC4_SHIM_VALIDATE": "1",
            "VC4_SHIM_LOG_SUBMIT": "1",
        }


def cache_folder() -> Path | None:
    """Return the folder that scripts/vc4/build.sh fills unless it is given another; None for a user without a home."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "glsl-infer/vc4"


def find(given: Path | None = None) -> Driver:
    """Return the driver: the one given, else that of ``VC4_PREFIX`` or ``VC4_RUN``, or one in the usual places.

    Args:
        given: a folder with ``FILES`` in it, or in ``prefix`` below it.

    Raises:
        InputError: there is none, or the one named is none; says how to get one.
    """
    for place, origin, named in _places(given):
        for prefix in (place, place / "prefix"):
            if all((prefix / name).is_file() for name in FILES):
                return Driver(prefix.resolve(), origin)
        if named:
            raise InputError(f"{place}: no VideoCore IV driver there ({origin}); {_advice()}")
    raise InputError(f"no VideoCore IV driver on this machine; {_advice()}")


def _places(given: Path | None) -> Iterator[tuple[Path, str, bool]]:
    """Yield (folder, how it was found, whether somebody named it)."""
    if given is not None:
        yield given, "--driver", True
        return
    if os.environ.get("VC4_PREFIX"):
        yield Path(os.environ["VC4_PREFIX"]), "VC4_PREFIX", True
    if os.environ.get("VC4_RUN"):  # a script that starts a command on the driver in the folder beside it
        yield Path(os.environ["VC4_RUN"]).parent, "VC4_RUN", True
    cache = cache_folder()
    if cache is not None:
        yield cache, "built by scripts/vc4/build.sh", False
    yield _PACKAGE_ROOT.parent / "shared/vc4", "shared/vc4 beside the checkout", False


def _advice() -> str:
    script = _PACKAGE_ROOT / "scripts/vc4/build.sh"
    where = str(script) if script.is_file() else "scripts/vc4/build.sh of a checkout of glsl-infer"
    goes = cache_folder() or "the folder that you give it"
    return (
        f"build it from Debian's mesa source package, once, with {where} (it goes to {goes}), or give the "
        f"folder of one with --driver DIR or in VC4_PREFIX; there are {', '.join(FILES)} in it"
    )


def _joined(first: str, rest: str | None) -> str:
    return f"{first}:{rest}" if rest else first
