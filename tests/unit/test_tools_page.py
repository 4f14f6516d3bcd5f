"""docs/tools.md: its commands are ones that the command line takes, and its links lead somewhere."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from glsl_infer.cli import COMMANDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "tools.md").read_text("utf-8")
LINES = re.findall(r"^ {4}(?:glsl-infer )?((?:[a-z]+) .+)$", PAGE, re.MULTILINE)
MODULES = {one.__name__.rsplit(".", 1)[1]: one for one in COMMANDS}


def test_every_tool_is_among_them() -> None:
    tools = {"inspect", "selfcheck", "classify", "validate", "camera", "deploy"}
    assert tools <= {line.split()[0] for line in LINES}


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[0] in MODULES])
def test_a_command_is_one(line: str) -> None:
    command, *words = shlex.split(line, comments=True)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    MODULES[command].add_arguments(parser)
    parser.parse_args(words)  # exits where it cannot


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", PAGE):
        assert not target or (DOCS / target).is_file(), target


def test_anchors_on_the_page_exist() -> None:
    heads = {
        re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", PAGE, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= heads
