"""Draws random networks of every operator, layer by layer, and prints each one's worst error as JSON.

Arguments: the seeds. A process on the virtual VideoCore IV runs it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "gl")]

import numpy as np  # noqa: E402
from random_networks import KINDS, layer_errors, random_bundle  # noqa: E402

from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402


def main() -> None:
    found = {}
    with Context("surfaceless") as context:
        for kind in KINDS:
            for seed in map(int, sys.argv[1:]):
                made = random_bundle(kind, seed)
                print(f"@network {kind} {seed}", file=sys.stderr, flush=True)
                with Session(made, context=context) as session:
                    found[f"{kind} {seed}"] = layer_errors(session, np.random.default_rng(seed))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
