"""The Khronos reference compiler, run once for any number of shaders."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import needs

Shader = tuple[str, str, str]
"""Name, stage (``vert`` or ``frag``) and source."""


def lint(shaders: Iterable[Shader], folder: Path) -> None:
    """Check the shaders; a failure quotes the compiler's log and the invalid sources."""
    distinct = {(stage, text): name for name, stage, text in shaders}
    assert distinct, "there is no shader"
    files: dict[Path, tuple[str, str]] = {}
    for index, ((stage, text), name) in enumerate(distinct.items()):
        path = folder / f"{index}.{stage}"
        path.write_text(text)
        files[path] = (name, text)
    validator = needs.program("glslangValidator", "glslang-tools")
    done = subprocess.run([validator, *map(str, files)], capture_output=True, text=True, check=False)
    if done.returncode:
        # The log has the name of each file, followed by its errors.
        parts = done.stdout.split(f"{folder}/")
        failed = [part.partition("\n") for part in parts if "ERROR:" in part]
        wrong = "".join(f"{files[folder / name][0]}:\n{log}{files[folder / name][1]}" for name, _, log in failed)
        raise AssertionError(wrong or done.stdout + done.stderr)
