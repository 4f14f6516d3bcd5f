"""Page of a bundle: its graph, the storage, draws and cost of each layer, and every pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glsl_infer.bundle import Bundle
from glsl_infer.graph import Node
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap, Value
from glsl_infer.support.plain_text import sides
from glsl_infer.tools.inspect import inspection
from glsl_infer.tools.inspect.diagram import Box
from glsl_infer.tools.inspect.page import Row, Table, output_boxes, page

if TYPE_CHECKING:
    from glsl_infer.tools.videocore.report import Report

_TEXTS = frozenset({"layer", "operator", "shape", "stored", "range", "program", "target", "textures", "inputs"})


def bundle_page(bundle: Bundle, cost: Report | None = None, why_not: str = "") -> str:
    """Return the page of a bundle.

    Args:
        bundle: result of ``bundle.read``.
        cost: report of a VideoCore IV's compiler; None if not available.
        why_not: reason for a missing cost.

    Raises:
        BundleError: layers and weights do not fit together.
    """
    described = inspection.inspect(bundle)
    rows = {row["layer"]: row for row in described["layers"]}
    shares = _shares(described, cost)
    links = {name: f"layer-{index}" for index, name in enumerate(rows)}
    boxes = [_box(node, bundle, rows, shares, links) for node in bundle.graph.nodes]
    boxes += output_boxes(bundle.graph, {box.name for box in boxes})
    totals, memory = described["totals"], described["memory"]
    facts = {
        "file": f"{described['file']['path'] or 'in memory'} ({described['model']})",
        "inputs": ", ".join(
            f"{tensor['name']} {sides(tensor['shape'])} {tensor['kind']}" for tensor in described["inputs"]
        ),
        "outputs": ", ".join(
            f"{tensor['name']} {sides(tensor['shape'])} {tensor['purpose']}" for tensor in described["outputs"]
        ),
        "a frame": f"{totals['passes']:,} passes in {totals['jobs']} jobs, {totals['programs']} programs",
        "memory": f"{memory['total'] / 1e6:.2f} MB in {totals['textures']} textures",
        "weights": f"{totals['weights']:,}",
    }
    bars = "bar: share of the frame's " + ("QPU instructions" if cost else "drawn pixels")
    return page(f"{described['model']}", facts, boxes, _tables(described, bundle, cost, why_not, links), bars)


def range_of(value: Value | None) -> tuple[float, float] | None:
    """Return the smallest and largest value of a layer's output; None on the CPU, whose values have no limits."""
    if isinstance(value, (FeatureMap, SixteenBitMap)):
        low, high = value.range.ends(value.channels)
        return float(low.min()), float(high.max())
    if isinstance(value, (FixedPoint, FixedMap)):
        return -128.0 * value.scale, 128.0 * value.scale
    return None


def _shares(described: dict[str, Any], cost: Report | None) -> dict[str, float]:
    if cost is not None:
        costs = {row.layer: row.total for row in cost.rows}
    else:
        costs = {row["layer"]: row["pixels"] for row in described["layers"]}
    total = sum(costs.values()) or 1
    return {name: cost / total for name, cost in costs.items() if cost}


def _box(node: Node, bundle: Bundle, rows: dict[str, Any], shares: dict[str, float], links: dict[str, str]) -> Box:
    row = rows.get(node.name)
    shape = sides(bundle.graph.shapes[node.name])
    if node.operator.is_input:
        colour, storage = "input", ""
    elif row is None:
        colour, storage = "input", "uploaded to the GPU"
    elif row["stored"].startswith("CPU"):
        colour, storage = "cpu", row["stored"]
    elif row["passes"]:
        colour, storage = "shader", f"{row['passes']} pass{'es' * (row['passes'] > 1)}, {row['stored']}"
    else:
        colour, storage = "renamed", row["stored"]
    share = shares.get(node.name)
    return Box(
        node.name, node.inputs, node.name, (f"{node.op} {shape}", storage), colour, share, links.get(node.name, "")
    )


def _tables(
    described: dict[str, Any], bundle: Bundle, cost: Report | None, why_not: str, links: dict[str, str]
) -> list[Table]:
    columns = ["layer", "operator", "shape", "stored", "range", "passes", "programs", "pixels", "weights", "inputs"]
    costs = {} if cost is None else {row.layer: row for row in cost.rows}
    if costs:
        columns[-1:-1] = ["instructions a pixel", "fetches", "million", "ms, Pi Zero W"]
    rows = []
    for layer in described["layers"]:
        bounds = range_of(bundle.values.get(layer["layer"])) if layer["textures"] else None
        cells = [
            layer["layer"], layer["op"], sides(layer["shape"]), layer["stored"],
            "" if bounds is None else f"{bounds[0]:.5g} to {bounds[1]:.5g}", layer["passes"], layer["programs"],
            f"{layer['pixels']:,}", f"{layer['weights']:,}",
        ]  # fmt: skip
        if costs:
            cells += _cost_cells(costs.get(layer["layer"]))
        rows.append(Row((*cells, ", ".join(layer["inputs"])), links[layer["layer"]]))
    note = why_not or (f"Costs by {cost.driver}; docs/engineering/videocore.md explains them." if cost else "")
    passes = [
        Row((index, row["layer"], row["program"], row["target"] + (" (cleared)" if row["clear"] else ""),
             row["quads"], f"{row['pixels']:,}", ", ".join(row["textures"])))
        for index, row in enumerate(described["passes"])
    ]  # fmt: skip
    names = ("pass", "layer", "program", "target", "rectangles", "pixels", "textures*")
    return [
        Table("Layers", tuple(columns), tuple(rows), _TEXTS, note),
        Table("Passes", names, tuple(passes), _TEXTS),
    ]


def _cost_cells(row: Any) -> list[str]:
    from glsl_infer.tools.videocore.estimate import BOARDS, layer_ms

    if row is None:
        return ["", "", "", ""]
    return [str(row.instructions), str(row.fetches), f"{row.total / 1e6:.2f}", f"{layer_ms(row, BOARDS[0]):.2f}"]
