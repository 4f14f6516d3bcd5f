"""scripts/bench/reliability/campaign_page.py: runs of the same kind are added up."""

from __future__ import annotations

import sys

from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts/bench/reliability"))

import campaign_page


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
