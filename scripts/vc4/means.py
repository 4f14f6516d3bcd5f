#!/usr/bin/env python3
"""Measure the mean error that truncated sums cause in each layer of the shipped models.

    python scripts/vc4/means.py data/grocery/test                         # a line for each model
    python scripts/vc4/means.py data/grocery/test models/superres-x2-96.glslnn --pictures 50
    python scripts/vc4/means.py data/grocery/test --write                 # stores every layer in tests/vc4/means.json

Each layer draws on its own on the virtual VideoCore IV, with the hardware's rounding, from the exact outputs of the
layers before. Its values in all photographs are counted together. Ends with 1 if a layer exceeds MOST. A photograph
takes 3 s of one core at 385x385, 0.5 s at 129x129.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.tools.train.photographs import spread
from glsl_infer.tools.videocore import executor
from glsl_infer.tools.videocore.pixels import alone, exact_layers

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/vc4/means.json"
PICTURES = 16
MOST = 0.002
"""Largest mean error of a layer, in stored steps."""

Means = dict[str, tuple[int, int, int]]
"""By layer: number of values, number that are a step too low, and number a step too high."""


def drawn(path: Path, pictures: Iterable[Path]) -> Means:
    """Return the counts of every layer, drawn in this process, which has to run on the executor.

    Raises:
        InputError: the model or an image cannot be read.
        RunError: a value is off by more than a step.
    """
    made = bundles.read(path)
    size = made.manifest.input.size
    counts: Means = {}
    with Context("surfaceless") as context, Session(made, context=context) as session:
        for picture in pictures:
            for layer in alone(session, exact_layers(made, preprocess.load(picture, size))):
                if layer.worst > 1:
                    raise RunError(f"{path.stem}, {picture.name}: {layer.layer} is off by {layer.worst:.0f} steps")
                total = round(layer.mean * layer.values)
                found = (layer.values, (layer.differing - total) // 2, (layer.differing + total) // 2)
                before = counts.get(layer.layer, (0, 0, 0))
                counts[layer.layer] = (before[0] + found[0], before[1] + found[1], before[2] + found[2])
    return counts


def measure(path: Path, pictures: Sequence[Path], chip: executor.Executor) -> Means:
    """Return the same, drawn by a process on the executor.

    Raises:
        GlslInferError: the process cannot draw them.
    """
    command = [sys.executable, __file__, "--draw", str(path), *map(str, pictures)]
    done = subprocess.run(command, env=chip.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        error = InputError if done.returncode == InputError.exit_code else RunError
        raise error(f"{path}: {done.stderr.strip().rpartition('error: ')[2][-2000:]}")
    return {layer: (numbers, low, high) for layer, (numbers, low, high) in json.loads(done.stdout).items()}


def mean(counts: Sequence[int]) -> float:
    """Return the mean error of a layer in steps."""
    numbers, low, high = counts
    return (high - low) / numbers


def beyond(means: Mapping[str, Sequence[int]]) -> list[str]:
    """Return the layers whose mean error exceeds ``MOST`` by more than three standard deviations."""
    return [
        f"{layer}: {mean(counts):+.4f} of a step"
        for layer, counts in means.items()
        if abs(mean(counts)) > MOST + 3 * math.sqrt(counts[1] + counts[2]) / counts[0]
    ]


def main() -> int:
    """Draw, print and, if requested, store; return the exit code."""
    if sys.argv[1:2] == ["--draw"]:
        try:
            print(json.dumps(drawn(Path(sys.argv[2]), map(Path, sys.argv[3:]))))
        except GlslInferError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("split", type=Path, help="a folder with a folder of .jpg for each class")
    parser.add_argument("models", nargs="*", type=Path, help="default: all in models/")
    parser.add_argument("--pictures", type=int, default=PICTURES, help="how many, spread over all of the split")
    parser.add_argument("--write", action="store_true", help="store the counts; of all models")
    args = parser.parse_args()
    try:
        pictures = spread(sorted(args.split.glob("*/*.jpg")), args.pictures)
        if args.pictures < 1 or not pictures:
            raise InputError(f"{args.split}: no CLASS/*.jpg; give a split of a data set, or more --pictures")
        if args.write and args.models:
            raise InputError("--write stores all models' counts; leave the models out")
        chip = executor.find()
        made: dict[str, Means] = {}
        wrong = 0
        for path in args.models or sorted((ROOT / "models").glob("*.glslnn")):
            made[path.stem] = means = measure(path, pictures, chip)
            most = max(means, key=lambda layer: abs(mean(means[layer])))
            print(
                f"{path.stem}: {len(means)} layers, {sum(counts[0] for counts in means.values()):,} numbers; "
                f"most in {most}, {mean(means[most]):+.5f} of a step, of {means[most][0]:,} numbers",
                flush=True,
            )
            lines = beyond(means)
            print("".join(f"  {line}\n" for line in lines), end="")
            wrong += len(lines)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.write:
        rows = [
            f' "{name}": {{\n'
            + ",\n".join(f'  "{layer}": {json.dumps(counts)}' for layer, counts in means.items())
            + "\n }"
            for name, means in made.items()
        ]
        STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
