#!/usr/bin/env python3
"""Write constraints.txt: the versions with which the test suite passed, for every supported Python.

    .venv/bin/python scripts/build/constraints.py          # after a green run; needs uv: pip install uv
    pip install -c constraints.txt -e '.[dev]'       # installs these versions

Packages keep the versions installed in this environment. Other Pythons get their newest versions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = (
    "# Versions that the test suite has passed with, for pip install -c; written by scripts/build/constraints.py.\n"
)


def main() -> int:
    """Resolve all extras of pyproject.toml and write the file."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    installed = {package.metadata["Name"]: package.version for package in distributions() if package.metadata["Name"]}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "constraints.txt"
        # uv prefers the versions in an existing output file.
        target.write_text("".join(f"{name}=={version}\n" for name, version in installed.items()), "utf-8")
        options = ["--all-extras", "--universal", "--python-version", "3.9", "--no-header", "--no-annotate", "--quiet"]
        command = ["uv", "pip", "compile", "pyproject.toml", *options, "--output-file", str(target)]
        try:
            done = subprocess.run(command, cwd=ROOT, check=False)
        except FileNotFoundError:
            print("error: uv is missing; type: pip install uv", file=sys.stderr)
            return 2
        if done.returncode == 0:
            (ROOT / "constraints.txt").write_text(HEADER + target.read_text("utf-8"), "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
