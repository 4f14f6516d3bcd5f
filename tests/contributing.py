"""Follow "Add an operator in one file" of CONTRIBUTING.md in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pages import ROOT

SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Add an operator in one file\n")[2]
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```(?:python|glsl)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL))
"""The complete files in the section, by name."""

DIFFS = re.findall(r"^```diff\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
TESTS = re.findall(r"^ {4}python -m pytest (.+)$", SECTION, re.MULTILINE)


def copy_with_operator(folder: Path) -> Path:
    """Copy the project, write the section's files into it, apply its changes, and return the folder."""
    for name in ("glsl_infer", "shaders", "tests", "scripts"):
        copied = shutil.ignore_patterns("__pycache__", "web", "android", "training", "*.json", "datasets")
        shutil.copytree(ROOT / name, folder / name, ignore=copied)
    shutil.copy(ROOT / "glsl_infer/bundle/bundle.schema.json", folder / "glsl_infer/bundle")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, text in FILES.items():
        assert not (folder / name).exists(), f"{name} is there already"
        (folder / name).write_text(text, "utf-8")
    for diff in DIFFS:
        run_command(folder, "git", "apply", "-", text=diff)
    return folder


def run_command(folder: Path, *words: str, text: str = "") -> str:
    """Run a command in the copy, with the copy's package; return its output."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def require_tests_pass(folder: Path, test: str) -> None:
    """Run one of the section's tests, which must exist and pass."""
    assert test in TESTS
    output = run_command(folder, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *test.split())
    assert re.search(r"\d+ passed", output), output
