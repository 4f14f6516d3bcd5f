"""scripts/build/test_parts.py: parallel parts of the suite, and the summary of their reports."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from pathlib import Path

import pytest
import test_parts
from command_line import run_python
from pages import ROOT
from test_parts import Done, Lanes

MAKEFILE = """
first:
	@touch first; while [ ! -e second ]; do sleep 0.05; done; echo "3 passed, 1 skipped in 0.52s"
second:
	@touch second; while [ ! -e first ]; do sleep 0.05; done; echo "== 1 failed, 2 passed in 1.52s =="; exit 3
long:
	@echo begun; touch long; sleep 600
after:
	@touch after
"""
PYTEST_END = """
=============== slowest files ================
    12.5 s  tests/gl/test_a.py
     2.0 s  tests/gl/test_b.py
=========== 5 passed, 2 deselected, 1 warning in 15.01s (0:01:02) ===========
"""


@pytest.fixture
def makefile_folder(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def test_two_parts_run_at_a_time(makefile_folder: Path) -> None:
    """Each of the two parts waits for the other to begin."""
    ended: list[Done] = []
    Lanes(["make", "-s", "-C", str(makefile_folder)], ended.append).run(["first", "second"], 2)
    first, second = sorted(ended, key=lambda part: part.name)
    assert (first.code, first.counts) == (0, {"passed": 3, "skipped": 1})
    assert (second.code, second.counts) == (2, {"failed": 1, "passed": 2}), "make says 2 for every failure"


def test_one_part_at_a_time_in_order(makefile_folder: Path) -> None:
    (makefile_folder / "first").touch()
    ended: list[Done] = []
    Lanes(["make", "-s", "-B", "-C", str(makefile_folder)], ended.append).run(["second", "first", "after"], 1)
    assert [part.name for part in ended] == ["second", "first", "after"]


def test_stopped_parts_are_printed_and_no_part_begins_after(makefile_folder: Path) -> None:
    ended: list[Done] = []
    lanes = Lanes(["make", "-s", "-C", str(makefile_folder)], ended.append)

    def stop_early(name: str) -> None:
        while not (makefile_folder / name).exists():
            time.sleep(0.01)
        lanes.stop()

    stopper = threading.Thread(target=stop_early, args=["long"])
    stopper.start()
    lanes.run(["long", "after"], 1)
    stopper.join()
    assert [(part.name, part.code != 0) for part in ended] == [("long", True)]
    assert ended[0].output.startswith("begun\n")
    assert not (makefile_folder / "after").exists()


def test_the_end_has_parts_slow_files_and_the_total() -> None:
    parts = [Done("test-a", 0, PYTEST_END, 16.0, 20.0), Done("test-b", 2, PYTEST_END * 2, 70.0, 60.0)]
    assert test_parts.summary(parts, 75.5).splitlines() == [
        "parts:",
        "  test-a          passed, 16 s, 20 s of CPU time",
        "  test-b          FAILED with exit code 2, 70 s, 60 s of CPU time",
        "slowest files:",
        *["    12.5 s  tests/gl/test_a.py (test-b)"] * 2,
        "    12.5 s  tests/gl/test_a.py (test-a)",
        *["     2.0 s  tests/gl/test_b.py (test-b)"] * 2,
        "     2.0 s  tests/gl/test_b.py (test-a)",
        "all parts: 80 s of CPU time",
        "===== 15 passed, 6 deselected, 3 warnings in 75.50s (1:15 minutes) =====",
    ]


@pytest.mark.slow
def test_the_slowest_files_end_a_report_of_several(tmp_path: Path) -> None:
    """The script finds the slowest files in the output of a real run of pytest."""
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = run_python(*options, "tests/unit/test_gl_constants.py", "tests/unit/test_put_rgb.py", folder=ROOT)
    assert done.returncode == 0, done.stdout
    files = [name for _, name in test_parts.SLOW_FILE.findall(done.stdout)]
    assert sorted(files) == ["tests/unit/test_gl_constants.py", "tests/unit/test_put_rgb.py"]
    assert Done("a part", 0, done.stdout, 1.0, 1.0).counts["passed"] > 2


def test_each_part_of_the_makefile_is_in_the_rest_of_all() -> None:
    dry = subprocess.run(
        ["make", "--dry-run", "--always-make", "test-rest"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    parts = re.findall(r"test-[a-z0-9-]+", dry.stdout.rpartition("TIER=rest")[2])
    parts = [part for part in parts if not part.startswith("test-debian")]
    targets = re.findall(r"^(test-[a-z0-9-]+): \$\(VENV\)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert sorted(parts) == sorted(set(targets) - {"test-rest"})
