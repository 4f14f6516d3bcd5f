"""The line that docs/reliability.md advises for bundles of strangers: shipped models run under it, others are ended."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from bundle_files import members_of, rehashed, zipped
from pages import ROOT
from tiny import tiny_bundle, write_tiny

pytestmark = pytest.mark.once

PAGE = (ROOT / "docs/reliability.md").read_text("utf-8")
PHOTOGRAPH = ROOT / "docs/images/carrots014.jpg"
ANSWERS = {"grocery-x22-257": "Carrots", "grocery-x22-385": "Carrots", "trashnet-x22-257": "%"}


def advised(folder: Path, model: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the page as a shell does, in a folder with the files that it names."""
    (folder / "photo.jpg").symlink_to(PHOTOGRAPH)
    (folder / "theirs.glslnn").symlink_to(model)
    classify = folder / "classify"
    classify.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m glsl_infer classify "$@"\n')
    classify.chmod(0o755)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def the_line() -> str:
    [line] = re.findall(r"^    (prlimit .*theirs\.glslnn)$", PAGE, re.MULTILINE)
    return line


@pytest.mark.parametrize("model", ANSWERS)
def test_a_shipped_model_runs_under_it(tmp_path: Path, model: str) -> None:
    done = advised(tmp_path, ROOT / f"models/{model}.glslnn", the_line())
    assert done.returncode == 0, done.stderr
    assert ANSWERS[model] in done.stdout.splitlines()[0]


def test_a_shader_that_compiles_without_end_is_ended(tmp_path: Path) -> None:
    """As the page says of macros; with less time than it gives, for nobody needs to wait."""
    macros = "#define A0 q*q+q\n" + "".join(f"#define A{k} {'+'.join([f'A{k - 1}'] * 4)}\n" for k in range(1, 16))
    (program, *_) = tiny_bundle().manifest.programs
    members = members_of(write_tiny(tmp_path).read_bytes(), tmp_path)
    head, start, body = members[program.fragment].decode().rpartition("void main() {")
    shader = f"{head}{macros}{start} float q = coord0.x; q = A15; if (q == 7.5) discard;\n{body}"
    hostile = zipped(tmp_path / "hostile.glslnn", rehashed(members, {program.fragment: shader.encode()}))
    line = re.sub(r"(?<=--kill-after=5 )\d+", "5", the_line())
    assert line != the_line()
    done = advised(tmp_path, hostile, line)
    assert done.returncode not in (0, 2), done.stdout
    assert done.stdout == ""


def test_the_page_promises_no_more_than_it_holds() -> None:
    assert "can end the process" in PAGE
    assert "no crash by one has been found" not in PAGE
