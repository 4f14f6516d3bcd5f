"""Small fragment shaders on the virtual VideoCore IV, in a separate process."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.tools.videocore.executor import Executor

NEAREST, LINEAR, REPEAT, CLAMP, MIRROR = 0x2600, 0x2601, 0x2901, 0x812F, 0x8370
RGBA, RGB, ALPHA, LUMINANCE, LUMINANCE_ALPHA = 0x1908, 0x1907, 0x1906, 0x1909, 0x190A
UNSIGNED_BYTE, BITS_565, BITS_4444, BITS_5551 = 0x1401, 0x8363, 0x8033, 0x8034


def case(fragment: str, size: tuple[int, int] = (16, 16), **more: Any) -> dict[str, Any]:
    """Return a case: a shader's main program and declarations, the target's size, and other keys of glsl_drawing.py."""
    return {"fragment": fragment, "size": size, **more}


def texture(texels: NDArray[Any], format: int = RGBA, type: int = UNSIGNED_BYTE, **more: Any) -> dict[str, Any]:
    """Return a texture of texels (height, width, ...); the defaults are nearest filtering and clamping."""
    data = base64.b64encode(np.ascontiguousarray(texels).tobytes()).decode()
    size = {"width": texels.shape[1], "height": texels.shape[0]}
    filters = {"minify": NEAREST, "magnify": NEAREST, "wrap": CLAMP}
    return {"texels": data, "format": format, "type": type, **size, **filters, **more}


def start(executor: Executor | None, cases: Sequence[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    """Draw the cases in a new process, and return the completed process."""
    command = [sys.executable, str(Path(__file__).parent / "glsl_drawing.py")]
    environment = {**os.environ, "LIBGL_ALWAYS_SOFTWARE": "1"} if executor is None else executor.environment()
    if executor is None:
        command.append("--elsewhere")
    job = json.dumps(cases)
    return subprocess.run(command, env=environment, input=job, capture_output=True, text=True, check=False)


def drawn(executor: Executor | None, *cases: dict[str, Any]) -> list[NDArray[np.uint8]]:
    """Draw on the executor, or on llvmpipe if it is None; return each case's pixels, (height, width, 4)."""
    done = start(executor, cases)
    assert done.returncode == 0, done.stderr
    flat = [np.frombuffer(base64.b64decode(text), np.uint8) for text in json.loads(done.stdout)]
    return [pixels.reshape(case["size"][1], case["size"][0], 4) for pixels, case in zip(flat, cases)]
