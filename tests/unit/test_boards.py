"""Board reports, and the script for adding them to docs/engineering/boards.md."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from command_line import run_script

from glsl_infer.errors import InputError
from glsl_infer.tools.get import catalogue
from glsl_infer.tools.report import saved

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/docs/boards/table.py"


def test_every_report_that_is_kept_is_whole() -> None:
    for path in (ROOT / "boards").glob("*.json"):
        if path.name != "predicted.json":
            assert saved.read(path)["models"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "no JSON"),
        (b"[]", "not a report"),
        (b'{"format": "glsl-infer benchmark"}', "not a report"),
        (b'{"format": "glsl-infer report", "version": 2}', "version 2"),
        (b'{"format": "glsl-infer report", "version": 1}', "'machine' is missing"),
    ],
)
def test_other_files_are_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        saved.read(path)
    done = run_script(SCRIPT, "--add", path)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_report_without_times_has_no_frame_or_start_time() -> None:
    assert saved.frame_ms({"benchmark": {"failed": "no GPU"}}) is None
    assert saved.start_ms(json.loads('{"benchmark": {"start_ms": {"total": null}}}')) is None


@pytest.fixture
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("table", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_hostile_report_is_escaped_in_its_row(table: ModuleType) -> None:
    hostile = "a | b\n# Title <img src=x onerror=alert(1)> [x](javascript:1) `y` **z**" + "z" * 9999
    (row,) = table._table(["board"], [[hostile]])[2:]
    assert not set(row) & set("|\n<>[]`*")
    assert len(row) < 400
    assert table._table(["board"], [["AMD EPYC (2.25 GHz), 2 cores"]])[2] == "AMD EPYC (2.25 GHz), 2 cores"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"machine": {"cpu": "x", "cores": "many"}}, "machine.cores"),
        ({"checks": [1]}, "checks is not a list"),
        (
            {"models": [{"model": "m", "selfcheck": {"layers": [1]}, "benchmark": {}, "counters": {}}]},
            "layers is not a list",
        ),
        ({"sustained": {"model": "m", "minutes": "9", "slowdown": 1.0, "windows": [1]}}, "no model, minutes"),
        ({"sustained": {"model": "m", "minutes": 9, "slowdown": 1.0, "windows": []}}, "windows is not a list"),
        (
            {"sustained": {"model": "m", "minutes": 9, "slowdown": 1.0, "windows": [{"ms": {"median": float("inf")}}]}},
            "is not a number",
        ),
    ],
)
def test_parts_of_other_types_are_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report = {"format": "glsl-infer report", "version": 1, "machine": {"cpu": "x"}, "driver": {}, "models": []}
    path.write_text(json.dumps({**report, "measured": "", "note": "", **change}))
    with pytest.raises(InputError, match=words):
        saved.read(path)


def test_the_pages_have_the_stored_numbers() -> None:
    done = run_script(SCRIPT, "--check")
    assert done.returncode == 0, done.stderr
    guide = (ROOT / "docs/guide/speed-on-a-pi.md").read_text("utf-8")
    shipped = [path.stem for path in (ROOT / "models").glob("*.glslnn")]
    fetched = [name for model in catalogue.read().values() for name in model.tasks or (model.name,)]
    missing = [name for name in (*shipped, *fetched) if f"| {name} |" not in guide and f"| `{name}` |" not in guide]
    assert missing == ["trashnet-x22-257"], "as fast as grocery-x22-257"


def test_an_estimate_is_written_into_its_row(table: ModuleType) -> None:
    row = "| a task | `faces` | 128x128 | 29 for a tile | 34 tiles |"
    assert table.guide(f"{row}\n| task | network |", {"faces": 40}) == (
        "| a task | `faces` | 128x128 | 40 for a tile | 25 tiles |\n| task | network |"
    )
    with pytest.raises(InputError, match="no estimate of 'faces'"):
        table.guide(row, {})
    line = "| [superres-x2-96](x.md) | twice 30 ms | {} ms a frame |"
    assert table.readme(line.format(19), dict.fromkeys(table.estimates(), 7)) == line.format(7)
