"""The output of classify, without a GPU. tests/gl/test_commands.py has the real one."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace, TracebackType

import pytest
from command_line import Capture

from glsl_infer.cli import main, main_classify
from glsl_infer.errors import ImageError
from glsl_infer.runtime.classifier import Prediction


class StandIn:
    """Fake session: returns the same three classes for every image, and refuses bad.png."""

    session = SimpleNamespace(
        context=SimpleNamespace(gl=SimpleNamespace(check=lambda where: None)), bundle=SimpleNamespace(gpu_parts=())
    )
    labels = ("a b", "c", "größte")
    created: list[tuple[object, dict[str, object]]] = []

    def __init__(self, model: object, **options: object) -> None:
        self.created.append((model, options))

    def __enter__(self) -> StandIn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def start(self, path: Path) -> StandIn:
        if path.name == "bad.png":
            raise ImageError(f"{path}: damaged")
        return self

    def result(self) -> None:
        pass

    def rank(self, logits: None, top: int) -> list[Prediction]:
        return [Prediction("größte", 0.7512, 2), Prediction("a b", 0.2, 0), Prediction("c", 0.0488, 1)][:top]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    monkeypatch.setattr("glsl_infer.classifier.Classifier", StandIn)
    monkeypatch.setattr(StandIn, "created", [])
    # The check needs a driver.
    monkeypatch.setattr("glsl_infer.runtime.verdicts.check_once", lambda session, progress: False)
    return StandIn


THREE = " 75.12 %  größte\n 20.00 %  a b\n  4.88 %  c\n"


def test_classify_prints_a_line_a_class(capsys: Capture, stand_in: type[StandIn], picture: Path) -> None:
    assert main(["classify", str(picture)]) == 0
    assert capsys.readouterr() == (THREE, "")
    assert stand_in.created == [(None, {"context": "auto", "threshold": None})]


def test_classify_passes_its_options_on(capsys: Capture, stand_in: type[StandIn], picture: Path) -> None:
    assert main(["classify", str(picture), "--top", "1", "--model", "m.glslnn", "--context", "device"]) == 0
    assert capsys.readouterr().out == THREE.splitlines(keepends=True)[0]
    assert stand_in.created == [(Path("m.glslnn"), {"context": "device", "threshold": None})]


def test_several_pictures_are_named(capsys: Capture, stand_in: type[StandIn], picture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in ("z.JPG", "inside/b.png", "inside/a.webp", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"the stand-in looks at names only")
    assert main(["classify", str(picture), str(folder)]) == 0
    files = (picture, folder / "inside/a.webp", folder / "inside/b.png", folder / "z.JPG")
    assert capsys.readouterr() == ("".join(f"{path}:\n{THREE}" for path in files), "")
    assert len(stand_in.created) == 1


def test_a_bad_picture_is_reported_and_the_others_go_on(
    capsys: Capture, stand_in: type[StandIn], picture: Path, tmp_path: Path
) -> None:
    bad, other = tmp_path / "bad.png", tmp_path / "zebra.png"
    for path in (bad, other):
        path.write_bytes(b"the stand-in looks at names only")
    argv = [str(path) for path in (picture, bad, other)]
    assert main(["classify", *argv]) == 2
    assert capsys.readouterr() == (f"{picture}:\n{THREE}{other}:\n{THREE}", f"error: {bad}: damaged\n")
    assert main(["classify", "--json", *argv]) == 2
    assert [load["file"] for load in json.loads(capsys.readouterr().out)] == [str(picture), str(other)]
    with pytest.raises(ImageError, match="damaged"):
        main(["classify", "--debug", *argv])


def test_classify_as_json(capsys: Capture, stand_in: type[StandIn], picture: Path) -> None:
    assert main(["classify", "--json", "--top", "1", str(picture)]) == 0
    text = capsys.readouterr().out
    predictions = [{"label": "größte", "probability": 0.7512, "index": 2}]
    assert json.loads(text) == [{"file": str(picture), "predictions": predictions}]
    assert text.isascii()  # ASCII is valid JSON in every encoding of standard output


@pytest.mark.parametrize("argv", [["{}"], ["{}", "--top", "2", "--json"], ["no.jpg"], ["{}", "--screenshot", "a.png"]])
def test_classify_alone_is_the_same_command(
    capsys: Capture, stand_in: type[StandIn], picture: Path, argv: list[str]
) -> None:
    arguments = [word.format(picture) for word in argv]
    code, output = main(["classify", *arguments]), capsys.readouterr()
    assert (main_classify(arguments), capsys.readouterr()) == (code, output)
