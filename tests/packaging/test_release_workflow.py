"""The publishing workflow: only for a tag, only files that scripts/build/release.py has checked, without a password."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import needs
import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / ".github/workflows/release.yml").read_text("utf-8")


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    yaml = needs.module("yaml")
    workflow: dict[Any, Any] = yaml.safe_load(TEXT)
    return workflow


def test_only_a_tag_starts_the_workflow(workflow: dict[Any, Any]) -> None:
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key `on` as true


def test_publishing_begins_after_the_suite_and_ends_with_the_release(workflow: dict[Any, Any]) -> None:
    jobs = workflow["jobs"]
    order = ["suite", "build", "rehearsal", "python", "npm", "files"]
    assert {name: job.get("needs") for name, job in jobs.items()} == dict(zip(order, [None, *order]))
    assert jobs["suite"]["steps"][-1]["run"] == ".ci/run"
    for name in order[2:]:  # these publish the checked files and build none
        assert not any("checkout" in step.get("uses", "") for step in jobs[name]["steps"])


def test_the_command_that_builds_is_one(workflow: dict[Any, Any]) -> None:
    (command,) = (step["run"] for step in workflow["jobs"]["build"]["steps"] if "release.py" in step.get("run", ""))
    words = [re.sub(r"^\$\w+$", "v0.0.0", word) for word in shlex.split(command)[2:]]
    wrong = [sys.executable, "scripts/build/release.py", *words]
    done = subprocess.run(wrong, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    # The tag differs from this version: the arguments are valid, but nothing is built.
    assert done.returncode == 2 and "v0.0.0" in done.stderr and "usage:" not in done.stderr


def test_no_password_is_used() -> None:
    assert "secrets." not in TEXT
    assert TEXT.count("id-token: write") == 2  # PyPI and npm trust the workflow itself
