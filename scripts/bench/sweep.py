#!/usr/bin/env python3
"""Test random cases until one fails: `make sweep`.

    python scripts/bench/sweep.py --seed 17                          # without end; Ctrl-C stops it
    python scripts/bench/sweep.py --seed 17 --rounds 3 --only networks damage

Each round has a seed, logged first. It tests networks of every operator, drawn layer by layer; convolutions of many
shapes, compiled for VideoCore IV; damaged bundles, read and run; the same files with the readers in Java and
TypeScript; random shaders, checked, executed and drawn; and commands in hostile surroundings. The first failure ends
the sweep with exit code 1, after printing the command that repeats the test.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/gl")]

NETWORKS = 10
"""Number of random networks of each operator in a round."""


def networks(seed: int) -> bool:
    """Return whether each layer of random networks of every operator is within its error bound on this driver."""
    import numpy as np
    from layer_check import allowed
    from random_networks import KINDS, layer_errors, random_bundle

    from glsl_infer.gl.context import Context
    from glsl_infer.runtime.session import Session

    wrong = 0
    with Context() as context:
        for kind, case in itertools.product(KINDS, range(NETWORKS)):
            network = NETWORKS * seed + case
            with Session(random_bundle(kind, network), context=context) as session:
                errors = layer_errors(session, np.random.default_rng(network))
                for name, error in errors.items():
                    if error > allowed(session.bundle, name):
                        print(f"{kind}, network {network}: layer {name!r} is off by {error:.3f} steps")
                        wrong += 1
    return wrong == 0


def convolutions(seed: int) -> bool:
    """Return whether a random batch of convolutions compiles for VideoCore IV with two threads."""
    return _script("vc4/convolutions.py", "--seed", seed, "--batches", seed % 45)


def damage(seed: int) -> bool:
    """Return whether damaged bundles are either refused or run."""
    return _script("bench/reliability/fuzz.py", "--seconds", 60, "--seed", seed)


def readers(seed: int) -> bool:
    """Return whether the three readers agree on damaged bundles."""
    return _script("bench/reliability/readers.py", "--files", 500, "--seed", seed)


def shaders(seed: int) -> bool:
    """Return whether random shaders that the checker accepts keep its guarantees."""
    return _script("bench/reliability/shader_values.py", "--programs", 20_000, "--seconds", 600, "--seed", seed)


def drawn(seed: int) -> bool:
    """Return whether this driver draws random shaders that the checker accepts, without a crash and in little time."""
    return _script("bench/reliability/shaders.py", "--random", "--shaders", 500, "--seed", seed)


def surroundings(seed: int) -> bool:
    """Return whether commands withstand little memory, killed neighbours, silent peers and changed bytes."""
    return _script("bench/reliability/surroundings.py", "--seed", seed)


KINDS: dict[str, Callable[[int], bool]] = {
    "networks": networks,
    "convolutions": convolutions,
    "damage": damage,
    "readers": readers,
    "shaders": shaders,
    "drawn": drawn,
    "surroundings": surroundings,
}


def _script(name: str, *words: object) -> bool:
    command = [sys.executable, str(ROOT / "scripts" / name), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL).returncode == 0


def sweep(first: int, rounds: int | None, kinds: Sequence[str]) -> int:
    """Run rounds of all kinds; return the exit code."""
    for seed in itertools.count(first) if rounds is None else range(first, first + rounds):
        for kind in kinds:
            print(f"seed {seed}: {kind}", flush=True)
            began = time.monotonic()
            if not KINDS[kind](seed):
                print(f"a fault; python scripts/bench/sweep.py --rounds 1 --seed {seed} --only {kind} repeats it")
                return 1
            print(f"seed {seed}: {kind}: no fault, {time.monotonic() - began:.0f} s", flush=True)
    return 0


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=0, help="of the first round (default: 0)")
    parser.add_argument("--rounds", type=int, help="end after so many (default: never)")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS), help="kinds of cases")
    arguments = parser.parse_args()
    try:
        return sweep(arguments.seed, arguments.rounds, arguments.only)
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
