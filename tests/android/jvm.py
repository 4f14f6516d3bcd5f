"""Java programs started from tests, and their output."""

from __future__ import annotations

import json
import math
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import numpy as np
from numpy.typing import NDArray


class Jvm:
    """The command line of a Java class, with an optional working directory ``folder``."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)

    def start(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        words = [*self.command, *(str(argument) for argument in arguments)]
        return subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False, timeout=300)

    def json(self, *arguments: object) -> Any:
        """Return the printed JSON, or None if the program prints nothing."""
        done = self.start(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout else None

    def refused(self, *arguments: object, code: int = 2) -> str:
        """Return the program's error message, which must be a single line without a traceback."""
        done = self.start(*arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        return done.stderr

    def verdicts(self, paths: Sequence[Path]) -> list[str]:
        """Return the reader's error message for each bundle, or an empty string if the bundle is sound."""
        done = self.start("read", *paths)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.split("\n")[:-1]
        assert len(lines) == len(paths)
        for path, line in zip(paths, lines):
            assert not line or line.startswith(f"{path}: ")
        return [line.removeprefix(f"{path}: ") for path, line in zip(paths, lines)]

    def run(self, bundle: Path, pictures: NDArray[np.uint8], folder: Path) -> tuple[NDArray[np.float32], Any]:
        """Return the outputs of images (n, size, size, 3), one per row, and the statistics of a frame."""
        raw, out = folder / "pictures.rgb", folder / "outputs.f32"
        raw.write_bytes(pictures.tobytes())
        facts = self.json("run", bundle, raw, out)
        return np.frombuffer(out.read_bytes(), "<f4").reshape(len(pictures), -1), facts

    def frame(self, bundle: Path, inputs: Mapping[str, NDArray[Any]], folder: Path) -> dict[str, NDArray[np.float32]]:
        """Return the outputs of a frame by name, in the runner's order; for ``inputs`` see ``input_words``."""
        out = folder / "outputs.f32"
        shapes = self.json("frame", bundle, out, *input_words(inputs, folder))
        data, at, results = np.frombuffer(out.read_bytes(), "<f4"), 0, {}
        for name, shape in shapes:
            results[name] = data[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
        assert at == data.size
        return results


class Server(Jvm):
    """A process of ``glslinfer.desktop.Main`` for all commands, because a JVM takes a second to start."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._process: subprocess.Popen[str] | None = None

    def start(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [*self.command, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        words = [str(argument) for argument in arguments]
        process.stdin.write(" ".join(quote_plus(word) for word in words) + "\n")
        process.stdin.flush()
        watch = threading.Timer(300.0, process.kill)
        watch.start()
        answer = process.stdout.readline()
        watch.cancel()
        if not answer:
            self.close()
            raise AssertionError(f"the JVM has ended in: {' '.join(words)}")
        code, out, err = json.loads(answer)
        return subprocess.CompletedProcess(words, code, out, err)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def input_words(inputs: Mapping[str, NDArray[Any]], folder: Path) -> list[str]:
    """Write inputs into a folder, and return the command-line words that pass them to the runner.

    Args:
        inputs: by name. uint8 is an image of the model's size, uint32 an image of any size (see ``argb``), and every
            other type is an array of values.
        folder: output folder of the files.
    """
    words = []
    for index, (name, array) in enumerate(inputs.items()):
        path = folder / f"{index}.{'argb' if array.dtype == np.uint32 else 'raw'}"
        if array.dtype == np.uint32:
            path.write_bytes(np.array(array.shape[::-1], "<u4").tobytes() + array.astype("<u4").tobytes())
        else:
            path.write_bytes(array.tobytes() if array.dtype == np.uint8 else array.astype("<f4").tobytes())
        words.append(f"{name}={path}")
    return words


def argb(rgba: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return pixels, uint8 (height, width, 4), in Android's format: uint32 (height, width)."""
    wide = rgba.astype(np.uint32)
    packed: NDArray[np.uint32] = wide[..., 3] << 24 | wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]
    return packed
