"""scripts/bench/aibench.py: the score of a run, missing and failed tests, and the measured processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/bench"))

from aibench_parts import measure, page  # noqa: E402

from glsl_infer.errors import RunError  # noqa: E402
from glsl_infer.tools.aibench.tests import LARGEST, TESTS  # noqa: E402

EMPTY = f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n"


MADE = {"passes": 9, "programs": 3, "file_bytes": 1e6, "member_bytes": 2e6, "texture_bytes": 3e6}


def measured() -> dict[str, dict[str, Any]]:
    """Return the results of every test, with the times of a Pixel 2."""
    machine = {"renderer": "a driver"}
    numbers: dict[str, dict[str, Any]] = {
        str(test.number): {
            "run": {"ms": test.reference, "first_ms": 2500.0, "memory_bytes": 3e8, "machine": machine},
            "litert": {"ms": test.reference / 2},
            "made": {**MADE, "export": {"cpu_seconds": 10.0 * test.number, "memory_bytes": 2e9}},
            "validate": {"outputs": [{"cosine": 0.9995}]},
        }
        for test in TESTS
    }
    last = {"megapixels": 4.0, "seconds": 9.0, "stopped": "no more", "memory_bytes": 1e8, "machine": machine}
    numbers[str(LARGEST)] = {"run": last}
    return numbers


def test_a_whole_run_has_a_score() -> None:
    text = page.with_tables(EMPTY, measured())
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "Score: 1293." in text
    assert page.with_score("a score 7 on it", measured()) == "a score 1293 on it"
    assert page.with_score("a score 7 on it", {}) == "a score 7 on it"


def test_what_failed_says_why_and_what_is_missing_is_named() -> None:
    numbers = measured()
    numbers["7"]["run"] = {"failed": "no memory"}
    del numbers["3"], numbers["9"]
    text = page.with_tables(EMPTY, numbers)
    assert "no memory" in text and "Score" not in text


def test_a_process_that_fails_is_an_error_and_one_that_ends_has_a_cost() -> None:
    with pytest.raises(RunError, match="too bad"):
        measure._measured([sys.executable, "-c", "import sys; sys.exit('too bad')"])
    message, cost = measure._measured([sys.executable, "-c", "print(len(bytearray(50 << 20)))"])
    assert int(message) == 50 << 20 and cost["memory_bytes"] > 50 << 20


def test_memory_of_a_process_is_its_own() -> None:
    """The memory of a child process excludes its parent's, which the system reports for a child started as usual."""
    large = bytearray(b"x") * (200 << 20)
    _, cost = measure._measured([sys.executable, "-c", "pass"])
    assert cost["memory_bytes"] < 100 << 20 < len(large)
    with pytest.raises(RunError, match="exit code -9"):
        measure._measured([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
