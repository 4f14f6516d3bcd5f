#!/usr/bin/env python3
"""Measure the AI Benchmark on this machine, test by test, and write the tables of aibench.md.

    python scripts/bench/aibench.py --models DIR                     # what aibench.json has not yet; an hour or so
    python scripts/bench/aibench.py --models DIR --only 4,8 --again  # some tests, whatever it has
    python scripts/bench/aibench.py --models DIR --parts run,vc4     # some parts
    python scripts/bench/aibench.py --page                           # only the page, from docs/engineering/aibench.json

The bundles and the Keras files are created in DIR once. Each part of each test runs in its own process, whose peak
memory is measured. Its result, or the reason of a failure, is written to docs/engineering/aibench.json at once.

Needs TensorFlow (``pip install -e .[train]``), for ``vc4`` Mesa's vc4 driver (scripts/vc4/build.sh), for ``litert``
ai-edge-litert.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from aibench_parts import measure, page

from glsl_infer.errors import GlslInferError
from glsl_infer.tools.aibench.tests import chosen

ROOT = Path(__file__).resolve().parents[2]
NUMBERS, PAGE, README = ROOT / "docs/engineering/aibench.json", ROOT / "docs/engineering/aibench.md", ROOT / "README.md"


def main() -> int:
    """Measure the missing parts, and write the page; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=Path, metavar="DIR", help="where bundles and Keras files are, or are made")
    parser.add_argument("--only", metavar="N,N", help="numbers of tests (default: all)")
    parser.add_argument("--parts", default=",".join(measure.PARTS), help="of them (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure also what docs/engineering/aibench.json has")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    args = parser.parse_args()
    if unknown := set(args.parts.split(",")) - set(measure.PARTS):
        parser.error(f"--parts {', '.join(sorted(unknown))}: choose of {', '.join(measure.PARTS)}")
    numbers = _measured()
    if not args.page:
        if args.models is None:
            parser.error("give --models DIR, or --page")
        args.models.mkdir(parents=True, exist_ok=True)
        for test in chosen(args.only, quick=False):
            for part in args.parts.split(","):
                earlier = numbers.get(str(test.number), {})
                if not measure.applies(part, test) or (part in earlier and not args.again):
                    continue
                print(f"{test.number} {test.network}: {part} ...", flush=True)
                try:
                    measured = measure.PARTS[part](test, args.models)
                except GlslInferError as error:
                    measured = {"failed": str(error)}
                print(f"   {json.dumps(measured)[:300]}", flush=True)
                numbers = _measured()  # another process can have added parts meanwhile
                numbers.setdefault(str(test.number), {})[part] = measured
                NUMBERS.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n", "utf-8")
    PAGE.write_text(page.with_tables(PAGE.read_text("utf-8"), numbers), "utf-8")
    README.write_text(page.with_score(README.read_text("utf-8"), numbers), "utf-8")
    return 0


def _measured() -> dict[str, Any]:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.is_file() else {}


if __name__ == "__main__":
    sys.exit(main())
