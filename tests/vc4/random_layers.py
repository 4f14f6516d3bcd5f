"""Draw random networks of every operator, layer by layer, and print the errors of each layer, as JSON.

Arguments: seeds, each of which gives a network of every kind. After ``--fine``, half of all maps have 16 bits. The
script runs in a process on the virtual VideoCore IV.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "gl")]

import numpy as np  # noqa: E402
from layer_check import exact_steps, gpu_steps, stored_inputs  # noqa: E402
from random_networks import KINDS, drawn_nodes, random_bundle  # noqa: E402

from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.graph import Node, reference  # noqa: E402
from glsl_infer.program.texels import in_steps  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402


def main() -> None:
    """Draw each layer of random networks from exact inputs, and print their differences."""
    networks = {}
    with Context("surfaceless") as context:
        fine = "--fine" in sys.argv
        for seed in (int(word) for word in sys.argv[1:] if word != "--fine"):
            for kind in KINDS:
                bundle = random_bundle(kind, seed, fine=fine)
                print(f"@network {kind} {seed}", file=sys.stderr, flush=True)
                rng = np.random.default_rng(seed)
                with Session(bundle, context=context) as session:
                    networks[f"{kind} {seed}"] = {
                        node.name: layer_numbers(session, node, rng) for node in drawn_nodes(bundle)
                    }
    print(json.dumps(networks))


def layer_numbers(session: Session, node: Node, rng: np.random.Generator) -> dict[str, float]:
    """Return the number of stored values of a layer for random inputs, the number of wrong ones, and the errors.

    ``worst`` is the largest distance of a stored value from the exact value before rounding. ``mean`` is the mean
    distance from the correctly rounded value. Both are in steps.
    """
    inputs = stored_inputs(session.bundle, node.name, rng)
    exact = exact_steps(session.bundle, node, inputs)
    values = gpu_steps(session, node.name, inputs)
    errors = values - np.rint(in_steps(reference.layer(node, inputs, stored=True), session.bundle.values[node.name]))
    return {
        "op": node.op,
        "bits": session.bundle.graph.by_name[node.name].attrs.get("bits", 8),
        "values": int(errors.size),
        "differing": int(np.count_nonzero(errors)),
        "worst": float(np.abs(values - exact).max()),
        "mean": float(errors.mean()),
    }


if __name__ == "__main__":
    main()
