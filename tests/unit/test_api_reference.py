"""The API reference: the documented modules, the link check, and its folder. `make docs` builds the pages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts/docs"))

import api_reference


def test_the_command_line_and_the_importers_are_left_out() -> None:
    names = api_reference.modules()
    assert {"glsl_infer", "glsl_infer.bundle.bundle"} <= set(names)
    assert not [name for name in names if name.split(".")[1:2] in (["cli"], ["importers"], ["__main__"])]


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="b.html#there"></a><a href="c.html"></a>'
        '<a href="https://example.org/x#y"></a><script>`<a href="${url}">`</script>'
    )
    (tmp_path / "b.html").write_text('<p id="elsewhere">')
    assert api_reference.broken_links(tmp_path) == ["a.html: b.html#there", "a.html: c.html"]


def test_other_folders_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    monkeypatch.setattr(sys, "argv", ["api_reference.py", str(tmp_path)])
    assert api_reference.main() == 2
    output = capsys.readouterr()
    assert output.out == "" and str(tmp_path) in output.err
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]
