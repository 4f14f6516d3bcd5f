"""MobileNet v1 0.25 at 128 px: a section of scripts/accuracy.py."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import graph_file
import numpy as np
from numpy.typing import NDArray

from accuracy_sections.common import (
    BOUNDS,
    Pictures,
    Section,
    centred,
    compared,
    exact_inputs,
    keras_side,
    layer_rows,
    photographs,
    random_inputs,
)
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.ranges import Calibration, PreparedGraph, prepare
from glsl_infer.graph import Graph, reference
from glsl_infer.runtime.session import Session

SIZE = 128
CALIBRATION, TEST = 64, 100
NETWORKS = ("varied", "plain")
PERCENTILES = (100.0, 99.99, 99.9)
OTHER_HEADROOMS = (1.0, 1.25, 2.0, 4.0)


def measure(data: Path) -> Section:
    """Measure a random MobileNet on photographs: each layer on the GPU, both ends, and the effect of other ranges."""
    calibration, test = photographs(data, "train", CALIBRATION, SIZE), photographs(data, "test", TEST, SIZE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "pictures.npz", calibration=calibration, test=test)
        keras_side("mobilenet", folder, pictures=folder / "pictures.npz")
        networks = {}
        for network in NETWORKS:
            with np.load(folder / f"mobilenet-{network}.npz") as saved:
                logits = {key: saved[key] for key in ("logits", "noisy")}
            networks[network] = {
                "graph": optimize.optimize(graph_file.read(folder / f"mobilenet-{network}.graph")),
                **logits,
            }
    main = networks[NETWORKS[0]]
    exports = [
        _export(main["graph"], main["logits"], calibration, test, percentile, layers=percentile == PERCENTILES[0])
        for percentile in PERCENTILES
    ]
    layers = exports[0].pop("layers")
    worst = max(row["worst"] for rows in layers.values() for row in rows)
    ratio = max(export["ratio"] for export in exports)
    return {
        "size": SIZE,
        "classes": main["logits"].shape[1],
        "calibration": CALIBRATION,
        "photographs": TEST,
        "spread": float(centred(main["logits"]).std(axis=0).mean()),
        "noisy": {name: compared(network["noisy"], network["logits"]) for name, network in networks.items()},
        "layers": layers,
        "worst": worst,
        "exports": exports,
        "passed": worst <= BOUNDS["layer"] and ratio <= BOUNDS["ratio"],
    }


def _export(
    graph: Graph, floats: NDArray[Any], calibration: Pictures, test: Pictures, percentile: float, *, layers: bool
) -> Section:
    """Export with ranges by one percentile; compare GPU and exact reference with the float logits."""
    print(f"  percentile {percentile:g}", file=sys.stderr, flush=True)
    prepared = prepare(graph, Calibration(list(calibration), percentile=percentile))
    made = bundle_of(prepared)
    numbers: Section = {"percentile": percentile}
    with Session(made, selfcheck=True) as session:
        gpu = np.stack([session.run(picture) for picture in test])
        numbers["statistics"] = vars(session.statistics())
        if layers:
            numbers["layers"] = {
                "random": layer_rows(session, random_inputs(made, 0)),
                "photograph": layer_rows(session, exact_inputs(made, test[0])),
            }
    exact = np.stack([reference.run(made, picture) for picture in test])
    numbers.update({"exact": compared(exact, floats), "gpu": compared(gpu, floats), "gpu_exact": compared(gpu, exact)})
    numbers["ratio"] = numbers["gpu"]["mean"] / numbers["exact"]["mean"]
    numbers["wide"] = [{**vars(wide), "narrow": _slices(made, wide.layer)} for wide in prepared.wide]
    return numbers


def bundle_of(prepared: PreparedGraph) -> Bundle:
    """Return the bundle of a prepared network."""
    program = lower.to_program(prepared.graph)
    return to_bundle(program, [f"class {i}" for i in range(classes_of(prepared.graph))])


def _slices(made: Bundle, layer: str) -> int:
    return -(-made.graph.shapes[layer][-1] // 4)
