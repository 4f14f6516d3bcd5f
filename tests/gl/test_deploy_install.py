"""The script that deploy writes, on a board that has its packages and no network: what it installs draws."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.support.child_process import ROOT

pytestmark = pytest.mark.slow

TOOLS = {
    "dpkg-query": "echo 'install ok installed'",
    "apt-get": "echo 'apt-get was called' >&2; exit 1",
    "id": 'if [ "$1" = -u ]; then echo 0; else echo "$1"; fi',
    "systemctl": 'echo "$@" >>"$BOARD/systemctl"',
    "python3": f'exec "{sys.executable}" "$@"',
}


def test_it_installs_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny(tmp_path)
    (tmp_path / "deployment.yml").write_text("models:\n  - {name: tiny, source: tiny.glslnn}\n")
    assert main(["deploy", str(tmp_path / "deployment.yml")]) == 0
    board, tools = tmp_path / "board", tmp_path / "tools"
    (board / "systemd").mkdir(parents=True)
    tools.mkdir()
    for name, text in TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    script = tmp_path / "deployment/install.sh"
    text = script.read_text().replace("/opt/glsl-infer", str(board)).replace("/etc/systemd/system", f"{board}/systemd")
    script.write_text(text)
    packages = next(path for path in map(Path, sys.path) if (path / "numpy").is_dir())
    done = subprocess.run(
        [script],
        env={
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(packages),  # what Debian's packages are on a board
            "PIP_INDEX_URL": "http://127.0.0.1:1/",
            "PIP_CONFIG_FILE": os.devnull,
            "BOARD": str(board),
        },
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "running" in done.stdout
    assert (board / "systemd/glsl-infer.service").is_file()
    assert (board / "systemctl").read_text().split()[:2] == ["daemon-reload", "enable"]
    (installed,) = (board / "venv/lib").glob("python*/site-packages/glsl_infer/__init__.py")
    assert installed.read_bytes() == (ROOT / "glsl_infer/__init__.py").read_bytes()
