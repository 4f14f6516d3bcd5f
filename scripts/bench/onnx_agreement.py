"""Write docs/engineering/accuracy/onnx.md: random ONNX networks in the importer's graph and in ONNX Runtime.

    python scripts/bench/onnx_agreement.py [--networks 200]

All seeds are included. It takes about half a minute, and needs the packages onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

PAGE = ROOT / "docs/engineering/accuracy/onnx.md"
TOLERANCE = 1e-4
"""Largest difference, relative to the largest value of an output."""


def main() -> int:
    """Measure, and write the page."""
    from onnx_networks import agreement, network

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=200)
    count = parser.parse_args().networks
    blocks_of: Counter[str] = Counter()
    opsets: Counter[int] = Counter()
    passed, failed, worst = [], [], 0.0
    warnings.simplefilter("ignore")
    for seed in range(count):
        model, blocks = network(seed)
        opsets[model.opset_import[0].version] += 1
        try:
            error = agreement(model, seed=seed)
        except Exception as refusal:  # refusals and crashes both count as failures
            failed.append(f"| {seed} | {', '.join(blocks)} | {str(refusal).splitlines()[0][:160]} |")
            continue
        (passed if error <= TOLERANCE else failed).append(f"| {seed} | {', '.join(blocks)} | {error:.2g} |")
        worst = max(worst, error)
        blocks_of.update(set(blocks))
    lines = [
        "# Random ONNX networks",
        "",
        "How far imported ONNX files differ from ONNX Runtime. `scripts/bench/onnx_agreement.py` makes networks of",
        f"random blocks (`tests/onnx_networks.py`) in opsets {min(opsets)} to {max(opsets)}, compares the float",
        f"reference of the graph with ONNX Runtime {metadata.version('onnxruntime')} (without its",
        "optimisations) on random inputs, and writes this page.",
        "",
        f"{len(passed)} of {count} networks agree within {TOLERANCE:g} of the largest value of an output.",
        f"The largest difference is {worst:.2g}.",
        f"There are {len(blocks_of)} kinds of blocks, each in at least {min(blocks_of.values())} networks.",
        "",
    ]
    if failed:
        lines += ["| failed | blocks | why |", "|---|---|---|", *failed, ""]
    PAGE.write_text("\n".join(lines), "utf-8")
    print(f"{PAGE}: {len(passed)} of {count}, worst {worst:.2g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
