"""docs/raspberry-pi.md: its commands are ones that the command line takes."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from glsl_infer.cli import COMMANDS

PAGE = (Path(__file__).resolve().parents[2] / "docs/raspberry-pi.md").read_text("utf-8")
LINES = re.findall(r"^ {4}\.venv/bin/glsl-infer (.+)$", PAGE, re.MULTILINE)


def test_the_benchmark_is_among_them() -> None:
    assert sum(line.startswith("benchmark") for line in LINES) >= 3


@pytest.mark.parametrize("line", LINES)
def test_a_command_is_one(line: str) -> None:
    command, *words = re.split(r" +[#>] ", line)[0].split()
    module = {one.__name__.rsplit(".", 1)[1]: one for one in COMMANDS}[command]
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    parser.parse_args(words)  # exits where it cannot
