"""The command line: arguments and help."""

from __future__ import annotations

import pytest
from command_line import Capture

from glsl_infer.cli import COMMANDS, main, main_classify


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


def test_help_of_classify(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as left:
        main_classify(["--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("usage: classify ")
