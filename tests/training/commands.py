"""In-process runs of train.py for tests, with the smallest X22."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from training import train

SMALLEST = ["--stages=1", "--input-size=17", "--width=0.25", "--batch=8", "--seed=3"]


def run(data: Path, out: Path, *more: object) -> int:
    """Train and return the exit code."""
    return train.main(["--data", str(data), "--out", str(out), *SMALLEST, *(str(word) for word in more)])


def history(out: Path) -> list[dict[str, Any]]:
    """Return the history entries of a run."""
    entries: list[dict[str, Any]] = json.loads((out / "history.json").read_text())
    return entries
