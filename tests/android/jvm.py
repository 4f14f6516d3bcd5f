"""Starting Java programs in tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Jvm:
    """A command line that starts a class; ``folder`` is where it runs, if that matters."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)

    def start(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        words = [*self.command, *(str(one) for one in arguments)]
        return subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False, timeout=300)

    def json(self, *arguments: object) -> Any:
        """Return what it prints, which is JSON or nothing."""
        done = self.start(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout else None

    def refused(self, *arguments: object, code: int = 2) -> str:
        """Return the message with which it ends: one line, no traceback."""
        done = self.start(*arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        return done.stderr

    def verdicts(self, paths: Sequence[Path]) -> list[str]:
        """Return what it finds wrong with each bundle; empty where nothing is."""
        done = self.start("read", *paths)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.split("\n")[:-1]
        assert len(lines) == len(paths)
        for path, line in zip(paths, lines):
            assert not line or line.startswith(f"{path}: ")
        return [line.removeprefix(f"{path}: ") for path, line in zip(paths, lines)]

    def run(self, bundle: Path, pictures: NDArray[np.uint8], folder: Path) -> tuple[NDArray[np.float32], Any]:
        """Return the outputs of pictures (n, size, size, 3), one a row, and what a frame takes."""
        raw, out = folder / "pictures.rgb", folder / "outputs.f32"
        raw.write_bytes(pictures.tobytes())
        facts = self.json("run", bundle, raw, out)
        return np.frombuffer(out.read_bytes(), "<f4").reshape(len(pictures), -1), facts
