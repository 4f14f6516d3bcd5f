"""Contents specific to bundles of parts: the parts, and layers on the CPU."""

from __future__ import annotations

from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.parts import CpuPart
from glsl_infer.graph import Graph
from glsl_infer.runtime import statistics


def parts_of(bundle: Bundle) -> list[dict[str, Any]]:
    """Return each part of a bundle in order: its kind, inputs and outputs, and bytes transferred for a frame."""
    described = []
    for part in bundle.parts:
        if isinstance(part, CpuPart):
            entry: dict[str, Any] = {"kind": "cpu", "layers": len(part.nodes), "operators": list(part.operators)}
            names, moved = (part.inputs, part.outputs), (0, 0)
        else:
            names = (
                tuple(end.name for end in part.manifest.inputs),
                tuple(end.name for end in part.manifest.outputs),
            )
            entry = {"kind": "gpu", "layers": len(part.manifest.layers), "operators": []}
            moved = statistics.uploaded(part), statistics.read_back(part)
        sides = {"inputs": list(names[0]), "outputs": list(names[1])}
        described.append({**entry, **sides, "uploaded": moved[0], "read_back": moved[1]})
    return described


def cpu_rows(part: CpuPart, graph: Graph) -> list[dict[str, Any]]:
    """Return the layers of a CPU part in the format of ``inspection.inspect``.

    Args:
        part: the part.
        graph: graph of the entire bundle, which has the shapes.
    """
    return [
        {
            "layer": node.name,
            "op": node.op,
            "inputs": list(node.inputs),
            "shape": list(graph.shapes[node.name]),
            "stored": "CPU, 32-bit floats",
            "passes": 0,
            "programs": 0,
            "pixels": 0,
            "weights": sum(weight.size for weight in node.weights.values()),
            "gain": None,
            "textures": [],
        }
        for node in part.nodes
    ]
