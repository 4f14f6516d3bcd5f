"""Mesa's VideoCore IV driver on a machine without that GPU: its location, and the environment to load it."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.child_process import public_environment

SHIM = "lib/libvc4_noop_drm_shim.so"
GALLIUM = ("lib/dri/vc4_dri.so", "lib/libgallium-*.so")
"""Patterns of the driver's file: up to Mesa 24, and from Mesa 25."""

FILES = ("lib/libEGL.so.1", "lib/libGLESv2.so.2", GALLIUM[0], SHIM)
"""Files of a driver folder, as built by scripts/vc4/build.sh. One file of ``GALLIUM`` replaces the other."""

RELEASES = {"22": "bookworm", "25": "trixie"}
"""Debian release with each version of Mesa; scripts/vc4/build.sh builds these."""

PREFIXES = ("", "prefix", "prefix-25")
"""Subfolders of a folder of drivers in which a driver is looked for."""

_LINKS = {"libEGL.so": "libEGL.so.1", "libGLESv2.so": "libGLESv2.so.2"}
"""Names of libraries that PyOpenGL tries first. Debian's libegl-dev and libgles-dev have them."""

LIBRARIES_HINT = (
    "it needs the system libraries libdrm2, libexpat1 and zlib1g: sudo apt install libdrm2 libexpat1 zlib1g"
)

_OTHER_DRIVERS = (
    "GALLIUM_DRIVER",
    "LIBGL_ALWAYS_SOFTWARE",
    "MESA_GLES_VERSION_OVERRIDE",
    "MESA_LOADER_DRIVER_OVERRIDE",
    "VC4_SHIM_DUMP",
    "__EGL_VENDOR_LIBRARY_FILENAMES",
)
"""Variables that would select another driver, or make this one write files."""

_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Driver:
    """A folder with the driver and its shim, for this machine's type of CPU.

    Attributes:
        prefix: the folder with ``FILES``.
        origin: description of its source for users.
    """

    prefix: Path
    origin: str

    @property
    def version(self) -> str:
        """Mesa's version, such as 22.3.6; empty if the folder has no driver."""
        return _version(self.prefix)

    @property
    def mesa(self) -> str:
        """Mesa's major version."""
        return self.version.partition(".")[0]

    def environment(self, *, disassembly: bool = False) -> dict[str, str]:
        """Return the environment of a process that uses only this driver and logs its work.

        Args:
            disassembly: whether to log every shader's disassembly too.
        """
        variables = {name: value for name, value in public_environment().items() if name not in _OTHER_DRIVERS}
        return {
            **variables,
            "LD_PRELOAD": _path_list(str(self.prefix / SHIM), variables.get("LD_PRELOAD")),
            "LD_LIBRARY_PATH": _path_list(
                ":".join(map(str, _library_folders(self.prefix))), variables.get("LD_LIBRARY_PATH")
            ),
            "LIBGL_DRIVERS_PATH": str(self.prefix / "lib/dri"),
            "EGL_PLATFORM": "surfaceless",
            "PYOPENGL_PLATFORM": "egl",
            "PYTHONPATH": _path_list(str(_PACKAGE_ROOT), variables.get("PYTHONPATH")),
            "MESA_SHADER_CACHE_DISABLE": "true",  # a shader from the cache is not reported
            "VC4_DEBUG": "shaderdb,qpu" if disassembly else "shaderdb",
            "VC4_SHIM_VALIDATE": "1",
            "VC4_SHIM_LOG_SUBMIT": "1",
        }


def cache_folder() -> Path | None:
    """Return the default output folder of scripts/vc4/build.sh; None for a user without a home."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "glsl-infer/vc4"


def find(prefix: Path | None = None, mesa: str | None = None) -> Driver:
    """Return the driver in ``prefix``, else in ``VC4_PREFIX`` or ``VC4_RUN``, else in the usual folders.

    Args:
        prefix: a folder with a driver, or with the subfolders ``PREFIXES``.
        mesa: Mesa's major version; by default the lowest available.

    Raises:
        InputError: a driver was not found; the message has the build command.
    """
    return find_all(prefix, mesa)[0]


def find_all(prefix: Path | None = None, mesa: str | None = None) -> tuple[Driver, ...]:
    """Return a driver of each available version of Mesa, the lowest first; see ``find``.

    Raises:
        InputError: a driver was not found; the message has the build command.
    """
    by_version: dict[str, Driver] = {}
    for folder, origin, named in _candidates(prefix):
        for name in PREFIXES:
            if _complete(folder / name):
                driver = Driver((folder / name).resolve(), origin)
                by_version.setdefault(driver.mesa, driver)
        if named and not by_version:
            raise InputError(f"{folder}: no VideoCore IV driver there ({origin}); {_advice()}")
    if not by_version:
        raise InputError(f"no VideoCore IV driver on this machine; {_advice()}")
    drivers = sorted(by_version.values(), key=lambda driver: int(driver.mesa or 0))
    if mesa is None:
        return tuple(drivers)
    if mesa not in by_version:
        available = ", ".join(f"{driver.version or 'an unknown version'} in {driver.prefix}" for driver in drivers)
        raise InputError(f"no VideoCore IV driver of Mesa {mesa} ({available}); {_advice(RELEASES.get(mesa))}")
    return (by_version[mesa],)


def _complete(prefix: Path) -> bool:
    return all((prefix / name).is_file() for name in FILES if name not in GALLIUM) and any(
        any(prefix.glob(pattern)) for pattern in GALLIUM
    )


@cache
def _version(prefix: Path) -> str:
    """Return the version of the driver in a folder, from its file name, else from its text."""
    for library in prefix.glob(GALLIUM[1]):
        return library.stem.removeprefix("libgallium-").partition("-")[0]
    library = prefix / GALLIUM[0]
    if not library.is_file() or not library.stat().st_size:
        return ""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        match = re.search(rb"Mesa (\d+\.\d+\.\d+)", data)
        return "" if match is None else match[1].decode("ascii")


def _library_folders(prefix: Path) -> Sequence[Path]:
    """Return the folders in which a process on the driver looks for libraries before the system's.

    PyOpenGL tries libEGL.so before libEGL.so.1. If the driver's folder lacks libEGL.so, it would load the system's from
    the -dev package. The driver's folder can be read-only, so the missing links are in another one.
    """
    folder = prefix / "lib"
    missing = {link: name for link, name in _LINKS.items() if (folder / name).exists() and not (folder / link).exists()}
    if not missing:
        return (folder,)
    links = _links_folder(folder)
    for link, name in missing.items():
        with contextlib.suppress(FileExistsError):
            (links / link).symlink_to(folder / name)
    return links, folder


@cache
def _links_folder(folder: Path) -> Path:
    """Return a folder for links to the libraries of ``folder``: in the cache, else deleted when this process ends."""
    base = cache_folder()
    if base is not None:
        with contextlib.suppress(OSError):
            links = base / "links" / hashlib.sha256(bytes(folder)).hexdigest()[:16]
            links.mkdir(parents=True, exist_ok=True)
            return links
    temporary = tempfile.mkdtemp(prefix="glsl-infer-vc4-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def _candidates(prefix: Path | None) -> Iterator[tuple[Path, str, bool]]:
    """Yield (folder, description of its source, whether the user named it)."""
    if prefix is not None:
        yield prefix, "--driver", True
        return
    if os.environ.get("VC4_PREFIX"):
        yield Path(os.environ["VC4_PREFIX"]), "VC4_PREFIX", True
        return
    if os.environ.get("VC4_RUN"):  # a script that starts a command on the driver in its own folder
        yield Path(os.environ["VC4_RUN"]).parent, "VC4_RUN", True
        return
    cache = cache_folder()
    if cache is not None:
        yield cache, "built by scripts/vc4/build.sh", False
    yield _PACKAGE_ROOT.parent / "shared/vc4", "shared/vc4 beside the checkout", False


def _advice(release: str | None = None) -> str:
    script = _PACKAGE_ROOT / "scripts/vc4/build.sh"
    where = str(script) if script.is_file() else "scripts/vc4/build.sh of a checkout of glsl-infer"
    goes = cache_folder() or "the folder that you give it"
    return (
        f"build it from Debian's mesa source package, once, with {where}{f' --suite {release}' if release else ''} "
        f"(it goes to {goes}), or give the folder of one with --driver DIR or in VC4_PREFIX; there are "
        f"{', '.join(FILES)} in it, or {GALLIUM[1]} instead of {GALLIUM[0]}"
    )


def _path_list(first: str, others: str | None) -> str:
    return f"{first}:{others}" if others else first
