"""Checks of Python's packages and of the system's libraries.

The packages are imported in a child process (``try_imports``), because an import can crash: NumPy compiled for a newer
CPU ends with an illegal instruction on a Pi Zero.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import subprocess
import sys
from pathlib import Path

from glsl_infer.support.child_process import module_command
from glsl_infer.tools.doctor.findings import Finding, check, ok, problem
from glsl_infer.tools.doctor.machine import Machine, shorten

PACKAGES = {
    "numpy": ("NumPy", "python3-numpy"),
    "PIL": ("Pillow", "python3-pil"),
    "OpenGL": ("PyOpenGL", "python3-opengl"),
}
"""Name of each package, and of its Debian package, by module."""

LIBRARIES = {"libEGL.so.1": "libegl1", "libGLESv2.so.2": "libgles2"}
"""Debian's package of each library."""

MESA = "libgl1-mesa-dri"
"""Debian's package of Mesa's drivers."""

APT_UPDATE, APT_INSTALL = "sudo apt update && ", "sudo apt install "
IMPORTS = "glsl_infer.tools.doctor.try_imports"

_SECONDS = 120.0
_SYSTEM_PACKAGES = "usr/lib/python3/dist-packages"
_VISIBLE = "include-system-site-packages"


@check("python")
def packages(machine: Machine) -> Finding:
    """Import the packages needed to run a model."""
    machine.progress("importing packages")
    versions, broken = _imported(list(PACKAGES))
    figures = {"python": platform.python_version(), "packages": {**versions, **_optional()}, "broken": broken}
    if not broken:
        words = ", ".join(f"{PACKAGES[module][0]} {version}" for module, version in versions.items())
        return ok(f"Python {platform.python_version()}, {words}", figures)
    reasons = "; ".join(f"{PACKAGES[module][0]} {reason}" for module, reason in broken.items())
    fixes = [fix for module in broken for fix in _repair(machine, module, "not installed" in broken[module])]
    return problem(reasons, figures, *combined(fixes))


def _optional() -> dict[str, str]:
    """Return the version of glfw, which only windows need; nothing if it is not installed."""
    try:
        return {"glfw": importlib.metadata.version("glfw")}
    except importlib.metadata.PackageNotFoundError:
        return {}


def _repair(machine: Machine, module: str, is_missing: bool) -> list[str]:
    """Return the commands that make a package importable."""
    pip, debian = PACKAGES[module]
    spec = None if is_missing else importlib.util.find_spec(module)
    origin = Path(spec.origin or "") if spec is not None else Path()
    if machine.prefix in origin.parents and (machine.prefix / "pyvenv.cfg").is_file():  # not from apt
        python = shown_python(machine)
        if not machine.is_raspberry_pi:
            return [f"{python} -m pip install --force-reinstall {pip}"]
        return [*install(machine, module, debian, pip), f"{python} -m pip uninstall --yes {pip}"]
    return install(machine, module, debian, pip)


def _imported(modules: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the versions of importable modules, and the reasons for the others."""
    versions: dict[str, str] = {}
    broken: dict[str, str] = {}
    while len(versions) + len(broken) < len(modules):
        remaining = [module for module in modules if module not in versions and module not in broken]
        try:
            done = subprocess.run(
                module_command(IMPORTS, *remaining),
                capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
            )  # fmt: skip
            output, how = done.stdout, f"crashes when it is imported (signal {-done.returncode})"
        except subprocess.TimeoutExpired as error:
            partial = error.stdout or b""
            output = partial.decode("utf-8", "replace") if isinstance(partial, bytes) else partial
            how = f"cannot be imported in {_SECONDS:g} s"
        for line in output.splitlines():
            module, is_right, words = line.split("\t", 2)
            (versions if is_right == "1" else broken)[module] = words
        silent = next((module for module in remaining if module not in versions and module not in broken), None)
        if silent is not None:
            broken[silent] = how
    return versions, broken


def install(machine: Machine, module: str, debian: str, pip: str) -> list[str]:
    """Return the commands that make a module importable.

    Args:
        machine: the machine.
        module: name of the module.
        debian: its package in Debian.
        pip: its name for pip.
    """
    settings = machine.prefix / "pyvenv.cfg"
    is_venv, is_visible = settings.is_file(), sees_system_packages(machine)
    has_apt = machine.has_apt and _is_debians(machine)
    if not has_apt or (is_venv and not is_visible and not machine.is_raspberry_pi):
        return [f"{shown_python(machine)} -m pip install {pip}"]
    is_there = machine.exists(f"{_SYSTEM_PACKAGES}/{module}")
    commands = [] if is_there and not is_visible else [f"{APT_INSTALL}{'--reinstall ' * is_there}{debian}"]
    if not is_visible:
        commands.append(f"sed -i 's/^{_VISIBLE} = false/{_VISIBLE} = true/' {shorten(settings)}")
    return commands


def sees_system_packages(machine: Machine) -> bool:
    """Return whether this Python imports packages installed by apt; some virtual environments do not."""
    settings = _venv_settings(machine)
    return settings is None or settings.get(_VISIBLE, "").lower() == "true"


def _is_debians(machine: Machine) -> bool:
    """Return whether this is Debian's Python or a virtual environment based on it."""
    settings = _venv_settings(machine)
    return machine.prefix == machine.root / "usr" if settings is None else settings.get("home") in ("/usr/bin", "/bin")


def _venv_settings(machine: Machine) -> dict[str, str] | None:
    """Return the settings in pyvenv.cfg; None outside of a virtual environment."""
    try:
        lines = (machine.prefix / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def combined(commands: list[str]) -> tuple[str, ...]:
    """Return commands, each once, with one ``apt install`` for all packages."""
    start = APT_INSTALL
    packages = [command.removeprefix(start) for command in dict.fromkeys(commands) if command.startswith(start)]
    remaining = [command for command in dict.fromkeys(commands) if not command.startswith(start)]
    reinstall = "--reinstall " if any(names.startswith("--reinstall ") for names in packages) else ""
    names = " ".join(dict.fromkeys(name.removeprefix("--reinstall ") for name in packages))
    return ((f"{APT_UPDATE}{start}{reinstall}{names}",) if names else ()) + tuple(remaining)


def apt_install(machine: Machine, names: str) -> str:
    """Return the command to install packages of Debian, or advice for other systems."""
    if machine.has_apt:
        return f"{APT_UPDATE}{APT_INSTALL}{names}"
    return f"install this system's packages of what Debian calls {names.removeprefix('--reinstall ')}"


def shown_python(machine: Machine) -> str:
    """Return the command of this Python."""
    settings = machine.prefix / "pyvenv.cfg"
    return shorten(machine.prefix / "bin/python") if settings.is_file() else "python3"


@check("libraries")
def libraries(machine: Machine) -> Finding | None:
    """Look for the system's EGL and OpenGL ES libraries and for Mesa's drivers."""
    if not sys.platform.startswith("linux"):
        return None
    missing = {name: package for name, package in LIBRARIES.items() if not machine.has_library(name)}
    has_driver = machine.driver.get("context") is not None or has_mesa(machine)
    names = [*missing, *([] if has_driver else ["Mesa's drivers"])]
    if not names:
        return ok(", ".join(LIBRARIES), {"missing": []})
    install_all = [*missing.values(), *([] if has_driver else [MESA])]
    return problem(
        f"{', '.join(names)}: not installed", {"missing": names}, apt_install(machine, " ".join(install_all))
    )


def has_mesa(machine: Machine) -> bool:
    """Return whether drivers of Mesa are installed in Debian's folders."""
    patterns = (
        "usr/lib/*/dri/*_dri.so",
        "usr/lib/*/libgallium-*.so",
        "usr/lib/dri/*_dri.so",
        "usr/lib/libgallium-*.so",
    )
    return any(machine.glob(pattern) for pattern in patterns)
