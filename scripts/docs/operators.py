#!/usr/bin/env python3
"""Write docs/reference/operators.md: every supported Keras layer, its operators and their cost.

    python scripts/docs/operators.py
    python scripts/docs/operators.py --names    # only the names of the operators of files

The first needs TensorFlow: a child process exports the models. The rows are in operator_table/.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from operator_table import exported, others, videocore
from operator_table.cost import subjects, tolerance
from operator_table.exported import Exported
from operator_table.page import page, with_names

from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.tools.videocore.driver import Driver, find

ROOT = Path(__file__).resolve().parents[2]


def largest_error(sample: Exported, context: Context) -> float:
    """Return the largest error of a row's subject on random stored inputs, in stored steps."""
    from layer_check import layer_error, stored_inputs

    rng = np.random.default_rng(0)
    drawn = [node.name for node in subjects(sample.row, sample.bundle) if tolerance(node) is not None]
    with Session(sample.bundle, context=context, cache=False) as session:
        errors = [layer_error(session, name, stored_inputs(sample.bundle, name, rng)) for name in drawn]
    return max(errors, default=0.0)


def _driver() -> Driver | None:
    """Return VideoCore IV's driver, or None: then the page keeps its results."""
    try:
        return find()
    except InputError as error:
        print(f"VideoCore's numbers stay as they are: {error}", file=sys.stderr)
        return None


def main() -> int:
    """Export, measure, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/reference/operators.md.", allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/reference/operators.md", help="the page to write")
    parser.add_argument("--names", action="store_true", help="only update the names of operators of ONNX and TFLite")
    args = parser.parse_args()
    if args.names:
        args.out.write_text(with_names(args.out.read_text("utf-8")), "utf-8")
        return 0
    sys.path.insert(0, str(ROOT / "tests/gl"))  # layer_check: the page has the measurements of the tests
    try:
        with tempfile.TemporaryDirectory() as name, Context() as context:
            exported.export(Path(name))
            rows = exported.read(Path(name))
            driver_of_videocore = _driver()
            if driver_of_videocore is not None:
                bundles = [*sorted(Path(name).glob("*.glslnn")), *others.export(Path(name))]
                videocore.write(videocore.measured(bundles, driver_of_videocore))
            errors = {key: largest_error(row, context) for key, row in rows.items()}
            driver = f"{context.gl.text(GL.GL_RENDERER)}, {context.gl.text(GL.GL_VERSION)}"
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    args.out.write_text(page({key: row.cost() for key, row in rows.items()}, errors, driver), "utf-8")
    print(f"{args.out}: {len(rows)} rows, largest error {max(errors.values()):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
