"""Contents of a bundle: its layers, passes, textures and members, counted without a GPU."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.network import Layer
from glsl_infer.bundle.parts import CpuPart
from glsl_infer.compiler import amplification
from glsl_infer.graph import Graph
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap, Value, textures_of, tile_bytes
from glsl_infer.program.texels import shape_of
from glsl_infer.runtime import statistics

KINDS = {
    "shaders": "shaders",
    "weights": "weights",
    "labels.txt": "labels",
    "passes.bin": "passes",
    "graph.json": "graph",
}
"""Names of groups of members in sums, by the first part of the member's name; the probe is separate."""


def inspect(bundle: Bundle) -> dict[str, Any]:
    """Return the output of ``glsl-infer inspect`` as plain data.

    Args:
        bundle: result of ``bundle.read``, which has checked its consistency.

    Raises:
        BundleError: layers and weights do not fit together.

    Returns:
        ``file`` (path and bytes on disk; both None for a bundle in memory), ``model``, ``inputs``, ``outputs``,
        ``labels``, ``limits`` required of a driver, ``totals``, ``memory`` (bytes of textures by kind, 4 a texel),
        ``members`` (bytes by kind, unpacked), and in order ``layers``, ``passes`` and ``textures``. A model with
        parts has ``parts`` too, and its sums are those of its GPU parts.
    """
    manifest, path = bundle.manifest, bundle.path
    if bundle.nested:
        layers_of_outputs = [output.tensors for output in manifest.outputs]
    else:
        layers_of_outputs = [output.layers for output in bundle.network.outputs]
    described_parts = iter([_of_part(part) for part in bundle.gpu_parts])
    gpu_parts, layers = list[dict[str, Any]](), dict[str, dict[str, Any]]()
    for part in bundle.parts:
        if isinstance(part, CpuPart):
            rows = cpu_rows(part, bundle.graph)
        else:
            gpu_parts.append(next(described_parts))
            rows = gpu_parts[-1].pop("layers")
        for row in rows:
            layers.setdefault(row["layer"], row)  # inputs of parts repeat earlier layers
    return {
        "file": {"path": None if path is None else str(path), "bytes": None if path is None else path.stat().st_size},
        "model": manifest.name,
        "inputs": [_fields(model_input, "name", "kind", "shape", "fit") for model_input in manifest.inputs],
        "outputs": [
            {
                **_fields(output, "name", "purpose", "shape"),
                "layers": list(names),
                "steps": [step.step for step in output.steps],
            }
            for output, names in zip(manifest.outputs, layers_of_outputs)
        ],
        "labels": len(bundle.labels),
        "limits": dict(vars(manifest.limits)),
        **{
            key: {name: sum(part[key][name] for part in gpu_parts) for name in gpu_parts[0][key]}
            for key in ("totals", "memory", "members")
        },
        "layers": list(layers.values()),
        **{key: [row for part in gpu_parts for row in part[key]] for key in ("passes", "textures")},
        **({"parts": parts_of(bundle)} if bundle.nested else {}),
    }


def _of_part(bundle: Bundle) -> dict[str, Any]:
    """Return the sums and rows of a GPU part."""
    manifest, layers = bundle.manifest, _layers(bundle)
    return {
        "totals": {
            "layers": len(layers),
            "passes": len(manifest.passes),
            "jobs": manifest.jobs,
            "programs": len(manifest.programs),
            "textures": len(manifest.textures),
            "weights": sum(layer["weights"] for layer in layers),
        },
        "memory": _memory(bundle),
        "members": _members(bundle),
        "layers": layers,
        "passes": [
            {
                **_fields(draw, "layer", "program", "target", "clear", "textures"),
                "quads": len(draw.quads),
                "pixels": draw.pixels,
            }
            for draw in manifest.passes
        ],
        "textures": [
            {**_fields(texture, "name", "kind", "width", "height"), "bytes": 4 * texture.width * texture.height}
            for texture in manifest.textures
        ],
    }


def _fields(described: object, *names: str) -> dict[str, Any]:
    """Return attributes of an object by name, as plain data: tuples become lists."""
    values = {name: getattr(described, name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def stored_as(value: Value) -> str:
    """Return a short description of the storage of a layer's output."""
    if isinstance(value, FeatureMap):
        return f"8 bit, {len(value.views)} slice{'s' * (len(value.views) != 1)}"
    if isinstance(value, (SixteenBitMap, FixedMap)):
        return f"16 bit, {len(value.views)} tiles"
    assert isinstance(value, FixedPoint)
    return "16 bit, partial sums" if value.columns else "16 bit, vector"


def _layers(bundle: Bundle) -> list[dict[str, Any]]:
    gains = amplification.gains(bundle.graph, bundle.values)
    passes: Counter[str] = Counter()
    programs: defaultdict[str, set[str]] = defaultdict(set)
    pixels: Counter[str] = Counter()
    for draw in bundle.manifest.passes:
        passes[draw.layer] += 1
        programs[draw.layer].add(draw.program)
        pixels[draw.layer] += draw.pixels

    def described(layer: Layer) -> dict[str, Any]:
        return {
            "layer": layer.name,
            "op": layer.op,
            "inputs": list(layer.inputs),
            "shape": list(shape_of(layer.output)),
            "stored": stored_as(layer.output),
            "passes": passes[layer.name],
            "programs": len(programs[layer.name]),
            "pixels": pixels[layer.name],
            "weights": sum(math.prod(shape) for shape in layer.weights.values()),
            "gain": _finite(gains.get(layer.name)),
            "textures": list(textures_of(layer.output)),
        }

    return [described(layer) for layer in bundle.network.layers]


def _finite(value: float | None) -> float | None:
    """Return a value, or None if JSON cannot represent it, as can happen with malicious weights."""
    return value if value is not None and math.isfinite(value) else None


def _memory(bundle: Bundle) -> dict[str, int]:
    kinds = Counter({"input": 0, "target": 0, "constant": 0})
    for texture in bundle.manifest.textures:
        kinds[texture.kind] += 4 * texture.width * texture.height
    drawn = {draw.layer for draw in bundle.manifest.passes}  # the others only rename outputs of these
    outputs = sum(tile_bytes(value) for name, value in bundle.values.items() if name in drawn)
    return {**kinds, "total": sum(kinds.values()), "outputs_of_all_layers": outputs}


def _members(bundle: Bundle) -> dict[str, int]:
    sizes: Counter[str] = Counter(dict.fromkeys((*KINDS.values(), "probe"), 0))
    for name, data in bundle.members.items():
        category = "probe" if name == bundle.manifest.probe.member else KINDS[name.split("/")[0]]
        sizes[category] += len(data)
    return {**sizes, "total": sum(sizes.values())}


def parts_of(bundle: Bundle) -> list[dict[str, Any]]:
    """Return each part of a bundle in order: its kind, inputs and outputs, and bytes transferred for a frame."""
    described: list[dict[str, Any]] = []
    for part in bundle.parts:
        if isinstance(part, CpuPart):
            described.append(
                {
                    "kind": "cpu",
                    "layers": len(part.nodes),
                    "operators": list(part.operators),
                    "inputs": list(part.inputs),
                    "outputs": list(part.outputs),
                    "uploaded": 0,
                    "read_back": 0,
                }
            )
        else:
            described.append(
                {
                    "kind": "gpu",
                    "layers": len(part.manifest.layers),
                    "operators": [],
                    "inputs": [model_input.name for model_input in part.manifest.inputs],
                    "outputs": [output.name for output in part.manifest.outputs],
                    "uploaded": statistics.uploaded(part),
                    "read_back": statistics.read_back(part),
                }
            )
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
