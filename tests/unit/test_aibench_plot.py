"""The plot of an AI Benchmark run: bars begin at the score of a Pixel 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import needs
import numpy as np
from PIL import Image

from glsl_infer.tools.aibench import plot

needs.module("matplotlib")


def columns(path: Path) -> list[tuple[int, int]]:
    """Return the first and last blue column of each bar, from the top."""
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    blue = (pixels[..., 2] > 150) & (pixels[..., 0] < 80)
    rows = np.flatnonzero(blue.sum(axis=1) > 20)
    bars = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    return [(int(result[0]), int(result[-1])) for result in (np.flatnonzero(blue[bar[len(bar) // 4]]) for bar in bars)]


def row(test: int, **result: Any) -> dict[str, Any]:
    return {"test": test, "task": "task", "network": "net", **result}


def test_twice_and_half_as_good_are_as_long(tmp_path: Path) -> None:
    rows = [row(4, ms=584.0), row(8, ms=2720.0), row(9, failed="no"), row(9, megapixels=8.0)]
    plot.plot_results({"tests": rows, "machine": {"renderer": "a $5 GPU"}, "quick": False}, tmp_path / "p.png")
    better, worse, largest = columns(tmp_path / "p.png")
    assert better == largest
    assert abs(better[0] - worse[1]) <= 3, "both begin at a Pixel 2"
    assert abs((better[1] - better[0]) - (worse[1] - worse[0])) <= 4


def test_a_run_in_which_all_failed_is_a_picture_too(tmp_path: Path) -> None:
    plot.plot_results({"tests": [row(4, failed="no")], "machine": {}, "quick": True}, tmp_path / "p.png")
    with Image.open(tmp_path / "p.png") as picture:
        assert picture.size[0] > 500
