"""`classify` imports only modules that execute a bundle, and none of the compiler."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL, PICTURE = ROOT / "models/trashnet-x22-129.glslnn", ROOT / "docs/images/glass128.jpg"
PROGRAM = """
import json, sys
from glsl_infer.cli import main_classify
code = main_classify(sys.argv[1:])
print(json.dumps([code, sorted(name for name in sys.modules if name.startswith("glsl_infer."))]))
"""


def test_no_compiler() -> None:
    words = [sys.executable, "-c", PROGRAM, "--model", str(MODEL), str(PICTURE)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT, timeout=120)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    rooms = {name.split(".")[1] for name in modules}
    assert rooms.isdisjoint({"compiler", "importers", "lowering", "ops", "tools"})
    assert {"runtime", "bundle", "program", "gl", "cli"} <= rooms
