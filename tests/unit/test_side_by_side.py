"""What scripts/bench/side_by_side.py exports to compare with; its measurements need TensorFlow and a GPU."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tiny import write_tiny

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts/bench"))
import side_by_side


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is run; an export writes the tiny bundle."""
    found: list[list[str]] = []

    def run(command: Sequence[str], what: str) -> None:
        found.append([*command])
        if "-o" in command:
            shutil.copy(tiny, command[command.index("-o") + 1])

    (tmp_path / "tiny").mkdir()
    tiny = write_tiny(tmp_path / "tiny")
    monkeypatch.setattr(side_by_side, "run", run)
    return found


def options(commands: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Return the options of each export, by the name of its file."""
    exports = [one for one in commands if "export" in one]
    return {Path(one[one.index("-o") + 1]).stem: [*one[one.index("--labels") + 2 :]] for one in exports}


def test_article_style_bakes_the_layer_that_reads_the_picture(tmp_path: Path, commands: list[list[str]]) -> None:
    side_by_side.prepare(tmp_path, ["planned", "article-style"], None, 385)
    found = options(commands)
    assert next(iter(found)) == "all-uniform", "it says which layer that is"
    assert found["all-uniform"] == ["--layout", "planar", "--memory", "naive", "--weights", "uniform"]
    assert found["article-style"] == [*found["all-uniform"], "--weights-for=stem=baked"]
    assert found["planned"] == []
    assert "keras_models.py" in commands[0][1], "the models come first"


def test_a_network_by_name(tmp_path: Path, commands: list[list[str]]) -> None:
    side_by_side.prepare(tmp_path, ["planned"], None, 128, "mobilenet")
    assert commands[0][-4:] == ["--network", "mobilenet", "--size", "128"]


def test_what_is_there_is_not_made_again(tmp_path: Path, commands: list[list[str]]) -> None:
    side_by_side.prepare(tmp_path, ["planned", "article-style"], None, 385)
    commands.clear()
    side_by_side.prepare(tmp_path, ["planned", "article-style"], None, 385)
    assert commands == []
    (tmp_path / "article-style.glslnn").unlink()
    side_by_side.prepare(tmp_path, ["planned", "article-style"], None, 385)
    assert list(options(commands)) == ["article-style"]
