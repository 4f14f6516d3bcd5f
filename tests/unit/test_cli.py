"""The command line without a GPU: arguments, messages, exit codes and what is printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from PIL import Image

import glsl_infer
from glsl_infer.classifier import Prediction
from glsl_infer.cli import classify, info, main, main_classify
from glsl_infer.errors import ImageError, InputError, RunError, ShaderError
from glsl_infer.export import LayerReport, Report
from glsl_infer.fixed_point import ScaleChoice

Capture = pytest.CaptureFixture[str]
COMMANDS = ("classify", "export", "info")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    Image.new("RGB", (6, 4)).save(path)
    return path


def refused(capsys: Capture, argv: list[object], code: int = 2) -> str:
    """Run a command that cannot work, and return its message: one line, nothing on standard output."""
    assert main([str(one) for one in argv]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert output.err.endswith("\n")
    return output.err


# Arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "COMMAND"),
        (["draw"], "invalid choice: 'draw'"),
        (["classify"], "IMAGE"),
        (["classify", "a.jpg", "--top", "five"], "invalid int value: 'five'"),
        (["classify", "a.jpg", "--colour"], "--colour"),
        (["classify", "a.jpg", "--mod", "b"], "--mod"),
        (["classify", "a.jpg", "--context", "glx"], "invalid choice: 'glx'"),
        (["export"], "MODEL.keras"),
        (["export", "a.keras", "-o", "a.glslnn"], "--labels"),
        (["export", "a.keras", "--labels", "l.txt"], "--out"),
        (["export", "a.keras", "-o", "a.glslnn", "--labels", "l.txt", "--weights", "big"], "invalid choice: 'big'"),
        (["info", "everything"], "everything"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_with_2(capsys: Capture, argv: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(argv)
    output = capsys.readouterr()
    assert left.value.code == 2
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert said in output.err
    assert "--help" in output.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: glsl-infer {command}")
    assert "--json" in text
    assert "--debug" in text


def test_help_lists_the_commands_with_a_sentence_each(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    sentences = {line[0]: line[1] for line in lines if len(line) == 2 and line[0] in COMMANDS}
    assert tuple(sentences) == COMMANDS
    assert all(sentence.endswith(".") for sentence in sentences.values())


def test_help_of_classify(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as left:
        main_classify(["--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("usage: classify ")


def test_version(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"glsl-infer {glsl_infer.__version__}\n"


# What cannot be used: exit code 2 and one line ------------------------------------------------------


def test_a_missing_picture(capsys: Capture, tmp_path: Path) -> None:
    missing = tmp_path / "no.jpg"
    assert f"{missing}: no such file" in refused(capsys, ["classify", missing])


def test_a_name_that_no_file_can_have(capsys: Capture) -> None:
    assert "cannot be read" in refused(capsys, ["classify", "a" * 300])


def test_a_folder_without_pictures(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "notes.txt").write_text("no picture")
    assert f"{tmp_path}: a folder without pictures" in refused(capsys, ["classify", tmp_path])


@pytest.mark.parametrize("top", ["0", "-1"])
def test_top_below_one(capsys: Capture, picture: Path, top: str) -> None:
    assert f"--top {top}" in refused(capsys, ["classify", picture, "--top", top])


def bad_models(folder: Path) -> dict[str, Path]:
    """Files that are no model, by what is wrong with them."""
    paths = {
        name: folder / f"{name}.glslnn" for name in ("missing", "folder", "empty", "text", "foreign", "no manifest")
    }
    paths["folder"].mkdir()
    paths["empty"].write_bytes(b"")
    paths["text"].write_text("This is no model.\n")
    Image.new("RGB", (4, 4)).save(paths["foreign"], "PNG")
    with zipfile.ZipFile(paths["no manifest"], "w") as archive:
        archive.writestr("labels.txt", "a\nb\n")
    return paths


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "text", "foreign", "no manifest"])
def test_a_file_that_is_no_model(capsys: Capture, tmp_path: Path, picture: Path, kind: str) -> None:
    model = bad_models(tmp_path)[kind]
    message = refused(capsys, ["classify", picture, "--model", model])
    assert message.startswith(f"error: {model}: ")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_truncated_model(capsys: Capture, tmp_path: Path, picture: Path, kept: float) -> None:
    model = tmp_path / "cut.glslnn"
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "glsl-infer"}))
        archive.writestr("labels.txt", "a\nb\n")
    model.write_bytes(model.read_bytes()[: int(model.stat().st_size * kept)])
    assert f"{model}: not a glsl-infer model, or cut off" in refused(capsys, ["classify", picture, "--model", model])


@pytest.fixture
def export_arguments(tmp_path: Path) -> dict[str, Path]:
    """Arguments of export that are right, but for a model that nobody could load."""
    model, labels = tmp_path / "model.keras", tmp_path / "labels.txt"
    model.write_bytes(b"not loaded in these tests")
    labels.write_text("a\nb\n")
    return {"model": model, "-o": tmp_path / "out.glslnn", "--labels": labels}


def export_refused(capsys: Capture, arguments: dict[str, Path], **changed: Path) -> str:
    given = {**arguments, **{{"out": "-o", "labels": "--labels"}.get(key, key): one for key, one in changed.items()}}
    options = [part for key, value in given.items() if key.startswith("-") for part in (key, value)]
    message = refused(capsys, ["export", given["model"], *options])
    assert not given["-o"].exists()
    return message


def test_export_of_a_missing_model(capsys: Capture, tmp_path: Path, export_arguments: dict[str, Path]) -> None:
    missing = tmp_path / "missing.keras"
    assert f"{missing}: no such file" in export_refused(capsys, export_arguments, model=missing)


def test_export_to_another_suffix(capsys: Capture, tmp_path: Path, export_arguments: dict[str, Path]) -> None:
    assert "*.glslnn" in export_refused(capsys, export_arguments, out=tmp_path / "out.zip")


def test_export_to_a_missing_folder(capsys: Capture, tmp_path: Path, export_arguments: dict[str, Path]) -> None:
    out = tmp_path / "nowhere" / "out.glslnn"
    assert f"{out.parent}: no such folder" in export_refused(capsys, export_arguments, out=out)


@pytest.mark.parametrize(
    "content", [None, b"", b"a\n\nb\n", b"\xff\xfe\n"], ids=["missing", "empty", "gap", "no UTF-8"]
)
def test_export_with_bad_labels(
    capsys: Capture, tmp_path: Path, export_arguments: dict[str, Path], content: bytes | None
) -> None:
    labels = tmp_path / "bad.txt"
    if content is not None:
        labels.write_bytes(content)
    assert f"{labels}: " in export_refused(capsys, export_arguments, labels=labels)


def test_export_with_a_missing_calibration_folder(
    capsys: Capture, tmp_path: Path, export_arguments: dict[str, Path]
) -> None:
    nowhere = tmp_path / "nowhere"
    given = {**export_arguments, "--calibrate": nowhere}
    assert f"{nowhere}: no such file" in export_refused(capsys, given)


def test_debug_shows_the_traceback(tmp_path: Path, export_arguments: dict[str, Path]) -> None:
    with pytest.raises(ImageError, match="no such file"):
        main(["classify", str(tmp_path / "no.jpg"), "--debug"])
    with pytest.raises(ImageError, match="no such file"):
        main_classify(["--debug", str(tmp_path / "no.jpg")])
    with pytest.raises(InputError, match="glslnn"):
        main(["export", "model.keras", "-o", "out.zip", "--labels", "labels.txt", "--debug"])


# classify, with a stand-in for the GPU --------------------------------------------------------------


class StandIn:
    """Gives every picture the same three classes; refuses what is called bad.png."""

    made: list[tuple[object, dict[str, object]]] = []

    def __init__(self, model: object, **options: object) -> None:
        self.made.append((model, options))

    def __enter__(self) -> StandIn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def classify(self, path: Path, top: int) -> list[Prediction]:
        if path.name == "bad.png":
            raise ImageError(f"{path}: damaged")
        return [Prediction("größte", 0.7512, 2), Prediction("a b", 0.2, 0), Prediction("c", 0.0488, 1)][:top]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    monkeypatch.setattr("glsl_infer.classifier.Classifier", StandIn)
    monkeypatch.setattr(StandIn, "made", [])
    return StandIn


THREE = " 75.12 %  größte\n 20.00 %  a b\n  4.88 %  c\n"


def test_classify_prints_a_line_a_class(capsys: Capture, stand_in: type[StandIn], picture: Path) -> None:
    assert main(["classify", str(picture)]) == 0
    assert capsys.readouterr() == (THREE, "")
    assert stand_in.made == [(None, {"context": "auto"})]


def test_classify_passes_its_options_on(capsys: Capture, stand_in: type[StandIn], picture: Path) -> None:
    assert main(["classify", str(picture), "--top", "1", "--model", "m.glslnn", "--context", "device"]) == 0
    assert capsys.readouterr().out == THREE.splitlines(keepends=True)[0]
    assert stand_in.made == [(Path("m.glslnn"), {"context": "device"})]


def test_several_pictures_are_named(capsys: Capture, stand_in: type[StandIn], picture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in ("z.JPG", "inside/b.png", "inside/a.webp", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"the stand-in looks at names only")
    assert main(["classify", str(picture), str(folder)]) == 0
    files = (picture, folder / "inside/a.webp", folder / "inside/b.png", folder / "z.JPG")
    assert capsys.readouterr() == ("".join(f"{path}:\n{THREE}" for path in files), "")
    assert len(stand_in.made) == 1


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
    assert [one["file"] for one in json.loads(capsys.readouterr().out)] == [str(picture), str(other)]
    with pytest.raises(ImageError, match="damaged"):
        main(["classify", "--debug", *argv])


def test_classify_as_json(capsys: Capture, stand_in: type[StandIn], picture: Path) -> None:
    assert main(["classify", "--json", "--top", "1", str(picture)]) == 0
    text = capsys.readouterr().out
    predictions = [{"label": "größte", "probability": 0.7512, "index": 2}]
    assert json.loads(text) == [{"file": str(picture), "predictions": predictions}]
    assert text.isascii()  # so that it is JSON in every encoding of standard output


@pytest.mark.parametrize("argv", [["{}"], ["{}", "--top", "2", "--json"], ["no.jpg"], ["{}", "--top", "0"]])
def test_classify_alone_is_the_same_command(
    capsys: Capture, stand_in: type[StandIn], picture: Path, argv: list[str]
) -> None:
    given = [one.format(picture) for one in argv]
    code, output = main(["classify", *given]), capsys.readouterr()
    assert (main_classify(given), capsys.readouterr()) == (code, output)


# export, with a stand-in for Keras -----------------------------------------------------------------


def report() -> Report:
    layers = (
        LayerReport("conv", "conv2d", (63, 63, 32), "baked", 8, 8, (256, 128)),
        LayerReport("pool", "global_average_pool", (32,), "-", 1, 1, (16, 1)),
    )
    choice = ScaleChoice("pool", 1.0, None, 1.0, 0.004, "bound")
    totals = {"passes": 9, "jobs": 2, "programs": 9, "texture_bytes": 131136, "file_bytes": 30000}
    return Report(layers, (choice,), ("layer 'pool': coarse",), totals)


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def export(*args: Any, **options: Any) -> Report:
        calls.append((args, options))
        return report()

    monkeypatch.setattr("glsl_infer.export.export", export)
    return calls


def test_export_prints_a_report(
    capsys: Capture, exported: list[Any], export_arguments: dict[str, Path], picture: Path, tmp_path: Path
) -> None:
    model, out, labels = export_arguments.values()
    argv = ["export", model, "-o", out, "--labels", labels, "--weights", "baked", "--calibrate", tmp_path]
    assert main([str(one) for one in argv]) == 0
    assert exported == [((model, out, labels), {"weights": "baked", "calibration": [picture]})]
    output = capsys.readouterr()
    assert output.err == "warning: layer 'pool': coarse\n"
    rows = {line.split()[0]: line.split() for line in output.out.splitlines() if line}
    assert rows["conv"] == ["conv", "conv2d", "63x63x32", "baked", "8", "8", "256x128"]
    assert rows["pool"] == ["pool", "1", "-", "1", "0.004", "bound"]
    assert output.out.endswith(
        f"{out}: 9 passes in 2 jobs, 9 programs, 0.13 MB of textures, 0.03 MB on disk\n",
    )


def test_export_as_json(capsys: Capture, exported: list[Any], export_arguments: dict[str, Path]) -> None:
    model, out, labels = (str(one) for one in export_arguments.values())
    assert main(["export", model, "-o", out, "--labels", labels, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["totals"]["passes"] == 9
    assert data["layers"][0]["texture"] == [256, 128]
    assert data["scales"][0]["layer"] == "pool"
    assert exported[0][1] == {"weights": "auto", "calibration": []}


# info, with a stand-in for the driver ---------------------------------------------------------------

DRIVER = {
    **dict.fromkeys(("glsl_infer", "python", "numpy", "pillow", "pyopengl", "machine"), "1.2.3"),
    **dict.fromkeys(("vendor", "version", "shading_language"), "a driver"),
    "context": "surfaceless EGL",
    "renderer": "a renderer (of several words)",
    "refused": ["device: no devices"],
    "limits": {"MAX_TEXTURE_SIZE": 2048},
    "precision": {"mediump": {"range_low": 14, "range_high": 15, "mantissa_bits": 10}},
    "store_rounds_up_from": 0.5,
}


def test_info(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(info, "collect", lambda context: asked.append(context) or DRIVER)
    assert main(["info", "--context", "device"]) == 0
    assert main(["info"]) == 0
    assert asked == ["device", "auto"]
    lines = capsys.readouterr().out.splitlines()
    for words in (
        "context surfaceless EGL",
        "renderer a renderer (of several words)",
        "refused device: no devices",
        "MAX_TEXTURE_SIZE 2048",
        "mediump float 10 bits of mantissa, 2^-14 to 2^15",
    ):
        assert [" ".join(line.split()) for line in lines].count(words) == 2
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == DRIVER


# What fails: exit code 1, 130 -----------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[object], int]:
    def run(args: object) -> int:
        raise error

    return run


def test_what_should_have_worked_exits_with_1(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for error in (RunError("the driver failed"), ShaderError("layer 'a': it failed"), OSError(28, "No space left")):
        monkeypatch.setattr(classify, "run", raising(error))
        assert str(error) in refused(capsys, ["classify", "a.jpg"], code=1)
        with pytest.raises(type(error)):
            main(["classify", "a.jpg", "--debug"])


def test_an_interruption_exits_with_130(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "run", raising(KeyboardInterrupt()))
    assert main(["classify", "a.jpg"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "run", raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["classify", "a.jpg"])


# In a process of its own ----------------------------------------------------------------------------

PRINTS_LABELS = """
import sys
from glsl_infer.cli import classify, main
def run(args):
    print("größte \\udcff", "x" * args.top)
    return 0
classify.run = run
sys.exit(main(["classify", "a.jpg", *sys.argv[1:]]))
"""


def run_python(*arguments: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    path = str(Path(glsl_infer.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, *arguments],
        env={**kept, "PYTHONPATH": path, **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def test_python_m_glsl_infer(tmp_path: Path) -> None:
    done = run_python("-m", "glsl_infer", "classify", str(tmp_path / "no.jpg"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path / 'no.jpg'}: no such file\n"


@pytest.mark.parametrize("argv", [("-m", "glsl_infer", "--help"), ("-c", PRINTS_LABELS, "--top", "100000")])
def test_a_reader_that_has_gone_is_no_message(argv: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run_python(*argv, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("top", ["1", "100000"])
def test_a_full_disk_is_one_line(top: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = run_python("-c", PRINTS_LABELS, "--top", top, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("encoding", "printed"), [("utf-8", "größte \\udcff x\n"), ("ascii", "gr\\xf6\\xdfte \\udcff x\n")]
)
def test_what_the_terminal_cannot_show_is_escaped(encoding: str, printed: str) -> None:
    done = run_python("-c", PRINTS_LABELS, "--top", "1", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
