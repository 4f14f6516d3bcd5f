#!/usr/bin/env python3
"""Compare random Keras networks, converted by TensorFlow and drawn, with LiteRT: docs/engineering/litert-judge.md.

    python scripts/bench/litert_judge.py                      # all 200 networks, 360 files: half an hour on two cores
    python scripts/bench/litert_judge.py --seeds 40 60        # only these, shown and not written

Networks of `tests/keras_networks.py` are converted to files with float weights, with 16-bit float weights, and with
int8. Each file is imported, exported with eight images (int8 with its own ranges), and drawn. It passes if

- the imported graph, computed in floats, differs from LiteRT by at most `MOST_FLOAT` of the largest value of the output
  (files of floats), and
- the error of the drawn output is at most `MOST_DRAWN` times that of the exact 8-bit reference, both relative to LiteRT
  (root mean square, centred).

Needs TensorFlow, ai-edge-litert and a driver. The exit code is 1 if a file fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

PAGE, RESULTS = ROOT / "docs/engineering/litert-judge.md", ROOT / "docs/engineering/litert-judge.json"
KINDS = ("float", "float16", "int8")

NETWORKS = 200

IN_ALL_KINDS = 80
"""Number of networks converted to every kind of file; each other network becomes one file, of the kinds in turn."""

MOST_FLOAT = {"float": 1e-4, "float16": 1e-3}
"""Largest float error; larger for float16, because functions are recognised despite their rounded constants."""

MOST_DRAWN = 1.2

SLACK = 0.05
"""Additional tolerance of every result, in 1/255 of an output's largest value: drivers round ties differently."""

AT_ONCE = 20
CALIBRATION, SHOWN = 8, 2

Arrays = dict[str, NDArray[Any]]


def kinds_of(seed: int) -> tuple[str, ...]:
    """Return the kinds of files to convert a network to."""
    return KINDS if seed < IN_ALL_KINDS else (KINDS[seed % len(KINDS)],)


def make(folder: Path, seeds: range) -> None:
    """Write the files of some networks, with their calibration and test images; needs TensorFlow."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    from keras_networks import random_network

    for seed in seeds:
        missing = _missing(folder, seed)
        if not missing:
            continue
        model = random_network(seed)
        rng = np.random.default_rng(seed)
        samples = {tensor.name: _pictures(rng, tuple(tensor.shape[1:])) for tensor in model.inputs}
        np.savez(folder / f"{seed}.npz", **samples)
        for kind in missing:
            refused = folder / f"{seed}.{kind}.refused"
            refused.write_text("it crashes", "utf-8")  # replaced unless the converter crashes, as for some networks
            try:
                data = converted(tf, model, kind, samples)
            except Exception as error:  # the converter raises all kinds of exceptions
                refused.write_text(f"{type(error).__name__}: {error}", "utf-8")
            else:
                refused.unlink()
                (folder / f"{seed}.{kind}.tflite").write_bytes(data)


def _missing(folder: Path, seed: int) -> list[str]:
    """Return the kinds of files of a network that are neither converted nor refused yet."""
    endings = ("tflite", "refused")
    return [kind for kind in kinds_of(seed) if not any((folder / f"{seed}.{kind}.{end}").is_file() for end in endings)]


def _pictures(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return smooth images of bytes, or vectors of values from 0 to 1."""
    count = CALIBRATION + SHOWN
    if len(shape) == 1:
        return rng.uniform(0.0, 1.0, (count, *shape)).astype(np.float32)
    noise = rng.normal(0.0, 1.0, (count, *shape))
    smooth = noise + 2.0 * noise.cumsum(1) / np.sqrt(shape[0]) + 2.0 * noise.cumsum(2) / np.sqrt(shape[1])
    low, high = smooth.min((1, 2, 3), keepdims=True), smooth.max((1, 2, 3), keepdims=True)
    return np.round(255.0 * (smooth - low) / (high - low)).astype(np.uint8)


def converted(tf: Any, model: Any, kind: str, samples: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a Keras model as a file of the given kind."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if kind != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind == "int8":

        def typical() -> Iterator[list[NDArray[np.float32]]]:
            for index in range(CALIBRATION):
                yield [_real(samples[tensor.name][index])[None] for tensor in model.inputs]

        converter.representative_dataset = typical
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    return bytes(converter.convert())


def _real(sample: NDArray[Any]) -> NDArray[np.float32]:
    return (sample / 255.0 if sample.dtype == np.uint8 else sample).astype(np.float32)


def judge(folder: Path, seeds: range) -> Iterator[dict[str, Any]]:
    """Yield the result of every file of some networks."""
    from glsl_infer.gl import constants as GL
    from glsl_infer.gl.context import Context

    with Context("surfaceless") as context:
        renderer = context.gl.text(GL.GL_RENDERER)
        for seed in seeds:
            for kind in kinds_of(seed):
                result_path = folder / f"{seed}.{kind}.json"
                if not result_path.is_file():
                    verdict = {**_verdict(folder, seed, kind, context), "renderer": renderer}
                    result_path.write_text(json.dumps(verdict), "utf-8")
                yield json.loads(result_path.read_text("utf-8"))


def _verdict(folder: Path, seed: int, kind: str, context: Any) -> dict[str, Any]:
    """Return the row of one file."""
    row: dict[str, Any] = {"seed": seed, "kind": kind}
    path = folder / f"{seed}.{kind}.tflite"
    refused = path.with_suffix(".refused")
    if refused.is_file():
        return {**row, "excluded": "TensorFlow cannot convert it: " + _shortened(refused.read_text("utf-8"))}
    with np.load(folder / f"{seed}.npz") as file:
        samples = {name: file[name] for name in file.files}
    try:
        return {**row, **judged(path, kind, samples, context)}
    except Exception as error:  # any exception is a defect, and must not stop the other files
        return {**row, "refused": f"it stopped with {type(error).__name__}: {_shortened(str(error))}"}


def judged(path: Path, kind: str, samples: Mapping[str, NDArray[Any]], context: Any) -> dict[str, Any]:
    """Return the result of a file."""
    from glsl_infer.compiler.delegate import build
    from glsl_infer.errors import GlslInferError
    from glsl_infer.graph import reference
    from glsl_infer.graph.picture import input_values
    from glsl_infer.importers.core.io_options import IoOptions
    from glsl_infer.importers.tflite.file import read_model
    from glsl_infer.importers.tflite.reader import to_graph
    from glsl_infer.runtime.session import Session
    from glsl_infer.tools.validate.litert_outputs import LiteRt

    model = read_model(path)
    verdict: dict[str, Any] = {"operators": len(model.operators)}
    try:
        runner = LiteRt(path)
    except GlslInferError as error:
        return {**verdict, "excluded": f"LiteRT cannot run it: {_shortened(str(error))}"}
    ranges = {name: (0.0, 1.0) for name, index in model.inputs} if kind != "int8" else {}
    purposes = {name: "values" for name, _ in model.outputs}  # keeps a final softmax
    try:
        graph = to_graph(model, io_options=IoOptions(ranges, purposes=purposes))
        inputs = [_inputs(graph, samples, index) for index in range(CALIBRATION + SHOWN)]
        built = build(graph, (), calibration=inputs[:CALIBRATION])
    except GlslInferError as error:
        return {**verdict, "refused": _shortened(str(error))}
    floats, exact, drawn = [0.0], [], []
    with Session(built.bundle, context=context) as session:
        for sample in inputs[CALIBRATION:]:
            real = {node.name: input_values(node, sample[node.name]) for node in graph.inputs}
            runner.run({index: real[name].astype(np.float32) for name, index in model.inputs})
            expected = {name: runner.tensor(index) for name, index in model.outputs}
            if kind in MOST_FLOAT:
                floats.append(_largest(reference.run(graph, sample, mode="float"), expected))
            exact.append(_centred(reference.run(built.bundle, sample), expected))
            drawn.append(_centred(session.run(sample), expected))
    return {**verdict, "parts": len(built.parts), **_compared(kind, max(floats), np.mean(exact, 0), np.mean(drawn, 0))}


def _compared(kind: str, floats: float, exact: NDArray[np.float64], drawn: NDArray[np.float64]) -> dict[str, Any]:
    """Return the errors of the worst output as from ``_centred``, and whether the file failed."""
    end = int(np.argmax(drawn / (exact + SLACK / MOST_DRAWN)))
    failed = floats > MOST_FLOAT.get(kind, 0.0) or not drawn[end] <= MOST_DRAWN * exact[end] + SLACK
    return {"float": floats, "exact": float(exact[end]), "drawn": float(drawn[end]), "failed": bool(failed)}


def _inputs(graph: Any, samples: Mapping[str, NDArray[Any]], index: int) -> Arrays:
    """Return a sample for each input of a graph, matched by shape because converters rename inputs."""
    return {
        node.name: next(many[index] for many in samples.values() if many.shape[1:] == tuple(node.attrs["shape"]))
        for node in graph.inputs
    }


def _largest(actual: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any] | None]) -> float:
    """Return the largest difference, relative to the largest value of the output."""
    worst = 0.0
    for name, values in expected.items():
        assert values is not None
        worst = max(worst, float(np.abs(actual[name].ravel() - values.ravel()).max() / np.abs(values).max()))
    return worst


def _centred(actual: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any] | None]) -> list[float]:
    """Return the root mean square of the difference of each output, both centred, in 1/255 of its largest value."""
    errors = []
    for name, reference in expected.items():
        assert reference is not None
        a, b = (values.ravel().astype(np.float64) for values in (actual[name], reference))
        difference = (a - a.mean()) - (b - b.mean())
        errors.append(255.0 * float(np.sqrt(np.square(difference).mean()) / np.abs(b).max()))
    return errors


def _shortened(text: str) -> str:
    return " ".join(text.split())[:240]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# LiteRT judge",
        "",
        "How far exported `.tflite` files differ from LiteRT. `python scripts/bench/litert_judge.py` makes",
        f"{NETWORKS} random Keras networks (`tests/keras_networks.py`), converts them with TensorFlow (the first",
        f"{IN_ALL_KINDS} to a file of each kind, the others to one), exports and draws all {len(rows)} files,",
        "and writes this page.",
        "",
        "- *Float* is the largest difference between LiteRT and the imported graph in 32-bit floats, as a share of",
        f"  the largest value of the output. More than {MOST_FLOAT['float']:g} is a failure",
        f"  ({MOST_FLOAT['float16']:g} for float16, where rounded constants of functions are replaced by the",
        "  original ones).",
        "- *Exact* and *drawn* are the effect of 8 bits, in the exact reference and on the GPU: the root mean square",
        "  of the centred difference from LiteRT, in 1/255 of the largest value of the output. *Drawn* is a",
        f"  failure if it is more than {MOST_DRAWN:g} times *exact* plus {SLACK:g}. One step of 8 bits more can be",
        "  enough for that in an output of few values, or behind a function that jumps.",
        "",
        f"Drawn by {', '.join(sorted({row['renderer'] for row in rows}))}.",
        "",
        "files | passed | excluded | refused | failed | float, worst | exact, median | drawn | partly on the CPU",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        of_kind = [row for row in rows if row["kind"] == kind]
        ran = [row for row in of_kind if "failed" in row]
        excluded, refused = (sum(key in row for row in of_kind) for key in ("excluded", "refused"))
        failed = sum(row["failed"] for row in ran)
        exact, drawn = (float(np.median([row[key] for row in ran])) if ran else 0.0 for key in ("exact", "drawn"))
        worst = f"{max((row['float'] for row in ran), default=0.0):.1e}" if kind in MOST_FLOAT else ""
        parts = sum(row["parts"] > 0 for row in ran)
        cells = (kind, len(ran) - failed, excluded, refused, failed, worst, f"{exact:.2f}", f"{drawn:.2f}", parts)
        lines.append(" | ".join(map(str, cells)))
    for key, title in (("excluded", "Excluded"), ("refused", "Refused"), ("failed", "Failed")):
        rows_with_key = [row for row in rows if row.get(key)]
        if rows_with_key:
            lines += ["", f"## {title}", ""]
        if key == "failed":
            lines += [f"- network {row['seed']}, {row['kind']}: float {row['float']:.1e}, exact {row['exact']:.2f}, "
                      f"drawn {row['drawn']:.2f}" for row in rows_with_key]  # fmt: skip
            continue
        reasons = Counter(row[key] for row in rows_with_key)
        for reason, count in reasons.most_common():
            layers = [f"{row['seed']} {row['kind']}" for row in rows_with_key if row[key] == reason]
            lines.append(f"- {count} of {layers[0]}{', ...' if count > 1 else ''}: {reason}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Convert, judge and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, metavar=("FIRST", "END"), help="these alone; nothing is written")
    parser.add_argument(
        "--folder", type=Path, help="keep files and verdicts (*.json) there, and use those that are there"
    )
    parser.add_argument("--child", choices=["make", "judge"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    first, end = args.seeds or (0, NETWORKS)
    if args.child == "make":
        make(args.folder, range(first, end))
        return 0
    if args.child == "judge":
        for row in judge(args.folder, range(first, end)):
            print(json.dumps(row), flush=True)
        return 0
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="litert-judge-") as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for begin in range(first, end, AT_ONCE):
            rows += _both(folder, begin, min(begin + AT_ONCE, end))
    failed = [row for row in rows if row.get("failed") or "refused" in row]
    for row in rows if args.seeds else failed:
        print(json.dumps(row))
    if not args.seeds:
        RESULTS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")
        PAGE.write_text(page(rows), "utf-8")
    print(f"{len(rows)} files, {len(failed)} failed or refused")
    return 1 if failed else 0


def _both(folder: Path, first: int, end: int) -> list[dict[str, Any]]:
    """Convert files and judge them in separate processes, because TensorFlow and Mesa's LLVM crash in a shared one."""
    began = time.monotonic()
    for step in ("make", "judge"):
        if step == "make" and not any(_missing(folder, seed) for seed in range(first, end)):
            continue
        command = [sys.executable, __file__, "--child", step, "--folder", folder, "--seeds", first, end]
        for _ in range(end - first):  # TensorFlow's converter can crash its process
            done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
            if not done.returncode or step == "judge":
                break
        if done.returncode:
            raise SystemExit(f"{step} {first} to {end}: {done.stderr.strip()[-2000:]}")
    print(f"{first} to {end - 1}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
