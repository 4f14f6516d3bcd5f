#!/usr/bin/env python3
"""Measure the accuracy of the GPU, and write docs/engineering/accuracy.md.

    scripts/get-data trashnet data/trashnet
    python scripts/bench/accuracy.py                        # everything: about 10 minutes on two CPU cores
    python scripts/bench/accuracy.py --only layers,drivers  # some sections; the others are those of the last time

The results of each section are stored in docs/engineering/accuracy/SECTION.json, and the page is composed from those
files. What follows the line ``FROZEN`` of the page stays as it is. Needs TensorFlow, because Keras computes the float
results, in child processes. The exit code is 1 if a bound is exceeded; the page is written in either case.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# The tests have the code that compares layers.
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("scripts/vc4", "tests", "tests/gl"))]

import numpy as np  # noqa: E402
from layer_check import exact_steps, gpu_steps, layer_error, stored_inputs  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from random_networks import KINDS, drawn_nodes, random_bundle  # noqa: E402
from x22 import x22  # noqa: E402

from glsl_infer import bundle as bundles  # noqa: E402
from glsl_infer.bundle import probe  # noqa: E402
from glsl_infer.compiler.build import build  # noqa: E402
from glsl_infer.errors import GlslInferError, InputError, RunError  # noqa: E402
from glsl_infer.gl import constants as GL  # noqa: E402
from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.graph import Node, reference  # noqa: E402
from glsl_infer.graph.picture import picture_values  # noqa: E402
from glsl_infer.program.texels import in_steps  # noqa: E402
from glsl_infer.runtime.pictures import preprocess  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402

Section = dict[str, Any]

BOUNDS = {"layer": 0.52, "ratio": 1.2, "same_top1": 210, "spread": 1.0}
PHOTOGRAPHS, CLASSES = 216, 120
FROZEN = "<!-- measured once: the scripts of these sections were deleted -->"

DRIVERS: dict[str, dict[str, str]] = {
    "llvmpipe": {"GALLIUM_DRIVER": "llvmpipe"},
    "llvmpipe as ES 2.0": {"GALLIUM_DRIVER": "llvmpipe", "MESA_GLES_VERSION_OVERRIDE": "2.0"},
    "softpipe": {"GALLIUM_DRIVER": "softpipe"},
}
"""The drivers of ``make test-drivers``, with the environment variables to select each."""

HEAD = """# Accuracy

`python scripts/bench/accuracy.py` (after `scripts/get-data trashnet data/trashnet`) measures these numbers and writes
this page. `docs/engineering/accuracy/` has the numbers of every layer. Measured on {machines}.

*Worst* is the largest distance between a stored value and the float64 value before rounding, in steps. A step is 1/255
of the range of a feature map, or scale/256 for 16-bit values. Perfect rounding has 0.5. The limit is {bound}.
"""


def paths(data: Path, split: str) -> list[Path]:
    """Return the paths of the photographs of a split, ``SPLIT/CLASS/*.jpg``, sorted."""
    files = sorted((data / split).glob("*/*.jpg"))
    if not files:
        raise InputError(f"{data / split}: no photographs; scripts/get-data trashnet {data} fetches them")
    return files


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    first, *lines = (" | ".join(row) if row[0] and row[-1] else f"| {' | '.join(row)} |" for row in (head, *rows))
    return "\n".join([first, f"|{'---|' * len(head)}", *lines])


def centred(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return logits (pictures, classes) minus their mean over the classes."""
    return np.asarray(logits, np.float64) - np.asarray(logits, np.float64).mean(axis=1, keepdims=True)


def layers(args: argparse.Namespace) -> Section:
    """Run every layer of the random x22-385 alone, on the exact reference's own input."""
    bundle, _, _ = build(x22(385, CLASSES), [f"class {index}" for index in range(CLASSES)])
    picture = probe.picture(385)
    values: dict[str, NDArray[Any]] = {bundle.graph.input.name: picture_values(bundle.graph.input, picture)}
    values.update(reference.layers(bundle, picture))
    rows = []
    with Session(bundle) as session:
        for node in drawn_nodes(bundle):
            inputs, value = [values[name] for name in node.inputs], bundle.values[node.name]
            exact = exact_steps(bundle, node, inputs)
            stored = np.rint(in_steps(reference.layer(node, inputs, stored=True), value))
            steps = gpu_steps(session, node.name, inputs)
            rows.append(
                {
                    "layer": node.name,
                    "op": node.op,
                    "values": int(exact.size),
                    "levels": len(np.unique(stored)),
                    "worst": float(np.abs(exact - steps).max()),
                    "differing": int(np.count_nonzero(stored != steps)),
                }
            )
    worst = max(row["worst"] for row in rows)
    return {"rows": rows, "worst": worst, "passed": worst <= BOUNDS["layer"]}


def layers_text(section: Section) -> str:
    """Return the section on X22's layers."""
    rows = section["rows"]
    return f"""
## Layer by layer

X22 at 385x385 with random weights, {len(rows)} layers, each computed from the exact reference's values. Worst:
**{section["worst"]:.4f}**. {sum(row["differing"] for row in rows):,} of {sum(row["values"] for row in rows):,} stored \
values differ from the reference's.
"""


def end_to_end(args: argparse.Namespace) -> Section:
    """Compare GPU and exact reference with float Keras on photographs."""
    bundle = bundles.read(args.bundle)
    files = paths(args.data, "test")
    pictures = np.stack([preprocess.load(path, bundle.manifest.input.size) for path in files])
    names = sorted({path.parent.name for path in files})
    labels = np.array([names.index(path.parent.name) for path in files])
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "pictures.npy"
        np.save(file, pictures)
        subprocess.run([sys.executable, __file__, "--keras", str(args.keras), "--in-keras", str(file)], check=True)
        floats = np.load(file.with_suffix(".outputs.npy"))
    exact = np.stack([reference.run(bundle, picture) for picture in pictures])
    with Session(bundle) as session:
        gpu = np.stack([session.run(picture) for picture in pictures])
    chosen = np.arange(PHOTOGRAPHS) * len(pictures) // PHOTOGRAPHS
    results = {"float": floats, "exact": exact, "gpu": gpu}
    logits = {key: centred(value[chosen]) for key, value in results.items()}
    errors = {key: np.abs(logits[key] - logits["float"]) for key in ("exact", "gpu")}
    ratios = {
        "mean": float(errors["gpu"].mean() / errors["exact"].mean()),
        "largest": float(errors["gpu"].max() / errors["exact"].max()),
    }
    spread = float(logits["float"].std(axis=0).mean())
    same = int((logits["gpu"].argmax(axis=1) == logits["float"].argmax(axis=1)).sum())
    enough = spread >= BOUNDS["spread"] and same >= BOUNDS["same_top1"]
    return {
        "bundle": args.bundle.name,
        "photographs": PHOTOGRAPHS,
        "spread": spread,
        "errors": {key: {"mean": float(error.mean()), "largest": float(error.max())} for key, error in errors.items()},
        "ratios": ratios,
        "same_top1": same,
        "test_pictures": len(pictures),
        "top1": {key: float((value.argmax(axis=1) == labels).mean()) for key, value in results.items()},
        "agreement": float((gpu.argmax(axis=1) == floats.argmax(axis=1)).mean()),
        "passed": enough and max(ratios.values()) <= BOUNDS["ratio"],
    }


def in_keras(model: Path, pictures: Path) -> None:
    """Write Keras' outputs for images, in a process of its own: TensorFlow and Mesa's LLVM cannot share one."""
    from glsl_infer.importers.keras.reader import load_model

    inputs = np.load(pictures).astype(np.float32) / np.float32(255.0)
    np.save(pictures.with_suffix(".outputs.npy"), load_model(str(model)).predict(inputs, batch_size=1, verbose=0))


def end_to_end_text(section: Section) -> str:
    """Return the section on the trained model."""
    names = {"float": "float32 Keras", "exact": "exact reference", "gpu": "GPU"}
    rows = [[names[key], f"{error['mean']:.4f}", f"{error['largest']:.4f}"] for key, error in section["errors"].items()]
    rows.append(["GPU / exact reference", f"{section['ratios']['mean']:.3f}", f"{section['ratios']['largest']:.3f}"])
    return f"""
## End to end

`{section["bundle"]}` on the {section["photographs"]} photographs of trashnet's test split, against float32 Keras: \
errors of logits, minus
their mean over the classes. Their standard deviation is {section["spread"]:.2f}.

{table(["", "mean", "largest"], rows)}

The limit of both ratios is {BOUNDS["ratio"]}. The GPU has the first label of Keras on \
**{section["same_top1"]} of {section["photographs"]}** photographs
(limit: {BOUNDS["same_top1"]}).
Top-1 accuracy: {", ".join(f"{name} {100 * section['top1'][key]:.2f} %" for key, name in names.items())}.
"""


def drivers(args: argparse.Namespace) -> Section:
    """Draw random networks of each kind on every driver, each in its own process."""
    results = {}
    for name, chosen in DRIVERS.items():
        environment = {key: value for key, value in os.environ.items() if key != "MESA_GLES_VERSION_OVERRIDE"}
        environment.update(LIBGL_ALWAYS_SOFTWARE="1", **chosen)
        command = [sys.executable, __file__, "--cases", str(args.cases), "--this-driver"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RunError(f"random networks on {name} ended with {done.returncode}; the message is above")
        results[name] = {**json.loads(done.stdout), "environment": chosen}
    worst = max(row["worst"] for result in results.values() for row in result["operators"].values())
    return {"drivers": results, "worst": worst, "passed": worst <= BOUNDS["layer"]}


def this_driver(cases: int) -> Section:
    """Return the layers and values compared and the largest error of each operator, on the driver of this process."""
    rows: dict[str, Section] = {}
    with Context() as context:
        gl = context.gl
        driver = {"renderer": gl.text(GL.GL_RENDERER), "version": gl.text(GL.GL_VERSION), "how": context.how}
        for network_kind in KINDS:
            for case in range(cases):
                bundle = random_bundle(network_kind, case)
                rng = np.random.default_rng(case)
                with Session(bundle, context=context, cache=False) as session:
                    for node in drawn_nodes(bundle):
                        error = layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
                        row = rows.setdefault(form(node), {"layers": 0, "values": 0, "worst": -1.0})
                        row["layers"] += 1
                        row["values"] += int(np.prod(bundle.graph.shapes[node.name]))
                        if error > row["worst"]:
                            row.update(worst=error, at=f"random_bundle('{network_kind}', {case}), layer '{node.name}'")
            print(f"  {driver['renderer']}: {network_kind}", file=sys.stderr, flush=True)
    return {"driver": driver, "kinds": len(KINDS), "cases": cases, "operators": rows}


def form(node: Node) -> str:
    """Return the operator of a node; for a convolution, with its form."""
    if node.op not in ("conv2d", "convolution_products", "convolution_sum"):
        return node.op
    parts = [node.op]
    kernel = node.weights.get("kernel")
    if kernel is not None and node.attrs["groups"] > 1:
        parts.append("depthwise" if kernel.shape[2] == 1 and kernel.shape[3] == node.attrs["groups"] else "groups")
    if node.op != "convolution_products" and len(node.inputs) > 1:
        parts.append("residual")
    return ", ".join(parts)


def drivers_text(section: Section) -> str:
    """Return the section on random networks."""
    runs = section["drivers"]
    first = next(iter(runs.values()))
    kinds: dict[str, float] = {}
    for run in runs.values():
        for operator, row in run["operators"].items():
            operator_name = operator.partition(",")[0]
            kinds[operator_name] = max(row["worst"], kinds.get(operator_name, 0.0))
    worst: dict[str, list[str]] = {}
    for operator_name in sorted(kinds):
        worst.setdefault(f"{kinds[operator_name]:.4f}", []).append(operator_name)
    rows = [[error, ", ".join(worst[error])] for error in sorted(worst, reverse=True)]
    return f"""
## Every operator on three drivers

{first["cases"] * first["kinds"]:,} random networks (`tests/gl/random_networks.py`) of {first["kinds"]} kinds, on \
{", ".join(runs)}. Every layer reads random
stored values. Networks whose sums are too large for 32-bit floats are left out. Worst: **{section["worst"]:.4f}**.

{table(["worst", "operators"], rows)}
"""


SECTIONS: dict[str, tuple[Callable[[argparse.Namespace], Section], Callable[[Section], str]]] = {
    "layers": (layers, layers_text),
    "end_to_end": (end_to_end, end_to_end_text),
    "drivers": (drivers, drivers_text),
}
"""The sections in order of appearance, with the functions that measure and write each."""


def page(sections: dict[str, Section], before: str) -> str:
    """Return the page with all sections, and the end of the page ``before``."""
    machines = "; ".join(dict.fromkeys(sections[key]["machine"] for key in SECTIONS))
    parts = [HEAD.format(machines=machines, bound=BOUNDS["layer"])]
    parts += [write(sections[key]) for key, (_, write) in SECTIONS.items()]
    _, mark, frozen = before.partition(FROZEN)
    return "".join([*parts, f"\n{mark}{frozen}" if mark else ""])


def stored(folder: Path) -> dict[str, Any]:
    """Return the results of all sections.

    Raises:
        InputError: a section was never measured.
    """
    missing = [key for key in SECTIONS if not (folder / f"{key}.json").is_file()]
    if missing:
        raise InputError(f"no numbers yet of {', '.join(missing)}; run with --only {','.join(missing)}")
    return {key: json.loads((folder / f"{key}.json").read_text("utf-8")) for key in SECTIONS}


def sections_of(text: str) -> list[str]:
    """Return the sections of ``--only``."""
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return chosen


def measure(args: argparse.Namespace) -> None:
    """Measure the requested sections, and write the results of each."""
    with Context() as context:
        gl = context.gl
        driver = f"{gl.text(GL.GL_RENDERER)}, {gl.text(GL.GL_VERSION)}, {context.how}"
    args.results.mkdir(parents=True, exist_ok=True)
    for key in args.only:
        print(f"measuring {key} ...", file=sys.stderr, flush=True)
        measured = {"machine": f"{driver}, Python {platform.python_version()}", **SECTIONS[key][0](args)}
        (args.results / f"{key}.json").write_text(json.dumps(measured, indent=1) + "\n", "utf-8")


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("--data", type=Path, default=ROOT / "data/trashnet", metavar="DIR", help="the photographs")
    parser.add_argument("--keras", type=Path, default=ROOT / "models/trashnet-x22-129.keras", metavar="FILE.keras")
    parser.add_argument("--bundle", type=Path, default=ROOT / "models/trashnet-x22-129.glslnn", metavar="FILE.glslnn")
    parser.add_argument("--only", type=sections_of, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}")
    parser.add_argument("--cases", type=int, default=60, help="random networks of each kind on each driver")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/engineering/accuracy.md", help="the page to write")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "docs/engineering/accuracy", help="folder of the sections' numbers"
    )
    parser.add_argument("--this-driver", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--in-keras", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        if args.in_keras is not None:
            in_keras(args.keras, args.in_keras)
            return 0
        if args.this_driver:
            print(json.dumps(this_driver(args.cases)))
            return 0
        measure(args)
        sections = stored(args.results)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    text = page(sections, args.out.read_text("utf-8") if args.out.exists() else "")
    print(text)
    args.out.write_text(text, "utf-8")
    missed = [key for key in SECTIONS if not sections[key]["passed"]]
    if missed:
        print(f"bounds missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
