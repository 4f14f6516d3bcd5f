"""docs/reliability.md has the table of docs/reliability.json, and its goals."""

from __future__ import annotations

import json
import sys

from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts/reliability"))

import campaign_page


def test_the_table_is_the_one_of_the_runs() -> None:
    rows = json.loads(campaign_page.DATA.read_text("utf-8"))
    page = campaign_page.PAGE.read_text("utf-8")
    assert campaign_page.written(page, rows) == page
    files = [row["files"] for row in rows if row["kind"] in ("bundle", "tflite", "onnx")]
    assert sum(files) >= 100_000


def test_runs_are_added_up() -> None:
    entry = {
        "files": 2,
        "verdicts": {"refused": 1},
        "slowest_s": 0.5,
        "most_bytes": 3 << 20,
        "findings": ["/x/a.onnx: b"],
    }
    rows = campaign_page.taken({"of": {"onnx": entry, "tflite": {**entry, "files": 0}}}, "here")
    assert rows[0]["findings"] == ["a.onnx: b"]
    assert campaign_page.table([*rows, *rows]).splitlines()[2:] == ["| `.onnx` files | 4 | 0.5 s | 3 MiB | 2 |"]
