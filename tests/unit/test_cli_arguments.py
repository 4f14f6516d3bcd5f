"""The command line: arguments, help, manual pages, imports at start, and output files."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from command_line import Capture, refused, run, run_python
from tiny import write_tiny

from glsl_infer.cli import CHAPTERS, COMMANDS, advice, arguments, camera_tasks, main, main_classify, parser_of
from glsl_infer.cli.completion import options_of
from glsl_infer.support.child_process import ROOT
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("man")
    assert main(["manual", "-o", str(out)]) == 0
    return out / "man1"


def test_every_command_has_its_page_and_every_option_is_in_it(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        *("glsl-infer.1", "classify.1"),
        *(f"glsl-infer-{name}.1" for name in COMMANDS),
    }
    for name in COMMANDS:
        text = (folder / f"glsl-infer-{name}.1").read_text("utf-8").replace("\\-", "-")
        for option in options_of(parser_of((name,)).commands[name]):
            assert re.search(rf"^\.B .*(?<!\S){option.name}(?![\w-])", text, re.MULTILINE), option.name
    assert "glsl\\-infer\\-export (1)" in (folder / "glsl-infer.1").read_text("utf-8")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reports_no_warnings(folder: Path) -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rCHECKSTYLE=3", "-b", *sorted(folder.iterdir())],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    # Bold and underlined text is marked as for a terminal or a printer; justified lines have more spaces.
    plain = " ".join(re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout).split())
    assert "--images DIR" in plain and "99.99" in plain and "glsl_infer" not in plain


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").touch()
    assert "give another with -o" in refused(capsys, ["manual", "-o", tmp_path / "file"])


PROGRAM = """
import contextlib, io, json, sys
from glsl_infer.cli import main
with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps([text.getvalue(), sorted(sys.modules)]))
"""


def started(*words: str) -> tuple[str, set[str]]:
    """Return the output of a start and the modules that it imports."""
    done = run_python("-c", PROGRAM, *words, folder=ROOT, check=True)
    text, modules = json.loads(done.stdout)
    return text, set(modules)


def commands_in(modules: set[str]) -> set[str]:
    return {name for name in COMMANDS if f"glsl_infer.cli.{name}" in modules}


@pytest.mark.parametrize("words", [["--version"], ["--help"], []])
def test_a_list_of_commands_imports_no_command(words: list[str]) -> None:
    text, modules = started(*words)
    assert "glsl-infer" in text
    assert commands_in(modules) == set()
    assert modules.isdisjoint({"numpy", "PIL", "ctypes", "OpenGL", "difflib"})
    rooms = {name.split(".")[1] for name in modules if name.startswith("glsl_infer.")}
    assert rooms <= {"cli", "errors", "gl", "support"}, "gl.ways has the names of contexts"
    if words != ["--version"]:
        assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("command", ["classify", "run", "detect", "get", "labels"])
def test_one_command_is_imported(command: str) -> None:
    text, modules = started(command, "--help")
    assert f"usage: glsl-infer {command}" in text
    assert commands_in(modules) == {command}
    assert modules.isdisjoint({"numpy", "PIL", "ctypes", "OpenGL"})


OUTPUTS = {
    "benchmark --csv": (["benchmark", "MODEL", "--csv"], ".csv"),
    "benchmark --plot": (["benchmark", "MODEL", "--profile", "--plot"], ".png"),
    "camera --screenshot": (["camera", "--window", "--source", "FOLDER", "--screenshot"], ".png"),
    "classify --csv": (["classify", "PICTURE", "--csv"], ".csv"),
    "classify --screenshot": (["classify", "PICTURE", "--window", "--screenshot"], ".png"),
    "export": (["export", "KERAS", "-o"], ".glslnn"),
    "inspect --out": (["inspect", "MODEL", "--layers", "PICTURE", "--out"], ""),
    "run, numbers": (["run", "MODEL", "PICTURE", "-o"], ".npy"),
    "run, a picture": (["run", "MODEL", "PICTURE", "-o"], ".png"),
    "validate": (["validate", "KERAS", "MODEL", "--data", "PICTURE", "--report"], ".html"),
    "vc4 --plot": (["vc4", "MODEL", "--plot"], ".png"),
}


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_pipe_stays_a_pipe(tmp_path: Path, picture: Path, capsys: Capture, option: str) -> None:
    keras = tmp_path / "model.keras"
    keras.write_bytes(b"not read")
    values = {"MODEL": write_tiny(tmp_path), "PICTURE": picture, "KERAS": keras, "FOLDER": tmp_path}
    argv, suffix = OUTPUTS[option]
    node = tmp_path / f"node{suffix}"
    os.mkfifo(node)
    message = refused(capsys, [*(values.get(word, word) for word in argv), node])
    assert str(node) in message
    assert node.is_fifo()
    if option != "inspect --out":  # creates a folder
        assert "is a pipe" in message
        node.unlink()
        node.mkdir()
        assert "is a folder; name a file" in refused(capsys, [*(values.get(word, word) for word in argv), node])


LOADS = (
    "import os, sys; from glsl_infer.cli.model_options import load_operators; "
    "load_operators(['of_mine:f'], draws={draws}); "
)


def loaded(folder: Path, module: str, *, draws: bool, then: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "of_mine.py").write_text(module, "utf-8")
    command = [sys.executable, "-c", LOADS.format(draws=draws) + then]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("KERAS_BACKEND", None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_module_with_a_keras_layer_brings_no_tensorflow_where_layers_are_drawn(tmp_path: Path) -> None:
    needs.installed("keras")
    module = "import keras\nclass F(keras.layers.Layer): pass\ndef f(x): return x\n"
    then = "assert 'keras' in sys.modules and 'tensorflow' not in sys.modules and 'KERAS_BACKEND' not in os.environ"
    done = loaded(tmp_path, module, draws=True, then=then)
    assert done.returncode == 0, done.stderr


def test_a_module_that_imports_tensorflow_itself_is_refused_where_layers_are_drawn(tmp_path: Path) -> None:
    module = "import sys, types\nsys.modules['tensorflow'] = types.ModuleType('tensorflow')\ndef f(x): return x\n"
    assert loaded(tmp_path, module, draws=False).returncode == 0
    assert "separate module" in loaded(tmp_path, module, draws=True).stderr


def test_a_process_of_ours_finds_modules_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "of_mine.py").write_text("def f(x): return x\n", "utf-8")
    code = "import sys; sys.path.remove(''); from glsl_infer.cpu import custom; custom.load_all(['of_mine:f'])"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
