"""A folder with modules named like the project's imports, which must not be executed from the current folder."""

from __future__ import annotations

from pathlib import Path

NAMES = (
    *("argparse", "ctypes", "encodings", "json", "pathlib", "platform", "runpy", "site", "sitecustomize", "subprocess"),
    *("struct", "tempfile", "typing", "usercustomize", "zipfile"),
    *("glfw", "glsl_infer", "keras", "numpy", "OpenGL", "PIL", "tensorflow", "training", "yaml"),
)
"""Names of the standard library, of packages, and of the project itself."""


def plant(folder: Path) -> Path:
    """Write the modules into a folder; each creates a file there if it is executed."""
    for name in NAMES:
        mark = folder / f"{name}.executed"
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n", "utf-8")
    return folder


def executed(folder: Path) -> list[str]:
    """Return the names of the executed modules."""
    return sorted(path.stem for path in folder.glob("*.executed"))
