#!/usr/bin/env python3
"""Measure a trained model on one split of a data set: as float Keras, as the exact reference, on the GPU.

    python training/evaluate.py runs/g385/model.keras --data data/grocery/test --gpu --reference
    python training/evaluate.py model.keras --bundle model.glslnn --data data/grocery/test --gpu --json test.json

Float Keras is always measured. --gpu and --reference need the exported model, which --bundle names; otherwise it is
exported temporarily. The results are reproducible. docs/guide/train-x22.md explains the report.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from glsl_infer import bundle as bundles
from glsl_infer.cli import progress
from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import InputError, RunError
from glsl_infer.runtime.pictures.preprocess import load
from glsl_infer.support.child_process import module_command
from glsl_infer.support.files import output_file, write_text
from training import command, labelled_pictures, logits, manifest, reading, scores
from training.labelled_pictures import LabelledPictures

PAIRS = (("gpu", "float"), ("exact", "float"), ("gpu", "exact"))
FORMAT = 1


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, evaluate, print the report, and return the exit code."""
    parser = Parser(prog="evaluate.py", description="Measure a trained model on labelled images.")
    parser.examples = (
        "python training/evaluate.py runs/trash/model.keras --data data/trashnet/test",
        "python training/evaluate.py runs/trash/model.keras --data data/trashnet/test --gpu",
        "python training/evaluate.py model.keras --bundle model.glslnn --data test --gpu --json test.json",
    )
    add_arguments(parser)
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, argv)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.keras", help="The trained Keras model.")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="The labelled images: a folder of CLASS/*.jpg."
    )
    parser.add_argument("--gpu", action="store_true", help="Run the exported model on this machine as well.")
    parser.add_argument(
        "--reference",
        action="store_true",
        help="Compute the exported model in 64-bit floats with the rounding of the GPU as well.",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="FILE.glslnn",
        help="The exported model for --gpu and --reference (default: export MODEL.keras).",
    )
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="Write all results to this file as well.")
    parser.add_argument("--limit", type=command.positive, metavar="N", help="Use only N images, taken evenly from all.")
    parser.add_argument("--strict", action="store_true", help=command.STRICT)


def run(args: argparse.Namespace) -> int:
    """Evaluate and print the report."""
    print(report(evaluate(args)))
    return 0


def evaluate(args: argparse.Namespace) -> dict[str, Any]:
    """Return all results as plain data, and write them to ``args.json`` if set.

    Raises:
        InputError: model, bundle, labels or images cannot be used or do not fit together.
        RunError: a process failed.
    """
    if not args.model.is_file():
        raise InputError(f"{args.model}: no such file; give a saved Keras model (*.keras)")
    if args.json and not args.json.absolute().parent.is_dir():
        raise InputError(f"{args.json.parent}: no such folder; make it, or give --json another place")
    if args.json:
        output_file(args.json)
    labels = labelled_pictures.labels_of(args.model, args.bundle, args.data)
    pictures = labelled_pictures.find(args.data, labels)
    if args.limit:
        pictures = pictures.spread(args.limit)
    coarse_of_label = manifest.coarse_labels(args.data.absolute().parent, labels, complete=False)
    coarse = None if coarse_of_label is None else tuple(coarse_of_label[label] for label in labels)
    pictures, skipped = _readable(pictures, strict=args.strict)
    engines = ["float", *(["exact"] if args.reference else []), *(["gpu"] if args.gpu else [])]
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        bundle = args.bundle
        if bundle is None and len(engines) > 1:
            bundle = _exported(args.model, labels, Path(folder))
        computed = {
            engine: _computed(engine, args.model if engine == "float" else bundle, pictures) for engine in engines
        }
        files = {"model": args.model, **({} if bundle is None else {"bundle": bundle})}
        results = {
            "format": FORMAT,
            **{key: str(path) for key, path in files.items() if path == getattr(args, key)},
            "sha256": {key: hashlib.sha256(path.read_bytes()).hexdigest() for key, path in files.items()},
            "data": str(args.data),
            "split": args.data.absolute().name,
            "pictures": len(pictures.paths),
            "skipped": skipped,
            "limit": args.limit,
            "labels": list(labels),
            "coarse_labels": None if coarse is None else list(coarse),
            "machine": {engine: computed[engine].machine for engine in engines},
            "results": {
                engine: scores.score(computed[engine].logits, pictures.truth, coarse).as_json(labels)
                for engine in engines
            },
            "comparisons": {
                f"{engine} to {reference}": scores.compare(
                    computed[engine].logits, computed[reference].logits, pictures.truth
                ).as_json()
                for engine, reference in PAIRS
                if engine in engines and reference in engines
            },
        }
    if args.json:
        write_text(args.json, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return results


def report(numbers: dict[str, Any]) -> str:
    """Format the results of ``evaluate`` for a terminal."""
    results, labels = numbers["results"], numbers["labels"]
    per_class = results["float"]["per_class"]
    classes = f"{len(labels)}" if len(per_class) == len(labels) else f"{len(per_class)} of {len(labels)}"
    lines = [
        f"{numbers['data']}: {numbers['pictures']} images of {classes} classes",
        "",
        f"{'':16} {'top-1':>9} {'top-5':>9} {'coarse':>9}  right",
    ]
    for engine, result in results.items():
        shares = " ".join(_percent(result[key]) for key in ("top1", "top5", "coarse_top1"))
        lines.append(f"{logits.NAMES[engine]:16} {shares}  {result['right']}")
    if numbers["comparisons"]:
        lines += ["", f"{'':32} {'agreement':>9}  net loss"]
    for pair, compared in numbers["comparisons"].items():
        pair_name = " to ".join(logits.NAMES[name] for name in pair.split(" to "))
        lines.append(
            f"{pair_name:32} {_percent(compared['agreement'])}  {compared['net_loss_points']:.2f} points, "
            f"{compared['net_loss_pictures']} images ({compared['lost']} lost, {compared['gained']} gained)"
        )
    last = list(results)[-1]
    rows = sorted(results[last]["per_class"].items(), key=lambda item: item[1]["right"] / item[1]["pictures"])
    width = max(len(label) for label in per_class)
    lines += ["", f"{'class, ' + logits.NAMES[last]:{width}} {'top-1':>9}  right", ""]
    lines += [
        f"{label:{width}} {_percent(row['right'] / row['pictures'])}  {row['right']} of {row['pictures']}"
        for label, row in rows
    ]
    return "\n".join(lines)


def _computed(engine: str, model: Path, pictures: LabelledPictures) -> logits.Computed:
    """Return an engine's logits; print the time on standard error."""
    started, count = time.perf_counter(), len(pictures.paths)
    with progress.counter(count, "images", logits.NAMES[engine]) as done:
        computed = logits.compute(engine, model, pictures.paths, done)
    if computed.logits.shape[1] != len(pictures.labels):
        raise InputError(
            f"{model}: has {computed.logits.shape[1]} classes, but there are {len(pictures.labels)} labels"
        )
    seconds = time.perf_counter() - started
    print(
        f"{logits.NAMES[engine]}: {count} images in {seconds:.0f} s, {1000 * seconds / count:.0f} ms each",
        file=sys.stderr,
    )
    return computed


def _readable(pictures: LabelledPictures, *, strict: bool) -> tuple[LabelledPictures, dict[str, str]]:
    """Return the readable images, and the errors of the others; ``strict`` makes these an error."""

    def read(index: int) -> None:
        load(pictures.paths[index], 1)

    bad = reading.each(pictures.paths, read, strict=strict)
    readable = [index for index in range(len(pictures.paths)) if index not in bad]
    skipped = {str(pictures.paths[index]): message for index, message in bad.items()}
    return (pictures.picked(readable) if bad else pictures), skipped


def _exported(model: Path, labels: tuple[str, ...], folder: Path) -> Path:
    """Export the model in a separate process, because Keras must not be loaded in this one."""
    labels_file, out = folder / "labels.txt", folder / f"exported{bundles.SUFFIX}"
    labels_file.write_text("".join(f"{label}\n" for label in labels), "utf-8")
    command = module_command("glsl_infer", "export", model, "-o", out, "--labels", labels_file, "--json")
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        last_line = (process.stderr.strip().splitlines() or ["it said nothing"])[-1]
        error_class = InputError if process.returncode == InputError.exit_code else RunError
        raise error_class(
            f"exporting {model}: {last_line.replace('error: ', '', 1)}; or export it yourself and give --bundle"
        )
    return out


def _percent(share: float | None) -> str:
    return f"{'-':>9}" if share is None else f"{100 * share:7.2f} %"


if __name__ == "__main__":
    sys.exit(main())
