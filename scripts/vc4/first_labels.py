#!/usr/bin/env python3
"""Count the photographs of a test split with the same first label on the virtual VideoCore IV and llvmpipe.

    python scripts/vc4/first_labels.py data/grocery/test models/grocery-x22-385.glslnn models/grocery-x22-257.glslnn
    python scripts/vc4/first_labels.py data/trashnet/test models/trashnet-x22-257.glslnn --pictures 50

Sums and products are truncated as on real hardware. Prints a line for each model, and one for each photograph with
another label; ends with 1 if there is one. A photograph takes 0.7 s of one core at 385x385, 0.1 s at 129x129.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.tools.train.photographs import spread
from glsl_infer.tools.videocore import executor

PICTURES = 200
LLVMPIPE = {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "llvmpipe"}


def drawn(model: Path, pictures: Sequence[Path]) -> list[str]:
    """Return the first label of each image, drawn in this process.

    Raises:
        InputError: the model is not a classifier with labels, or an image cannot be read.
    """
    made = bundles.read(model)
    if not made.labels:
        raise InputError(f"{model}: no labels to compare; give a classifier")
    with Context("surfaceless") as context, Session(made, context=context) as session:
        size = made.manifest.input.size
        return [made.labels[int(session.run(preprocess.load(path, size)).argmax())] for path in pictures]


def labels(model: Path, pictures: Sequence[Path], environment: Mapping[str, str]) -> list[str]:
    """Return the same, drawn in a process with these variables.

    Raises:
        GlslInferError: the process cannot draw them.
    """
    command = [sys.executable, __file__, "--draw", str(model)]
    text = json.dumps([str(path) for path in pictures])
    done = subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        error = InputError if done.returncode == InputError.exit_code else RunError
        raise error(done.stderr.strip().rpartition("error: ")[2][-2000:])
    found: list[str] = json.loads(done.stdout)
    return found


def compare(model: Path, pictures: Sequence[Path], chip: executor.Executor) -> tuple[list[str], str]:
    """Return a line for each photograph whose first labels differ, and one for the model."""
    theirs = labels(model, pictures, {**os.environ, **LLVMPIPE})
    ours = labels(model, pictures, chip.environment())
    others = [
        f"  {path}: {one}, on llvmpipe {other}" for path, one, other in zip(pictures, ours, theirs) if one != other
    ]
    right = [sum(label == path.parent.name for label, path in zip(found, pictures)) for found in (ours, theirs)]
    same = len(pictures) - len(others)
    return others, f"{model.stem}: same in {same} of {len(pictures)}; right in {right[0]}, on llvmpipe in {right[1]}"


def main() -> int:
    """Draw, compare, print; return the exit code."""
    if sys.argv[1:2] == ["--draw"]:
        try:
            print(json.dumps(drawn(Path(sys.argv[2]), [Path(name) for name in json.load(sys.stdin)])))
        except GlslInferError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("split", type=Path, help="a folder with a folder of .jpg for each class")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--pictures", type=int, default=PICTURES, help="how many, spread over all of the split")
    args = parser.parse_args()
    try:
        pictures = spread(sorted(args.split.glob("*/*.jpg")), args.pictures)
        if args.pictures < 1 or not pictures:
            raise InputError(f"{args.split}: no CLASS/*.jpg; give a split of a data set, or more --pictures")
        chip = executor.find()
        different = 0
        for model in args.models:
            others, line = compare(model, pictures, chip)
            print("\n".join([line, *others]), flush=True)
            different += len(others)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
