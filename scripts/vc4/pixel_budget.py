#!/usr/bin/env python3
"""Count the differing bytes on the virtual VideoCore IV, and compare with the stored, accepted counts.

    python scripts/vc4/pixel_budget.py            # all models and 204 random networks; ends with 1 where more differ
    python scripts/vc4/pixel_budget.py --write    # stores the counts in tests/vc4/pixels.json

Each layer draws on its own, from exact inputs, in both roundings. Random networks are ``SEEDS`` of each kind of
tests/gl/random_networks.py. Layers without differences are left out. tests/vc4/test_compiled.py checks the models,
and the networks of two seeds.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from glsl_infer.errors import GlslInferError, RunError
from glsl_infer.tools.videocore import executor
from glsl_infer.tools.videocore.executor import ROUNDINGS, Executor
from glsl_infer.tools.videocore.pixels import Pixels, compare

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/vc4/pixels.json"
SEEDS = range(12)

Counts = dict[str, dict[str, int]]
"""Number of differing bytes, by rounding and layer."""


def counts_of_model(drawn: Iterable[Pixels]) -> Counts:
    """Return the counts of a bundle that was drawn in both roundings."""
    return {
        pixels.rounding: {layer.layer: layer.differing for layer in pixels.layers if layer.differing}
        for pixels in drawn
    }


def counts_of_networks(seeds: Iterable[int], chip: Executor) -> dict[str, Counts]:
    """Return the counts of the random networks of every kind, by kind and seed.

    Raises:
        RunError: they cannot be drawn.
    """
    networks: dict[str, Counts] = {}
    for rounding in ROUNDINGS:
        command = [sys.executable, str(ROOT / "tests/vc4/random_layers.py"), *map(str, seeds)]
        environment = chip.environment(rounding=rounding)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunError(f"random networks: {done.stderr.strip()[-2000:]}")
        for name, layers in json.loads(done.stdout).items():
            counts = {layer: result["differing"] for layer, result in layers.items() if result["differing"]}
            networks.setdefault(name, {})[rounding] = counts
    return networks


def exceeding(before: Mapping[str, Mapping[str, int]], after: Counts) -> Iterator[str]:
    """Yield a line for each layer with more differing bytes than before, beyond chance."""
    for rounding, layers in after.items():
        for layer, count in layers.items():
            accepted = before.get(rounding, {}).get(layer, 0)
            if count > accepted + 3 + accepted // 10:
                yield f"{layer}, {rounding}: {count} bytes differ, {accepted} did"


def main() -> int:
    """Count, compare and, if requested, store; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="store the counts")
    args = parser.parse_args()
    try:
        chip = executor.find()
        differences: dict[str, dict[str, Any]] = {
            "models": {
                path.stem: counts_of_model(compare(path, chip)) for path in sorted((ROOT / "models").glob("*.glslnn"))
            },
            "networks": counts_of_networks(SEEDS, chip),
        }
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    for kind, named in differences.items():
        for rounding in ROUNDINGS:
            sums = {name: sum(counts[rounding].values()) for name, counts in named.items()}
            sums_text = ", ".join(f"{name} {count:,}" for name, count in sums.items()) if kind == "models" else ""
            print(f"{kind}, {rounding}: {sum(sums.values()):,} bytes differ {sums_text}".rstrip())
    stored = json.loads(STORED.read_text("utf-8")) if STORED.is_file() else {"models": {}, "networks": {}}
    exceeded = [
        f"{name}: {line}"
        for kind, named in differences.items()
        for name, counts in named.items()
        for line in exceeding(stored[kind].get(name, {}), counts)
    ]
    print("\n".join(exceeded))
    if args.write:
        text = re.sub(r"\{[^{}]*\}", lambda match: re.sub(r"\s+", " ", match[0]), json.dumps(differences, indent=1))
        STORED.write_text(f"{text}\n", "utf-8")
        return 0
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
