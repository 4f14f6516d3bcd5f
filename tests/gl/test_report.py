"""``glsl-infer report`` on a real driver: the file, the page, and failing parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Capture, refused
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.tools.report import saved
from glsl_infer.tools.report.page import page


@pytest.mark.exhaustive
def test_it_collects_everything_of_a_model(tmp_path: Path, capsys: Capture) -> None:
    model, output = write_tiny(tmp_path), tmp_path / "report.json"
    assert (
        main(["report", str(model), "-o", str(output), "--runs", "2", "--minutes", "0.02", "--note", "a <desk>"]) == 0
    )
    printed = capsys.readouterr()
    assert f"wrote {output} (to send)" in printed.out
    report = saved.read(output)
    assert report["driver"]["renderer"] in printed.out
    assert {"python", "memory", "driver"} <= {check["check"] for check in report["checks"]}
    (entry,) = report["models"]
    assert entry["selfcheck"]["passed"] is True
    times = saved.frame_ms(entry)
    assert times is not None
    assert 0 < times["p5"] <= times["median"] <= times["p95"]
    assert report["sustained"]["runs"] > 0
    assert entry["counters"] == {} or any(value is not None for value in entry["counters"].values())
    written = output.with_suffix(".html").read_text("utf-8")
    assert written == page(report)
    assert "a &lt;desk&gt;" in written
    assert str(tmp_path) not in output.read_text("utf-8")  # a folder's name may contain a user's


def test_a_model_that_fails_is_in_the_report(tmp_path: Path, capsys: Capture) -> None:
    broken, output = tmp_path / "broken.glslnn", tmp_path / "report.json"
    broken.write_bytes(b"PK\x03\x04 cut off")
    assert main(["report", str(broken), "-o", str(output), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (entry,) = report["models"]
    for part in ("selfcheck", "benchmark", "counters"):
        assert "not a glsl-infer model" in entry[part]["failed"]
    assert "not a glsl-infer model" in output.with_suffix(".html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.glslnn"], "no such file: gone.glslnn"),
        (["-o", "report.txt"], "name the file *.json"),
        (["-o", "gone/report.json"], "no such folder"),
        (["--minutes", "0"], "--minutes 0"),
        (["--runs", "0"], "--runs 0"),
    ],
)
def test_it_refuses_what_makes_no_sense(
    arguments: list[str], words: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, ["report", *arguments])
    assert not list(tmp_path.iterdir())
