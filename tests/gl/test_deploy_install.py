"""The install script of deploy, on a board with its packages and no network, installs a model that draws."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.support.child_process import ROOT

pytestmark = pytest.mark.slow

TOOLS = {
    "dpkg-query": "echo 'install ok installed'",
    "apt-get": "echo 'apt-get was called' >&2; exit 1",
    "id": 'case $1 in -u) echo 0 ;; alice) echo 1000 ;; *) echo "no such user" >&2; exit 1 ;; esac',
    "systemctl": 'echo "$@" >>"$BOARD/systemctl"',
    "python3": f'exec "{sys.executable}" "$@"',
}


def install(tmp_path: Path, service: str = "", sudo_user: str = "alice") -> subprocess.CompletedProcess[str]:
    """Write a deployment and run its script."""
    needs.installed("yaml")
    write_tiny(tmp_path)
    (tmp_path / "deployment.yml").write_text(f"models:\n  - {{name: tiny, source: tiny.glslnn}}\n{service}")
    assert main(["deploy", str(tmp_path / "deployment.yml")]) == 0
    return run_script(tmp_path, sudo_user)


def run_script(tmp_path: Path, sudo_user: str = "alice") -> subprocess.CompletedProcess[str]:
    """Run install.sh of the folder ``deployment`` as root, with ``board`` instead of the system's folders."""
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
    return subprocess.run(
        [script],
        env={
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(packages),  # in place of Debian's packages on a board
            "PIP_INDEX_URL": "http://127.0.0.1:1/",
            "PIP_CONFIG_FILE": os.devnull,
            "BOARD": str(board),
            "SUDO_USER": sudo_user,
        },
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.exhaustive
def test_the_script_installs_without_a_network(tmp_path: Path) -> None:
    done = install(tmp_path)
    board = tmp_path / "board"
    assert done.returncode == 0, done.stderr
    assert "running" in done.stdout
    unit = (board / "systemd/glsl-infer.service").read_text()
    assert "\nUser=alice\n" in unit, "the user who typed sudo"
    assert (board / "systemctl").read_text().split()[:2] == ["daemon-reload", "enable"]
    (installed,) = (board / "venv/lib").glob("python*/site-packages/glsl_infer/__init__.py")
    assert installed.read_bytes() == (ROOT / "glsl_infer/__init__.py").read_bytes()


@pytest.mark.parametrize(
    ("service", "sudo_user", "message"),
    [
        ("service:\n  user: pi\n", "alice", "error: no user pi on this board"),
        ("", "", "error: the service would run as root"),
    ],
)
def test_an_unsuitable_user_is_refused_before_any_copy(
    tmp_path: Path, service: str, sudo_user: str, message: str
) -> None:
    done = install(tmp_path, service, sudo_user)
    assert done.returncode == 2
    assert message in done.stderr
    assert [path.name for path in (tmp_path / "board").rglob("*")] == ["systemd"]
