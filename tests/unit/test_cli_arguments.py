"""The command line: arguments and help."""

from __future__ import annotations

import pytest
from command_line import Capture

import glsl_infer
from glsl_infer.cli import COMMANDS, main, main_classify


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
        (["classify", ""], "IMAGE: an empty name; give a file or a folder"),
        (["run", "a.glslnn", "a.jpg", "-o", ""], "--out: an empty name"),
        (["detect", "a.jpg", "--tiles", "9"], "--tiles: 9; from 1 to 8 are possible"),
        (["export"], "required: MODEL,"),
        (["run", "a.glslnn", "a.png", "--whole", "--overlap", "2.5"], "invalid int value: '2.5'"),
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
    assert "--json" in text or command in ("completion", "manual")
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
