"""scripts/vc4/build.sh keeps finished builds."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "scripts/vc4"
MADE_OF = ("build.sh", "vc4_noop_shim.patch", "vc4_kernel_shader_validator.h")


def test_a_driver_that_these_sources_made_is_not_built_again(tmp_path: Path) -> None:
    prefix = tmp_path / "cache/prefix"
    prefix.mkdir(parents=True)
    made_by = hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in MADE_OF)).hexdigest()
    (prefix / "made-by").write_text(f"{made_by}\n")
    done = subprocess.run(
        [str(FOLDER / "build.sh"), "--suite", "bookworm", str(tmp_path / "cache")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"{prefix}: is there already\n"
    assert done.stdout == ""


def test_the_script_is_sound() -> None:
    done = subprocess.run(["bash", "-n", str(FOLDER / "build.sh")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
