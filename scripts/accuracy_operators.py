#!/usr/bin/env python3
"""One driver's part of scripts/accuracy.py: random networks of every operator, on the driver of this process.

A process can use one driver only, which the environment selects. Prints the results as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/gl")]

import numpy as np  # noqa: E402
from layer_check import layer_error, stored_inputs  # noqa: E402
from random_networks import KINDS, drawn_nodes, random_bundle  # noqa: E402

from glsl_infer.gl import constants as GL  # noqa: E402
from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.graph import Node  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402


def form(node: Node) -> str:
    """Return the operator of a node; for a convolution, with its form."""
    if node.op not in ("conv2d", "convolution_products", "convolution_sum"):
        return node.op
    parts = [node.op]
    kernel = node.weights.get("kernel")
    if kernel is not None and node.attrs["groups"] > 1:
        parts.append("depthwise" if kernel.shape[2] == 1 and kernel.shape[3] == node.attrs["groups"] else "groups")
    if node.op != "convolution_products" and len(node.inputs) > 1:
        parts.append("residual")
    return ", ".join(parts)


def measure(cases: int, seed: int) -> dict[str, Any]:
    """Return the driver, and the number of layers and values compared and the largest error of each operator."""
    rows: dict[str, dict[str, Any]] = {}
    with Context() as context:
        gl = context.gl
        driver = {"renderer": gl.text(GL.GL_RENDERER), "version": gl.text(GL.GL_VERSION), "how": context.how}
        for kind in KINDS:
            for case in range(seed, seed + cases):
                made = random_bundle(kind, case)
                rng = np.random.default_rng(case)
                with Session(made, context=context, cache=False) as session:
                    for node in drawn_nodes(made):
                        error = layer_error(session, node.name, stored_inputs(made, node.name, rng))
                        row = rows.setdefault(form(node), {"layers": 0, "values": 0, "worst": -1.0})
                        row["layers"] += 1
                        row["values"] += int(np.prod(made.graph.shapes[node.name]))
                        if error > row["worst"]:
                            row.update(worst=error, at=f"random_bundle('{kind}', {case}), layer '{node.name}'")
            print(f"  {driver['renderer']}: {kind}", file=sys.stderr, flush=True)
    return {"driver": driver, "kinds": len(KINDS), "cases": cases, "seed": seed, "operators": rows}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--cases", type=int, required=True, help="networks of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    args = parser.parse_args()
    print(json.dumps(measure(args.cases, args.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
