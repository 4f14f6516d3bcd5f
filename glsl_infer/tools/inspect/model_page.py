"""Page of a model before its export: its graph, the device of each layer, and all problems that prevent the export."""

from __future__ import annotations

from glsl_infer.graph import Graph
from glsl_infer.importers.core.report import CPU, REFUSED, SHADER, LayerStatus
from glsl_infer.support.plain_text import sides
from glsl_infer.tools.inspect.diagram import Box
from glsl_infer.tools.inspect.layers import NEEDS_PICTURES, Inspected, row_of
from glsl_infer.tools.inspect.page import Row, Table, output_boxes, page

_KINDS = {SHADER: "shader", CPU: "cpu", REFUSED: "refused"}
_TEXTS = frozenset({"layer", "kind", "shape", "runs"})


def model_page(model: Inspected) -> str:
    """Return the page of an inspected model file."""
    links = {row.layer: f"layer-{index}" for index, row in enumerate(model.rows)}
    exports = f"yes; {NEEDS_PICTURES}" if model.needs_pictures else "yes"
    facts = {
        "file": model.path,
        "can be exported": exports if not model.problems else f"no: {len(model.problems)} problems",
        "layers": ", ".join(f"{count} {processor}" for processor, count in model.counts.items()),
    }
    boxes = _without_graph(model, links) if model.graph is None else _boxes(model, model.graph, links)
    problems = [Row((problem,), wrong=True) for problem in model.problems]
    return page(
        model.path,
        facts,
        boxes,
        [
            *([Table("Problems", ("what stops the export*",), tuple(problems))] if problems else []),
            Table(
                "Layers", ("layer", "kind", "shape", "runs", "becomes*"), tuple(_row(row, links) for row in model.rows),
                _TEXTS,
            ),
        ],
    )  # fmt: skip


def _boxes(model: Inspected, graph: Graph, links: dict[str, str]) -> list[Box]:
    rows = {row.layer: row for row in model.rows}
    boxes = []
    for node in graph.nodes:
        row = rows.get(row_of(node.name, model.rows))
        colour = "shader" if row is None else _KINDS.get(row.runs, "renamed")
        if node.operator.is_input and colour != "refused":
            colour = "input"
        lines = (f"{node.op} {sides(graph.shapes[node.name])}", "" if row is None else f"{row.kind}: {row.runs}")
        boxes.append(
            Box(node.name, node.inputs, node.name, lines, colour, None, "" if row is None else links[row.layer])
        )
    return [*boxes, *output_boxes(graph, {box.name for box in boxes})]


def _without_graph(model: Inspected, links: dict[str, str]) -> list[Box]:
    """Return the layers in one column, for a model whose connections are unknown."""
    boxes: list[Box] = []
    for row in model.rows:
        lines = (f"{row.kind} {sides(row.shape)}", row.runs)
        boxes.append(Box(row.layer, (), row.layer, lines, _KINDS.get(row.runs, "renamed"), None, links[row.layer]))
    return boxes


def _row(row: LayerStatus, links: dict[str, str]) -> Row:
    advice = f"; {row.advice}" if row.problem and row.advice else ""
    becomes = f"{row.problem}{advice}" or row.note or ", ".join(dict.fromkeys(row.operators))
    return Row((row.layer, row.kind, sides(row.shape), row.runs, becomes), links[row.layer], row.runs == REFUSED)
