"""The output of classify in README.md is right, and the Python of README.md and of the Python reference runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import command_line
import pytest
from command_line import run_python
from pages import ROOT
from PIL import Image

from glsl_infer.support.resources import default_model

TEXT = (ROOT / "README.md").read_text("utf-8")
PYTHON = (ROOT / "docs/reference/python.md").read_text("utf-8")
PICTURE = ROOT / "docs/images/example.jpg"
LINE = re.compile(r"^ *(\d+\.\d\d) %  (\S+)$", re.MULTILINE)


def run(folder: Path, *words: str) -> str:
    """Run Python in a folder, and return its output."""
    done = run_python(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_classify_prints_the_lines_of_the_readme(tmp_path: Path) -> None:
    documented = [(label, float(percent)) for percent, label in LINE.findall(TEXT)]
    results = [
        (label, float(percent))
        for percent, label in LINE.findall(command_line.run("classify", PICTURE, folder=tmp_path).stdout)
    ]
    assert len(documented) == 5
    assert [label for label, _ in results] == [label for label, _ in documented]
    # A driver may round ties the other way, and JPEG decoders may differ by a step.
    assert [percent for _, percent in results] == pytest.approx([percent for _, percent in documented], abs=1.0)


def program(text: str, index: int) -> str:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[index]


@pytest.mark.parametrize(
    ("code", "least"),
    [(program(TEXT, 0), 4), (program(PYTHON, 0), 3), (program(PYTHON, 1), 30 + 2)],
    ids=["README", "Classifier", "Session"],
)
def test_printed_python_runs(code: str, least: int, tmp_path: Path) -> None:
    """The printed Python runs and prints at least ``least`` lines for labels, layers and frames."""
    shutil.copy(default_model(), tmp_path / "mine.glslnn")
    with Image.open(PICTURE) as picture:
        picture.resize((120, 90)).save(tmp_path / "photo.jpg")
    (tmp_path / "program.py").write_text(code)
    assert len(run(tmp_path, "program.py").splitlines()) >= least
