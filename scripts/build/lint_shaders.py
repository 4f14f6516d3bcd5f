#!/usr/bin/env python3
"""Check the style of the shader templates: line length, tabs, trailing spaces, precision qualifiers.

    python scripts/build/lint_shaders.py    # exit code 1 and a line for each fault

tests/unit/test_shaders.py checks their validity as GLSL ES 1.00.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 120


def faults(path: Path) -> Iterator[str]:
    """Yield "line: fault" for a file."""
    for line_number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if len(line) > LONGEST:
            yield f"{line_number}: {len(line)} characters; at most {LONGEST}"
        if "\t" in line:
            yield f"{line_number}: a tab; indent by 4 spaces"
        if line != line.rstrip():
            yield f"{line_number}: trailing spaces"
        if re.search(r"\b(?:mediump|lowp)\b", line.partition("//")[0]) and path.name != "prelude.glsl":
            yield f"{line_number}: less than the precision that prelude.glsl sets; leave it out"


def main() -> int:
    """Check every template; return the exit code."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    problems = [
        f"{path.relative_to(ROOT)}:{fault}"
        for path in sorted((ROOT / "shaders").iterdir())
        if path.suffix in (".frag", ".vert", ".glsl")
        for fault in faults(path)
    ]
    print("\n".join(problems), end="\n" * bool(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
