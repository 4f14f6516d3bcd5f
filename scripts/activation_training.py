#!/usr/bin/env python3
"""Train X22 with each activation, several seeds each, and write docs/activations/training.json.

    scripts/get-data trashnet data/trashnet
    python scripts/activation_training.py runs/study          # half an hour on two CPU cores
    python scripts/activation_study.py --table                # the page with the new accuracies

Small pictures, three stages and few epochs: what this compares is how much each activation learns by one recipe, not
what it would reach in the end. A run is a folder RUNS/ACTIVATION-SEED; one that is complete is taken as it is, so that
an interrupted study goes on where it was. Each run has one thread, and two take place at a time, for that is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from activation_page import ACTIVATIONS, EPOCHS, SEEDS, TRAINING

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.cli.progress import bar
from glsl_infer.errors import RunError
from glsl_infer.support.files import write_text

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs/activations/training.json"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}


def accuracy(folder: Path) -> float | None:
    """Return the top-1 accuracy on val, 0 to 1, after a run's last epoch; None for a run that is not complete."""
    try:
        history: list[dict[str, float]] = json.loads((folder / "history.json").read_text("utf-8"))
    except FileNotFoundError:
        return None
    return history[-1]["val_accuracy"] if len(history) == EPOCHS else None


def train(activation: str, seed: int, folder: Path) -> float:
    """Make a run, or go on with it, and return its accuracy.

    Raises:
        RunError: it failed.
    """
    done = accuracy(folder)
    if done is None:
        command = [sys.executable, "training/train.py", *TRAINING, "--activation", activation, "--seed", str(seed)]
        resume = ["--resume"] if (folder / "state.npz").exists() else []
        ended = subprocess.run(
            [*command, "--out", str(folder), *resume],
            check=False,
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
            capture_output=True,
            text=True,
        )
        done = accuracy(folder)
        if ended.returncode or done is None:
            last = (ended.stderr.strip() or ended.stdout.strip() or "no output").rsplit("\n", 1)[-1]
            raise RunError(f"{activation}, seed {seed}: {last}")
    return done


def study(args: argparse.Namespace) -> None:
    """Make what is missing of all runs, and write their accuracies.

    Raises:
        RunError: a run failed; no other is begun.
    """
    wanted = [(name, seed, (args.runs / f"{name}-{seed}").resolve()) for seed in SEEDS for name in ACTIVATIONS]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ACTIVATIONS}
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(train, *one) for one in wanted]
        try:
            for (name, seed, _), run in zip(bar(wanted, "runs"), runs):
                found[name].append({"seed": seed, "val": round(run.result(), 5)})
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    write_text(args.out, json.dumps(found, indent=1) + "\n")


def main() -> int:
    """Parse the arguments, train, and return the exit code."""
    parser = Parser(description="Train X22 with each activation.")
    parser.add_argument("runs", type=Path, help="folder for the runs")
    parser.add_argument(
        "--out", type=Path, default=RESULT, help="file to write (default: docs/activations/training.json)"
    )
    add_debug(parser)
    parser.set_defaults(run=study)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
