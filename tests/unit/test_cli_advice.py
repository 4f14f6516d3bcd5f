"""What the command line says where it was nearly right, models anywhere, colour, completion."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from command_line import Capture, refused
from tiny import LABELS, write_tiny

import glsl_infer
from glsl_infer.cli import COMMANDS, advice, main, main_classify, terminal_text
from glsl_infer.support.child_process import ROOT


def said(capsys: Capture, argv: list[object]) -> str:
    """Return what the parser says of arguments that it refuses."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in argv])
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["clasify", "a.jpg"], "classify"),
        (["selfchek"], "selfcheck"),
        (["classify", "a.jpg", "--tpo", "3"], "--top"),
        (["run", "a.glslnn", "b.jpg", "--sofmax"], "--softmax"),
        (["export", "a.keras", "-o", "b.glslnn", "--calibrat", "c"], "--calibrate"),
        (["export", "a.keras", "-o", "b.glslnn", "--weights", "unifrom"], "uniform"),
        (["classify", "a.jpg", "--context", "surfacless"], "surfaceless"),
    ],
)
def test_near_names(argv: list[object], meant: str, capsys: Capture) -> None:
    assert f"; did you mean {meant}? (see " in said(capsys, argv)


def test_what_is_near_nothing(capsys: Capture) -> None:
    assert "did you mean" not in said(capsys, ["zzz"]) + said(capsys, ["classify", "a.jpg", "--zzz"])


def test_versions(capsys: Capture) -> None:
    for entry, name in ((main, "glsl-infer"), (main_classify, "classify")):
        with pytest.raises(SystemExit) as ended:
            entry(["--version"])
        assert (ended.value.code, capsys.readouterr().out) == (0, f"{name} {glsl_infer.__version__}\n")


@pytest.mark.parametrize(
    ("given", "wanted"),
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
        ("calibrate --calibrate d --model m.keras", "calibrate m.keras --calibrate d"),
        ("deploy --model d.yml", "deploy --model d.yml"),
        ("", ""),
    ],
)
def test_models_stand_anywhere(given: str, wanted: str) -> None:
    assert advice.models_anywhere(given.split()) == wanted.split()


def test_commands_take_models_either_way(tmp_path: Path, capsys: Capture) -> None:
    missing = tmp_path / "none.glslnn"
    for argv in (
        *(["inspect", "--model", missing], ["benchmark", "--model", missing], ["selfcheck", "--model", missing]),
        *(
            ["run", "--model", missing, "a.png"],
            ["classify", missing, "--no-selfcheck", ROOT / "docs/images/example.jpg"],
        ),
        ["vc4", "--model", missing],
    ):
        assert "none.glslnn" in refused(capsys, argv)


def test_swapped_arguments(tmp_path: Path, capsys: Capture) -> None:
    message = refused(capsys, ["run", "photo.jpg", write_tiny(tmp_path)])
    assert message == f"error: the model comes first: glsl-infer run {tmp_path / 'tiny.glslnn'} photo.jpg\n"


def test_swapped_models(tmp_path: Path, capsys: Capture) -> None:
    message = refused(capsys, ["validate", "mine.glslnn", "mine.keras", "--data", tmp_path])
    assert "the original comes first: glsl-infer validate mine.keras mine.glslnn" in message
    message = refused(capsys, ["validate", "a.keras", "a.glslnn", "--data", tmp_path, "--min-top1", "nan"])
    assert message == "error: --min-top1 nan; give a number\n"  # every comparison with it fails, and passed
    message = refused(capsys, ["validate", "a.glslnn", "b.glslnn", "--data", tmp_path])
    assert message == "error: a.glslnn: is exported already; give the model that b.glslnn was made of\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["inspect", "TINY", "--input-size", "5"],
            "--input-size is about a model that is not exported yet; leave it out",
        ),
        (["inspect", "a.keras", "--max-weights", "0"], "--max-weights 0; give megabytes, from 1 to 1000000"),
        (["aibench", "--phones", "p.csv", "--json"], "--phones adds rows to the last table, which --json and --quick"),
        (["get", "--again"], "--again is about a network; name it as well"),
        (["get", "face-mesh", "--labels", "l.txt"], "--labels is about a network given by hand; give --file as well"),
    ],
)
def test_options_that_would_do_nothing(
    argv: list[str], said: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.keras").touch()
    assert said in refused(capsys, [write_tiny(tmp_path) if word == "TINY" else word for word in argv])


@pytest.mark.parametrize("url", ["https://me:s3cret@x.org/a.jpg", "http://x.org/a.jpg", "file:///a.jpg"])
def test_urls(url: str, tmp_path: Path, capsys: Capture) -> None:
    for argv in (["classify", url], ["run", "a.glslnn", url], ["classify", "a.jpg", "--model", url]):
        message = refused(capsys, argv)
        assert "a URL cannot be read; download it" in message
        assert "s3cret" not in message


def test_a_camera_by_its_number(capsys: Capture) -> None:
    assert "--source 3: name the camera by its path: --source /dev/video3" in refused(
        capsys, ["camera", "--source", "3"]
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.pt", "a file of PyTorch"),
        ("a.pth", "torch.onnx.export"),
        ("saved_model.pb", "SavedModel|TensorFlow"),
        ("a.glslnn", "exported already"),
        ("a.xyz", "not a kind of model file"),
    ],
)
def test_files_of_others(name: str, words: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / name).write_bytes(b"x")
    message = refused(capsys, ["export", tmp_path / name, "-o", tmp_path / "o.glslnn"])
    assert re.search(words, message)


def test_a_folder_is_no_model(tmp_path: Path, capsys: Capture) -> None:
    assert 'give a file that model.save("x.keras") wrote' in refused(
        capsys, ["export", tmp_path, "-o", tmp_path / "o.glslnn"]
    )


def test_top_and_softmax_are_about_classes(tmp_path: Path, capsys: Capture) -> None:
    assert len(LABELS) == 3
    given = ["run", ROOT / "models/superres-x2-96.glslnn", ROOT / "docs/images/example.jpg", "-o", tmp_path / "o.png"]
    assert "--top is about an output for classes" in refused(capsys, [*given, "--top", "2"])
    assert "--softmax is about an output for classes" in refused(capsys, [*given, "--softmax"])
    assert "--top 0; at least 1" in refused(capsys, ["run", write_tiny(tmp_path), "a.png", "--top", "0"])


# Colour --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_errors_are_red_on_a_terminal(environment: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    command = [sys.executable, "-m", "glsl_infer", "classify", "none\x1b[2J.jpg"]
    subprocess.run(
        command, env={**kept, "TERM": "xterm", "PYTHONPATH": str(ROOT), **environment}, stderr=theirs, check=False
    )
    text = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)
    assert text.startswith("\x1b[31merror:\x1b[0m none" if coloured else "error: none")
    assert "\\u001b[2J.jpg: no such file" in text


@pytest.mark.parametrize("columns", [40, 72])
def test_messages_fit_the_terminal(columns: int) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    path = "a-folder/" * 12 + "b.keras"
    command = [sys.executable, "-m", "glsl_infer", "export", path, "-o", "o.glslnn", "--uniform-vectors", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    subprocess.run(command, env=environment, stderr=theirs, check=False)
    lines = os.read(ours, 4096).decode().split("\r\n")
    os.close(ours)
    os.close(theirs)
    assert len(lines) > 3 and max(map(len, lines)) <= columns
    assert all(line.startswith("  ") for line in lines[1:-1])
    piped = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr
    assert piped.count("\n") == 1 and piped.split() == " ".join(lines).split()


def test_words_stay_whole_to_be_copied() -> None:
    path = "/a/path/" * 9
    assert terminal_text.wrapped(f"error: {path}: no such file\n  - a list", 40) == (
        f"error:\n  {path}:\n  no such file\n  - a list"
    )


# Completion ----------------------------------------------------------------------------------------


def completed(script: str, *words: str) -> list[str]:
    """Return what bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _glsl_infer"
    program = f"{script}\n{asked}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
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
    assert completed(script, "glsl-infer", "export", "--calib") == ["--calibrate"]
    assert set(completed(script, "glsl-infer", "export", "--layout", "")) == {"atlas", "planar"}
    assert completed(script, "classify", "--wind") == ["--window"]
    assert completed(script, "classify", "ph") == ["photo.jpg"]
    assert completed(script, "glsl-infer", "classify", "--csv", "ph") == ["photo.jpg"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_option(shell: str, capsys: Capture, tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)
    for name in ("calibrate", "require-signature", "csv"):
        assert re.search(rf"(-l |--){name}\b", script)
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)
