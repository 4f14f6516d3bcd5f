"""Invalid labels: `export` reports them in one line and keeps an existing file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import Capture, refused
from graphs import classifier, conv_node, input_node
from tiny import LABELS, tiny_graph, write_tiny

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.importers import keras
from glsl_infer.importers.core.report import ImportReport

pytestmark = pytest.mark.slow

TEXT = "give a UTF-8 text file, one label a line"

BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a blank line": (lambda path: path.write_bytes(b"a\n\nb\n"), f"line 2 is empty; {TEXT}"),
    "a blank last line": (lambda path: path.write_bytes(b"a\nb\n\n"), f"line 3 is empty; {TEXT}"),
    "a line of spaces": (lambda path: path.write_bytes(b"a\n \t\r\nb\n"), f"line 2 is empty; {TEXT}"),
    "nothing in it": (lambda path: path.write_bytes(b""), f"has no labels; {TEXT}"),
    "Latin-1": (lambda path: path.write_bytes("größte\n".encode("latin-1")), f"the labels are not UTF-8 text; {TEXT}"),
    "UTF-16": (lambda path: path.write_bytes("a\nb\n".encode("utf-16")), f"the labels are not UTF-8 text; {TEXT}"),
    "the model": (
        lambda path: path.write_bytes(write_tiny(path.parent).read_bytes()),
        f"the labels are not UTF-8 text; {TEXT}",
    ),
    "a folder": (lambda path: path.mkdir(), "is a folder, not a file of labels"),
    "a pipe": (os.mkfifo, "is a pipe, not a file of labels"),
    "no file": (lambda path: None, f"labels cannot be read (No such file or directory); {TEXT}"),
}


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the Keras importer by one that returns the tiny network."""
    monkeypatch.setattr(keras, "survey", lambda path, *_: ImportReport((), tiny_graph()))


@pytest.mark.parametrize("kind", BAD)
def test_bad_labels_are_refused(
    capsys: Capture, tmp_path: Path, imported: None, export_arguments: dict[str, Path], kind: str
) -> None:
    make, wording = BAD[kind]
    labels = tmp_path / "bad.txt"
    make(labels)
    argv = {**export_arguments, "--labels": labels}
    argv["-o"].write_bytes(b"old")
    message = refused(capsys, ["export", argv.pop("model"), *(word for pair in argv.items() for word in pair)])
    assert message.startswith(f"error: {labels}: ")
    assert wording in message
    assert argv["-o"].read_bytes() == b"old"


def export(arguments: dict[str, Path]) -> list[object]:
    return ["export", arguments["model"], "-o", arguments["-o"], "--labels", arguments["--labels"]]


@pytest.mark.parametrize("count", [1, 2, 4, 1000])
def test_the_wrong_number_of_labels_is_refused(
    capsys: Capture, imported: None, export_arguments: dict[str, Path], count: int
) -> None:
    labels, out = export_arguments["--labels"], export_arguments["-o"]
    labels.write_text("a\n" * count)
    out.write_bytes(b"old")
    message = refused(capsys, export(export_arguments))
    assert message.startswith(f"error: {labels}: {count} labels for the 3 classes of {export_arguments['model']}; ")
    assert "one line for each class" in message
    assert sorted(path.name for path in out.parent.iterdir()) == ["labels.txt", "model.keras", "out.glslnn"]
    assert out.read_bytes() == b"old"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_labels_of_every_editor(imported: None, export_arguments: dict[str, Path], mark: str, end: str) -> None:
    """A byte order mark does not belong to the first label."""
    text = mark + "".join(label + end for label in LABELS)
    export_arguments["--labels"].write_bytes(text.encode("utf-8"))
    assert main(list(map(str, export(export_arguments)))) == 0
    assert bundle.read(export_arguments["-o"]).labels == LABELS


def test_the_output_is_a_folder(capsys: Capture, imported: None, export_arguments: dict[str, Path]) -> None:
    export_arguments["--labels"].write_text("a\nb\nc\n")
    out = export_arguments["-o"]
    out.mkdir()
    assert f"{out}: is a folder; name a file" in refused(capsys, export(export_arguments))
    assert sorted(path.name for path in out.parent.iterdir()) == ["labels.txt", "model.keras", "out.glslnn"]


def test_all_problems_are_reported_at_once(capsys: Capture, tmp_path: Path, export_arguments: dict[str, Path]) -> None:
    """Invalid labels, an invalid image and a missing model are reported together, in one run."""
    arguments = export_arguments
    arguments["--labels"].write_bytes(b"a\n\nb\n")
    photo = tmp_path / "photo.png"
    photo.write_bytes(b"no picture")
    arguments["model"].unlink()  # loading one would import TensorFlow next to Mesa's LLVM, which crashes
    assert main(list(map(str, [*export(arguments), "--calibrate", photo]))) == 2
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "error: 3 problems:"
    for line, path in zip(lines, (arguments["--labels"], arguments["model"], photo)):
        assert line.startswith(f"  {path}: ")
    assert len(lines) == 3


def test_labels_and_a_layers_error_are_reported_together(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, export_arguments: dict[str, Path]
) -> None:
    """An unbounded ReLU without calibration images is reported with the labels, after the model is read."""
    rng = np.random.default_rng(0)
    body = [input_node(6), conv_node(rng, "open", ("image",), 3, 4, activation="relu")]
    monkeypatch.setattr(keras, "survey", lambda path, *_: ImportReport((), classifier(rng, body, 4)))
    export_arguments["--labels"].write_text("a\nb\n")
    assert main(list(map(str, export(export_arguments)))) == 2
    first, labels, layer = capsys.readouterr().err.splitlines()
    assert first == "error: 2 problems:"
    assert "2 labels for the 3 classes" in labels
    assert "layer 'open': the values of 'relu' have no fixed range" in layer
