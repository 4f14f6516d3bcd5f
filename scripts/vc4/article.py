#!/usr/bin/env python3
"""The GPU's clocks of X22 at 385x385 as the article draws it: a texture a slice, a job a draw, weights in uniforms.

    python scripts/vc4/article.py      # JSON: draws, jobs and clocks in the three sets of parameters

``glsl_infer/tools/videocore/simulation.py`` holds the figures: what the article's milliseconds leave of them is the
kernel's time of a job.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.tools.videocore import executor
from glsl_infer.tools.videocore.simulation import simulate


def main() -> int:
    """Build the network, simulate a frame and print it."""
    options = Options(layout="planar", memory="naive", weights="uniform", weight_bits=16)
    made, _, _ = build(x22(385, 120), [f"class {number}" for number in range(120)], options=options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "article.glslnn"
        bundles.write(made, path)
        simulation = simulate(path, executor.find())
    clocks = {clocks.name: clocks.clocks for clocks in simulation.sets}
    print(json.dumps({"draws": simulation.draws, "jobs": simulation.jobs, "clocks": clocks}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
