"""Vertex shaders that crash some drivers: `classify` refuses them before the driver compiles them.

It runs in a separate process: in Mesa 22.3.6's llvmpipe, the first kinds cause a segmentation fault in the first draw.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bundle_files import HOSTILE_VERTEX_SHADERS, hostile_vertex_shader
from tiny import write_tiny

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"


@pytest.mark.parametrize("kind", [*HOSTILE_VERTEX_SHADERS][:3])
def test_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = hostile_vertex_shader(tmp_path, write_tiny(tmp_path).read_bytes(), kind)
    command = [sys.executable, "-m", "glsl_infer", "classify", "--model", str(path), str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {path}: program 'unit-pw': 'shaders/quads4.vert' is not the vertex shader")
    assert done.stderr.count("\n") == 1
