"""The command line: arguments and help."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest
from command_line import Capture, refused, run

from glsl_infer.cli import CHAPTERS, COMMANDS, advice, arguments, camera_tasks, main, main_classify, parser_of
from glsl_infer.tasks import reading
from glsl_infer.tools.get import catalogue


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: glsl-infer {command}")
    assert "--json" in text or command in ("completion", "manual")
    assert "--debug" in text


def test_help_lists_the_commands_in_three_groups(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run().stdout == run("--help").stdout
    text = run("--help").stdout
    lines = [line.split(maxsplit=1) for line in text.splitlines()]
    sentences = {line[0]: line[1] for line in lines if len(line) == 2 and line[0] in COMMANDS}
    assert set(sentences) == set(COMMANDS) and all(sentence.endswith(".") for sentence in sentences.values())
    positions = [text.index(f"\n{title}:\n") for title in CHAPTERS]
    assert len(positions) == 3 and positions == sorted(positions)


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_valid_and_help_is_sentences(command: str) -> None:
    parser = parser_of((command,))
    sub = parser.commands[command]
    assert len(sub.examples) == 3
    for example in sub.examples:
        words = shlex.split(example.partition(" > ")[0].partition(" | ")[0])
        if words[0] == "glsl-infer" and words[1] == command:
            args = parser.parse_args(advice.models_anywhere(words[1:]))
            if command == "get" and args.names:
                catalogue.chosen(args.names, catalogue.read())  # raises for an unknown name
    for action in sub._actions:
        if not isinstance(action, argparse._HelpAction):
            assert action.help is not None and action.help[0].isupper() and action.help.endswith("."), action.dest
        if action.type is float:
            assert action.metavar is not None, action.dest


def test_rare_options_are_last(capsys: Capture) -> None:
    text = run("export", "--help").stdout
    advanced = text.index("\nAdvanced:\n")
    assert all(
        text.index(f"\n  {name} ") > advanced for name in ("--uniform-vectors", "--draw-cost", "--layout", "--memory")
    )
    assert text.index("\n  --images ") < advanced and text.count("\nAdvanced:") == 1
    assert "--calibrate" not in text


ALIASES = [
    ("export m.keras -o o.glslnn --calibrate d", "export m.keras -o o.glslnn --images d"),
    ("calibrate m.keras -o r.json --calibrate d", "calibrate m.keras --out r.json --images d"),
    ("validate m.keras m.glslnn --data d --report r.html", "validate m.keras m.glslnn --images d -o r.html"),
    ("vc4 m.glslnn --pixels --picture p.png", "vc4 m.glslnn --pixels --images p.png"),
    ("inspect m.glslnn --layers p.png --out d", "inspect m.glslnn --images p.png -o d"),
    ("report --output r.json", "report -o r.json"),
    ("camera --images d", "camera --source d"),
    ("train d -o o.glslnn --start m.glslnn", "train d -o o.glslnn --model m.glslnn"),
]


@pytest.mark.parametrize(("older", "newer"), ALIASES)
def test_older_spellings_are_accepted(older: str, newer: str) -> None:
    parser = parser_of((older.split(maxsplit=1)[0],))
    assert parser.parse_args(older.split()) == parser.parse_args(newer.split())


@pytest.mark.parametrize("command", ["classify", "detect", "landmarks", "segment"])
def test_images_are_positional_or_an_option(command: str, capsys: Capture) -> None:
    parser = parser_of((command,))
    for words in ("a.png b.png", "--images a.png b.png", "a.png --images b.png"):
        args = parser.parse_args([command, *words.split()])
        assert arguments.images_of(args) == [Path("a.png"), Path("b.png")]
    assert "no image; give image files" in refused(capsys, [command])


def test_other_names_of_faces_and_hands_are_accepted(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from glsl_infer.cli import image_tasks

    opened: list[str] = []
    monkeypatch.setattr(image_tasks, "run", lambda args, kind, task, *_: opened.append(task) or 0)
    for command, names in (("detect", ("faces", "face", "face-mesh")), ("landmarks", ("faces", "face", "face-mesh"))):
        for name in names:
            assert main([command, "a.png", "--task", name]) == 0
    for command in ("detect", "landmarks"):
        for name in ("palms", "hands", "hand"):
            assert main([command, "a.png", "--task", name]) == 0
    meant = [reading.find(name).name for name in opened]
    assert meant == ["faces"] * 3 + ["face-mesh"] * 3 + ["palms"] * 3 + ["hands"] * 3


def test_points_select_the_task_with_landmarks(capsys: Capture) -> None:
    parser = parser_of(("camera",))
    args = parser.parse_args(["camera", "--task", "faces", "--points"])
    assert camera_tasks.task_of(args) == "face-mesh"
    assert "--points needs --task faces or palms" in refused(capsys, ["camera", "--task", "people", "--points"])
    assert "--points needs --task" in refused(capsys, ["camera", "--points"])


@pytest.mark.parametrize(
    ("words", "suggestion"), [("export m.keras -o o.glslnn --imgaes d", "--images"), ("camera --taks faces", "--task")]
)
def test_misspelt_options_get_a_suggestion(words: str, suggestion: str, capsys: Capture) -> None:
    done = run(*words.split())
    assert done.returncode == 2 and f"did you mean {suggestion}?" in done.stderr


def test_classify_has_help(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main_classify(["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: classify ")
