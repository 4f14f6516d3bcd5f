"""A folder with modules of names that the project imports: nothing may execute them because it is the current one."""

from __future__ import annotations

from pathlib import Path

NAMES = (
    *("argparse", "ctypes", "encodings", "json", "pathlib", "platform", "runpy", "site", "sitecustomize", "subprocess"),
    *("struct", "tempfile", "typing", "usercustomize", "zipfile"),
    *("glfw", "glsl_infer", "keras", "numpy", "OpenGL", "PIL", "tensorflow", "training", "yaml"),
)
"""From the standard library, from packages, and of the project itself."""


def plant(folder: Path) -> Path:
    """Put the modules into a folder; each leaves a file there when it is executed."""
    for name in NAMES:
        mark = folder / f"{name}.executed"
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n", "utf-8")
    return folder


def executed(folder: Path) -> list[str]:
    """Return the names of the modules that were executed."""
    return sorted(path.stem for path in folder.glob("*.executed"))
