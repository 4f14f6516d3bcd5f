"""scripts/bench/scaling.py, overlap.py and first_frame.py: what they print, and what they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from tiny import SIZE, write_tiny

from glsl_infer import bundle

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/bench" / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_scaling(tmp_path: Path) -> None:
    done = run("scaling.py", write_tiny(tmp_path), "--size", "40x30", f"{SIZE}x{SIZE}", "--rounds", 2, "--json")
    assert done.returncode == 0, done.stderr
    large, same = json.loads(done.stdout)
    assert (large["width"], large["height"]) == (40, 30)
    assert large["steps_off"] <= 2
    assert same["steps_off"] == 0
    assert min(large["cpu_ms"], large["shaders_ms"], large["ratio"]) > 0


def test_overlap(tmp_path: Path) -> None:
    for index in range(3):
        Image.new("RGB", (30, 20), (80 * index, 0, 0)).save(tmp_path / f"{index}.png")
    done = run("overlap.py", tmp_path, write_tiny(tmp_path), "--rounds", 1, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["pictures"] == 3
    assert list(found["ways"]) == ["one after the other", "stream, asleep", "stream, spinning"]
    assert found["ways"]["one after the other"]["ratio"] == 1.0


def test_first_frame(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    done = run("first_frame.py", path, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    manifest = bundle.read(path).manifest
    assert {row["program"] for row in rows} == {one.name for one in manifest.programs}
    assert sum(row["draws"] for row in rows) == len(manifest.passes)
    assert all(0 <= row["compiled"] <= row["draws"] for row in rows)
    assert min(row["first_ms"] for row in rows) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scaling.py", "--size", "40"), "argument --size: 40; give WIDTHxHEIGHT"),
        (("scaling.py", "--size", "0x3"), "argument --size: 0x3; give WIDTHxHEIGHT"),
        (("scaling.py", "--rounds", "0"), "--rounds 0; at least 1 is needed"),
        (("overlap.py", "nowhere"), "nowhere: no such file"),
        (("first_frame.py", "nowhere.glslnn"), "nowhere.glslnn: no such file"),
        (("overlap.py", ".", "--rounds", "0"), "--rounds 0; at least 1 is needed"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}")
    assert done.stdout == ""
