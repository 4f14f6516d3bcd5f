#!/usr/bin/env python3
"""Measure how exact the GPU is, and write docs/accuracy.md.

    scripts/get-data trashnet data/trashnet
    python scripts/accuracy.py

Needs glsl-infer[train]: the float results are Keras' own, computed in a process beside this one. Exit code 1 when
a bound of docs/accuracy.md is missed; the page is written all the same.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_page import page
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer import ops, probe, reference
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.layout import FixedPoint
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.session import Session

ROOT = Path(__file__).resolve().parent.parent
PHOTOGRAPHS = 100
BOUNDS = {"layer": 0.52, "ratio": 1.2, "same_top1": 97, "spread": 1.0}

Section = dict[str, Any]


def measure_layers(folder: Path) -> Section:
    """Run every layer of the random x22-385 alone, on the exact reference's own input."""
    made = bundles.read(folder / "x22-auto.glslnn")
    values: dict[str, NDArray[Any]] = {made.graph.input.name: probe.picture(385) / 255.0}
    rows = []
    with Session(made) as session:
        for node in made.graph.nodes[1:]:
            operator = ops.get(node.op)
            inputs = [values[name] for name in node.inputs]
            exact = np.asarray(operator.reference(node, inputs), np.float64)
            values[node.name] = operator.store(node, exact)
            if isinstance(operator, ViewOperator):
                continue
            value = made.values[node.name]
            unit = 256.0 / value.scale if isinstance(value, FixedPoint) else 255.0
            given = session.run_layer(node.name, inputs).astype(np.float64)
            rows.append(
                {
                    "layer": node.name,
                    "op": node.op,
                    "values": int(exact.size),
                    "levels": len(np.unique(values[node.name])),
                    "worst": float(np.abs(exact - given).max() * unit),
                    "differing": int(np.count_nonzero(np.abs(values[node.name] - given) * unit > 0.5)),
                }
            )
    worst = max(row["worst"] for row in rows)
    return {"rows": rows, "worst": worst, "passed": worst <= BOUNDS["layer"]}


def measure_end_to_end(folder: Path, bundle: Path) -> Section:
    """Compare GPU and exact reference with float Keras on photographs."""
    made = bundles.read(bundle)
    with np.load(folder / "results.npz") as saved:
        floats, pictures, labels = saved["logits"], saved["pictures"], saved["labels"]
    exact = np.stack([reference.run(made, picture) for picture in pictures])
    with Session(made) as session:
        gpu = np.stack([session.run(picture) for picture in pictures])
    chosen = np.arange(PHOTOGRAPHS) * len(pictures) // PHOTOGRAPHS
    results = {"float": floats, "exact": exact, "gpu": gpu}
    some = {key: value[chosen] for key, value in results.items()}
    centred = {key: value - value.mean(axis=1, keepdims=True) for key, value in some.items()}
    errors = {key: np.abs(centred[key] - centred["float"]) for key in ("exact", "gpu")}
    ratios = {
        "mean": float(errors["gpu"].mean() / errors["exact"].mean()),
        "largest": float(errors["gpu"].max() / errors["exact"].max()),
    }
    spread = float(centred["float"].std(axis=0).mean())
    same = int((some["gpu"].argmax(axis=1) == some["float"].argmax(axis=1)).sum())
    enough = spread >= BOUNDS["spread"] and same >= BOUNDS["same_top1"]
    return {
        "bundle": bundle.name,
        "photographs": PHOTOGRAPHS,
        "spread": spread,
        "errors": {key: {"mean": float(one.mean()), "largest": float(one.max())} for key, one in errors.items()},
        "ratios": ratios,
        "same_top1": same,
        "test_pictures": len(pictures),
        "top1": {key: float((value.argmax(axis=1) == labels).mean()) for key, value in results.items()},
        "agreement": float((gpu.argmax(axis=1) == floats.argmax(axis=1)).mean()),
        "passed": enough and max(ratios.values()) <= BOUNDS["ratio"],
    }


def measure_modes(folder: Path) -> Section:
    """Count what a frame of x22-385 takes with baked, uniform and automatic weights."""
    rows, outputs = [], set()
    for mode in ("baked", "uniform", "auto"):
        made = bundles.read(folder / f"x22-{mode}.glslnn")
        with Session(made) as session:
            outputs.add(session.run(probe.picture(385)).tobytes())
            vectors = made.manifest.limits.fragment_uniform_vectors
            rows.append({"weights": mode, **vars(session.statistics()), "uniform_vectors": vectors})
    return {"rows": rows, "same_logits": len(outputs) == 1, "passed": len(outputs) == 1}


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return everything that the page says."""
    for path in (args.data, args.keras, args.bundle):
        if not path.exists():
            raise InputError(f"{path}: no such file; see the top of {Path(__file__).name}")
    with Context() as context:
        gl = context.gl
        driver = f"{gl.text(GL.GL_RENDERER)}, {gl.text(GL.GL_VERSION)}, {context.how}"
    size = bundles.read(args.bundle).manifest.input.size
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, str(ROOT / "scripts/accuracy_keras.py"), name]
        command += ["--data", str(args.data), "--keras", str(args.keras), "--size", str(size)]
        if subprocess.run(command, check=False).returncode:
            raise InputError("Keras' side failed; its message is above")
        folder = Path(name)
        found: dict[str, Any] = {"driver": f"{driver}, Python {platform.python_version()}", "bounds": BOUNDS}
        for key, section in (
            ("layers", lambda: measure_layers(folder)),
            ("end_to_end", lambda: measure_end_to_end(folder, args.bundle)),
            ("modes", lambda: measure_modes(folder)),
        ):
            print(f"measuring {key} ...", file=sys.stderr, flush=True)
            found[key] = section()
    return found


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure how exact the GPU is.", allow_abbrev=False)
    parser.add_argument("--data", type=Path, default=ROOT / "data/trashnet")
    parser.add_argument("--keras", type=Path, default=ROOT / "models/trashnet-x22-129.keras")
    parser.add_argument("--bundle", type=Path, default=ROOT / "models/trashnet-x22-129.glslnn")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/accuracy.md", help="the page to write")
    parser.add_argument("--json", type=Path, help="write the numbers to this file as well")
    args = parser.parse_args()
    try:
        found = measure(args)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    text = page(found)
    print(text)
    args.out.write_text(text, "utf-8")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    missed = [key for key in ("layers", "end_to_end", "modes") if not found[key]["passed"]]
    if missed:
        print(f"bounds missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
