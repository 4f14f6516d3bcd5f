"""Model files at any position of the arguments, messages on terminals, and completion."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from command_line import Capture, code_of, refused, restored, run
from tiny import LABELS, write_tiny

import glsl_infer
from glsl_infer.cli import COMMANDS, advice, main, main_classify, terminal_text
from glsl_infer.support.child_process import ROOT
from glsl_infer.tasks import models


def test_each_command_prints_its_version(capsys: Capture) -> None:
    for command, name in ((main, "glsl-infer"), (main_classify, "classify")):
        with pytest.raises(SystemExit) as ended:
            command(["--version"])
        assert (ended.value.code, capsys.readouterr().out) == (0, f"{name} {glsl_infer.__version__}\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run --model m.glslnn p.png", "run m.glslnn p.png"),
        ("run p.png --model=m.glslnn --json", "run m.glslnn p.png --json"),
        ("run m.glslnn p.png", "run m.glslnn p.png"),
        ("selfcheck --model m.glslnn", "selfcheck m.glslnn"),
        ("selfcheck --model", "selfcheck --model"),
        ("classify m.glslnn p.png", "classify --model m.glslnn p.png"),
        ("classify p.png --model m.glslnn", "classify p.png --model m.glslnn"),
        ("classify p.png a.glslnn b.glslnn", "classify p.png a.glslnn b.glslnn"),
        ("camera m.glslnn --json", "camera --model m.glslnn --json"),
        ("detect m.glslnn p.png", "detect --model m.glslnn p.png"),
        ("classify imagenet p.png", "classify --model imagenet p.png"),
        ("camera imagenet --json", "camera --model imagenet --json"),
        ("detect faces-far p.png", "detect --task faces-far p.png"),
        ("detect faces --task palms", "detect faces --task palms"),
        ("camera dogs", "camera --task dogs"),
        ("classify dogs p.png", "classify --model dogs p.png"),
        ("classify imagnet p.png", "classify imagnet p.png"),
        ("classify p.png imagenet", "classify p.png imagenet"),
        ("calibrate --calibrate d --model m.keras", "calibrate m.keras --calibrate d"),
        ("deploy --model d.yml", "deploy --model d.yml"),
        ("vc4 --csv m.glslnn", "vc4 --csv=- m.glslnn"),
        ("vc4 m.glslnn --csv", "vc4 m.glslnn --csv=-"),
        ("vc4 m.glslnn --csv f.csv", "vc4 m.glslnn --csv f.csv"),
        ("", ""),
    ],
)
def test_models_are_accepted_in_any_position(text: str, expected: str) -> None:
    assert advice.models_anywhere(text.split()) == expected.split()


def test_a_folder_of_images_can_have_the_name_of_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dogs").mkdir()
    assert advice.models_anywhere(["classify", "dogs"]) == ["classify", "dogs"]


def test_a_fetched_model_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    message = refused(capsys, ["classify", "--model", "imagenet", "cat.jpg"])
    assert message.startswith("error: the model 'imagenet' has not been fetched yet; fetch it: glsl-infer get imagenet")
    write_tiny(tmp_path).rename(tmp_path / "imagenet.glslnn")
    assert main(["labels", "imagenet"]) == 0
    assert capsys.readouterr().out.splitlines() == list(LABELS)
    message = refused(capsys, ["labels", "imagnet"])
    assert "imagnet: no such file or model (did you mean imagenet?); give a file *.glslnn, or a name that" in message
    monkeypatch.setenv(models.VARIABLE, str(tmp_path / "elsewhere"))
    write_tiny(tmp_path).rename(tmp_path / "mine.glslnn")
    assert "mine: no such file or model (did you mean mine.glslnn?); " in refused(capsys, ["selfcheck", "mine"])
    (tmp_path / "models").mkdir()
    shipped = (tmp_path / "mine.glslnn").rename(tmp_path / "models/trash-129.glslnn")
    (tmp_path / "models/trash-257").mkdir()
    for name in ("trash-129", "trash-192", "models/trash-129"):
        message = refused(capsys, ["classify", "--model", name, "cat.jpg"])
        assert f"(did you mean {shipped.relative_to(tmp_path)}?)" in message
    (tmp_path / "imagenet").write_bytes(b"a file of this name goes first")
    assert "imagenet: " in refused(capsys, ["labels", "imagenet"])


def test_an_option_without_its_values_has_its_form(capsys: Capture) -> None:
    for words, form in ((("--on", "cat"), "--on LABEL COMMAND"), (("--source",), "--source SOURCE")):
        with pytest.raises(SystemExit):
            main(["camera", *words])
        assert f"; give {form} (see glsl-infer camera --help)" in capsys.readouterr().err


def test_a_task_names_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path))
    for command in ("labels", "inspect", "vc4", "benchmark", "report"):
        message = refused(capsys, [command, "faces"])
        assert "'face-detection' has not been fetched yet; fetch it: glsl-infer get faces" in message
    write_tiny(tmp_path).rename(tmp_path / "face-detection.glslnn")
    for name in ("faces", "face", "face-detection"):
        assert main(["labels", name]) == 0
        assert capsys.readouterr().out.splitlines() == list(LABELS)
    assert main(["inspect", "faces"]) == 0
    assert "face-detection.glslnn" in capsys.readouterr().out


def test_the_shorthand_accepts_names_and_other_parsers_keep_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path))
    assert main_classify(["--model", "imagenet", "cat.jpg"]) == 2
    assert "the model 'imagenet' has not been fetched yet" in capsys.readouterr().err
    args = argparse.Namespace(model=Path("faces"), models=Path("models"))
    advice.fetched_models(args)
    assert args == argparse.Namespace(model=Path("faces"), models=Path("models"))


def test_top_and_softmax_are_about_classes(tmp_path: Path, capsys: Capture) -> None:
    assert len(LABELS) == 3
    arguments = [
        "run",
        ROOT / "models/superres-x2-96.glslnn",
        ROOT / "docs/images/example.jpg",
        "-o",
        tmp_path / "o.png",
    ]
    assert "--top needs an output for classes" in refused(capsys, [*arguments, "--top", "2"])
    assert "--softmax needs an output for classes" in refused(capsys, [*arguments, "--softmax"])
    assert "--top 0; give 1 or more" in refused(capsys, ["run", write_tiny(tmp_path), "a.png", "--top", "0"])


# Terminals -----------------------------------------------------------------------------------------


def on_terminal(*argv: str, columns: int = 200, **environment: str) -> str:
    """Return the standard error of a command as a terminal receives it."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with restored():
        for name in ("NO_COLOR", "TERM"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        with os.fdopen(secondary, "w") as terminal, contextlib.redirect_stderr(terminal):
            assert code_of(main, list(argv)) == 2
            terminal.flush()
            text = os.read(primary, 4096).decode()
    os.close(primary)
    return text


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_errors_are_red_on_a_terminal(environment: dict[str, str], coloured: bool) -> None:
    text = on_terminal("classify", "none\x1b[2J.jpg", **{"TERM": "xterm", **environment})
    assert text.startswith("\x1b[31merror:\x1b[0m none" if coloured else "error: none")
    assert "\\u001b[2J.jpg: no such file" in text


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 72])
def test_messages_fit_the_terminal(columns: int) -> None:
    argv = ["export", "a-folder/" * 12 + "b.keras", "-o", "o.glslnn", "--uniform-vectors", "1"]
    lines = on_terminal(*argv, columns=columns, NO_COLOR="1").split("\r\n")
    assert len(lines) > 2 and max(map(len, lines)) <= columns
    assert all(line.startswith("  ") for line in lines[1:-1])
    piped = run(*argv).stderr
    assert piped.count("\n") == 1 and piped.split() == " ".join(lines).split()


def test_words_stay_whole_to_be_copied() -> None:
    path = "/a/path/" * 9
    assert terminal_text.wrapped(f"error: {path}: no such file\n  - a list", 40) == (
        f"error:\n  {path}:\n  no such file\n  - a list"
    )


# Completion ----------------------------------------------------------------------------------------


def completed(script: str, *words: str) -> list[str]:
    """Return bash's completions for the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    invocation = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _glsl_infer"
    program = f"{script}\n{invocation}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    (tmp_path / "photo.jpg").write_text("")
    monkeypatch.chdir(tmp_path)
    assert set(completed(script, "glsl-infer", "")) == set(COMMANDS)
    assert completed(script, "glsl-infer", "self") == ["selfcheck"]
    assert completed(script, "glsl-infer", "export", "--imag") == ["--images"]
    assert set(completed(script, "glsl-infer", "export", "--layout", "")) == {"atlas", "planar"}
    assert completed(script, "classify", "--wind") == ["--window"]
    assert completed(script, "classify", "ph") == ["photo.jpg"]
    assert completed(script, "glsl-infer", "classify", "--csv", "ph") == ["photo.jpg"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_option(shell: str, capsys: Capture, tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)
    for name in ("images", "require-signature", "csv"):
        assert re.search(rf"(-l |--){name}\b", script)
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_a_model_in_place_of_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused(capsys, ["classify", "mine.keras", "photo.jpg"])
    assert "mine.keras: a model, not an image; convert it first: glsl-infer export mine.keras -o mine.glslnn" in message
    message = refused(capsys, ["run", "photo.jpg"])
    assert "no model; give it before the image: glsl-infer run MODEL.glslnn photo.jpg" in message


@pytest.mark.parametrize("command", ["labels", "inspect", "benchmark"])
def test_an_image_in_place_of_a_model(command: str, tmp_path: Path, capsys: Capture) -> None:
    photo = tmp_path / "photo.jpg"
    shutil.copy(ROOT / "docs/images/example.jpg", photo)
    assert f"{photo}: an image, not a model" in refused(capsys, [command, photo])


def test_a_similar_folder_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    assert "photo: no such file or folder (did you mean photos?)" in refused(capsys, ["classify", "photo"])


def test_a_task_of_another_command(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "photo.jpg").touch()
    message = refused(capsys, ["detect", tmp_path / "photo.jpg", "--task", "selfie"])
    assert "task 'selfie': is a task for segmentation, not for detection; use it with glsl-infer segment" in message
