"""No text of the project suggests installing glsl-infer by name: an index can have another package under it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {"build", "data", "dist", "node_modules", "runs", "__pycache__"}
OWN = {".ci", ".github"}
"""Hidden folders of the project. Others belong to programs."""

SUFFIXES = {
    "",
    ".cfg",
    ".gradle",
    ".html",
    ".java",
    ".json",
    ".md",
    ".mjs",
    ".py",
    ".sh",
    ".toml",
    ".ts",
    ".yaml",
    ".yml",
}

BY_NAME = re.compile(
    r"(?:pip[\w.]*|pipx|uv|npm|npx|yarn)\W+(?:[\w-]+\W+){0,3}?(?:install|add|run|exec|download)\b[^\n`;|]*?"
    r"(?<![\w/.])(?<!\w-)glsl[-_]infer(?![\w./-])"
)
"""A package manager's command, its options, and the bare package name."""


def texts() -> Iterator[tuple[str, str]]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if (name not in SKIPPED or Path(folder).name == "scripts") and (name in OWN or name[0] != ".")
        ]
        for name in files:
            path = Path(folder, name)
            if path.suffix in SUFFIXES and path != Path(__file__).resolve() and path.stat().st_size < 1 << 20:
                try:
                    yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
                except UnicodeDecodeError:
                    continue


def test_no_text_installs_glsl_infer_by_name() -> None:
    assert [f"{name}: {result}" for name, text in texts() for result in BY_NAME.findall(text)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install glsl-infer", True),
        ("update it: pip install -U glsl-infer", True),
        ("`pip install 'glsl-infer[camera]'`", True),
        ('/venv/bin/pip" install --quiet "${wheel:-glsl-infer}[camera]"', True),
        ("pip3 install --upgrade glsl_infer==2", True),
        ("npm install glsl-infer", True),
        ("pip install '.[train]'", False),
        ("pip install --no-deps --target site glsl_infer-*.whl", False),
        ("pip install ./glsl-infer/", False),
        ("glsl-infer needs av: pip install av", False),
    ],
)
def test_install_commands_by_name_are_recognised(text: str, wrong: bool) -> None:
    assert bool(BY_NAME.search(text)) == wrong
