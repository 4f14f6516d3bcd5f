"""Labels, layer names and file names with escape sequences: no command writes them to a terminal or a table."""

from __future__ import annotations

import json
from pathlib import Path

import bundle_data
import pytest
import tiny
from bundle_files import zipped
from PIL import Image

from glsl_infer.bundle import manifest_json
from glsl_infer.cli import main

pytestmark = pytest.mark.drivers("all")

ESCAPES = "\x1b]0;owned\x07\x9b2J\u202e\x7f\r"
LABELS = tuple(f"=label{ESCAPES}größe 👩\u200d🌾 {index}" for index in range(3))
LAYER = f"unit-pw{ESCAPES}\nerror: forged"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder named with escapes, with an image and a bundle that has escapes in its labels and one layer name."""
    folder = tmp_path_factory.mktemp("hostile") / f"folder{ESCAPES}"
    folder.mkdir()
    bundle = tiny.tiny_bundle(labels=LABELS)
    members = {**bundle.members, "manifest.json": json.dumps(manifest_json.to_json(bundle.manifest)).encode()}
    text = json.dumps(bundle_data.combined_data(members)).replace('"unit-pw"', json.dumps(LAYER))
    zipped(folder / "hostile.glslnn", bundle_data.members_from(json.loads(text), members))
    Image.fromarray(tiny.tiny_picture(1)).save(folder / "picture.png")
    return folder


COMMANDS = {
    "classify": ["classify", "PICTURE", "PICTURE", "--model", "MODEL", "--no-selfcheck"],
    "run": ["run", "MODEL", "PICTURE"],
    "inspect": ["inspect", "MODEL", "--passes"],
    "selfcheck": ["selfcheck", "MODEL"],
    "benchmark": ["benchmark", "MODEL", "--profile", "--runs", "1", "--warm-up", "0"],
    "camera": ["camera", "--source", "FOLDER", "--model", "MODEL", "--frames", "1", "--no-selfcheck"],
    "a refusal": ["run", "MODEL", "PICTURE", "-o", f"nowhere{ESCAPES}/out.npy"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_terminal_gets_no_escape(name: str, hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"MODEL": hostile / "hostile.glslnn", "PICTURE": hostile / "picture.png", "FOLDER": hostile}
    code = main([str(values.get(word, word)) for word in COMMANDS[name]])
    printed = capsys.readouterr()
    assert code == (2 if name == "a refusal" else 0), printed.err
    text = printed.out + printed.err
    assert "\\u001b]0;owned\\u0007\\u009b2J\\u202e\\u007f\\u000d" in text
    assert all(
        character.isprintable() for line in text.split("\n") for character in line if character not in "\u200d\t"
    )
    assert not any(line.startswith("error: forged") for line in text.split("\n"))
    if name in ("classify", "run", "camera"):
        assert "größe 👩\u200d🌾" in text


def test_json_keeps_the_text(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, model = str(hostile / "picture.png"), str(hostile / "hostile.glslnn")
    assert main(["classify", picture, "--model", model, "--json", "--no-selfcheck"]) == 0
    text = capsys.readouterr().out
    [answer] = json.loads(text)
    assert {prediction["label"] for prediction in answer["predictions"]} == set(LABELS)
    assert answer["file"] == picture
    assert text.isascii() and "\x1b" not in text and "\x7f" not in text


def test_the_table_has_neither_escapes_nor_formulas(hostile: Path, tmp_path: Path) -> None:
    table = tmp_path / "out.csv"
    model = str(hostile / "hostile.glslnn")
    assert main(["classify", str(hostile), "--model", model, "--csv", str(table), "--no-selfcheck"]) == 0
    text = table.read_text("utf-8")
    assert "'=label\\u001b]0;owned" in text and "größe" in text
    assert all(line.replace("\u200d", "").isprintable() for line in text.splitlines())
