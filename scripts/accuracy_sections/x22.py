"""X22: layer by layer, end to end, and the cost of a frame; three sections of scripts/accuracy.py."""

from __future__ import annotations

import gc
import sys
import tempfile
from pathlib import Path

import graph_file
import numpy as np

from accuracy_sections.common import BOUNDS, Section, exact_inputs, keras_side, layer_rows
from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, reference
from glsl_infer.runtime.session import Session

PHOTOGRAPHS = 216
SIZE = 385


def measure_layers() -> Section:
    """Run every layer of the random x22-385 alone, on the exact reference's own input."""
    made, _, _ = build(random_x22(), _labels())
    with Session(made) as session:
        rows = layer_rows(session, exact_inputs(made, probe.picture(SIZE)))
    worst = max(row["worst"] for row in rows)
    return {"rows": rows, "worst": worst, "passed": worst <= BOUNDS["layer"]}


def measure_end_to_end(bundle: Path, keras: Path, data: Path) -> Section:
    """Compare GPU and exact reference with float Keras on photographs."""
    made = bundles.read(bundle)
    with tempfile.TemporaryDirectory() as name:
        keras_side("trashnet", Path(name), data=data, keras=keras, size=made.manifest.input.size)
        with np.load(Path(name) / "results.npz") as saved:
            floats, pictures, labels = saved["logits"], saved["pictures"], saved["labels"]
    exact = np.stack([reference.run(made, picture) for picture in pictures])
    with Session(made) as session:
        gpu = np.stack([session.run(picture) for picture in pictures])
    chosen = np.arange(PHOTOGRAPHS) * len(pictures) // PHOTOGRAPHS
    results = {"float": floats, "exact": exact, "gpu": gpu}
    evenly_chosen = {key: value[chosen] for key, value in results.items()}
    centred = {key: value - value.mean(axis=1, keepdims=True) for key, value in evenly_chosen.items()}
    errors = {key: np.abs(centred[key] - centred["float"]) for key in ("exact", "gpu")}
    ratios = {
        "mean": float(errors["gpu"].mean() / errors["exact"].mean()),
        "largest": float(errors["gpu"].max() / errors["exact"].max()),
    }
    spread = float(centred["float"].std(axis=0).mean())
    same = int((evenly_chosen["gpu"].argmax(axis=1) == evenly_chosen["float"].argmax(axis=1)).sum())
    enough = spread >= BOUNDS["spread"] and same >= BOUNDS["same_top1"]
    return {
        "bundle": bundle.name,
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


def measure_counts() -> Section:
    """Count passes, jobs and GL calls of a frame of x22-385, in both layouts and with three modes of weights.

    The modes are baked, uniform and automatic. Baked and uniform weights are equal and must give the same logits;
    automatic weights can have 16 bits.
    """
    graph = random_x22()
    rows, outputs = [], set()
    for layout in ("planar", "atlas"):
        for mode in ("baked", "uniform", "auto"):
            print(f"  {layout}, {mode}", file=sys.stderr, flush=True)
            made, _, _ = build(graph, _labels(), options=Options(weights=mode, layout=layout))
            manifest = made.manifest
            with Session(made) as session:
                if mode != "auto":
                    outputs.add(session.run(probe.picture(SIZE)).tobytes())
                rows.append(
                    {
                        "layout": layout,
                        "weights": mode,
                        **vars(session.statistics()),
                        "textures": len(manifest.textures),
                        "bound": max(len(entry.textures) for entry in manifest.passes),
                        "uniform_vectors": manifest.limits.fragment_uniform_vectors,
                    }
                )
            gc.collect()  # frees a thousand programs
    same, most = len(outputs) == 1, max(row["bound"] for row in rows)
    return {"rows": rows, "same_logits": same, "bound": most, "passed": same and most <= 8}


def random_x22() -> Graph:
    """Return the graph of X22 at 385x385 with seeded random weights."""
    with tempfile.TemporaryDirectory() as name:
        keras_side("x22", Path(name))
        return graph_file.read(Path(name) / "x22.graph")


def _labels() -> list[str]:
    return [f"class {index}" for index in range(120)]
