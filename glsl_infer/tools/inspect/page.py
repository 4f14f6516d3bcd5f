"""Page of a network as one HTML file: its graph as SVG, and tables. No scripts, no external files, all text escaped."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from glsl_infer.graph import Graph
from glsl_infer.support.plain_text import one_line, sides
from glsl_infer.tools.inspect.diagram import HEIGHT, WIDTH, Box, Diagram, Point, arrange

COLOURS = {
    "input": ("#d9e8fb", "input"),
    "shader": ("#dff3e4", "fragment shader"),
    "renamed": ("#f1f1f1", "draws nothing: renames, or is folded into another layer"),
    "cpu": ("#fff0cf", "CPU"),
    "refused": ("#fbd5d5", "refused"),
    "output": ("#e9defa", "output"),
}
"""Kinds of boxes: their colour and their label in the legend."""

LONG = 30
"""Largest number of characters of a line in a box."""

_STYLE = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; }}
table {{ border-collapse: collapse; margin: .5rem 0 1.5rem; }}
th, td {{ padding: .15rem .9rem .15rem 0; text-align: right; vertical-align: top; white-space: nowrap; }}
th {{ border-bottom: 1px solid #999; position: sticky; top: 0; background: #fff; }}
td.text, th.text {{ text-align: left; }} td.long, th.long {{ text-align: left; }}
td.long {{ white-space: normal; max-width: 60rem; overflow-wrap: anywhere; }}
tr:target {{ background: #ffef9e; }} tr.wrong td {{ color: #b00; }}
.graph {{ overflow: auto; max-height: 85vh; border: 1px solid #ccc; }}
.legend span {{ display: inline-block; margin-right: 1.2rem; }}
.legend i {{ display: inline-block; width: .9rem; height: .9rem; border: 1px solid #888; margin-right: .3rem; }}
svg text {{ font: 11px ui-monospace, monospace; fill: #222; }} svg text.title {{ font-weight: bold; }}
svg rect.box {{ stroke: #777; }} svg a:hover rect.box {{ stroke: #000; stroke-width: 2; }}
svg path {{ fill: none; stroke: #999; }} svg rect.bar {{ fill: #c60; }}
{"".join(f".{css_class} {{ fill: {colour}; background: {colour}; }} " for css_class, (colour, _) in COLOURS.items())}
"""


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells, the ID for links from boxes, and whether it is marked as an error."""

    cells: tuple[object, ...]
    identity: str = ""
    wrong: bool = False


@dataclass(frozen=True)
class Table:
    """A table with a heading. Columns of ``texts`` are left-aligned; cells of names that end in ``*`` wrap."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    texts: frozenset[str] = frozenset()
    note: str = ""


def page(title: str, facts: Mapping[str, object], boxes: Sequence[Box], tables: Iterable[Table], bars: str = "") -> str:
    """Return the page.

    Args:
        title: title of the page.
        facts: values at its top, by name.
        boxes: the graph; each box after those it reads.
        tables: tables below the graph.
        bars: meaning of the bars in the boxes; empty without bars.
    """
    rows = "".join(f"<tr><td class=text>{_text(key)}</td><td class=long>{_text(facts[key])}</td></tr>" for key in facts)
    kinds = [css_class for css_class in COLOURS if any(box.kind == css_class for box in boxes)]
    legend = "".join(f"<span><i class={css_class}></i>{COLOURS[css_class][1]}</span>" for css_class in kinds)
    return "\n".join(
        [
            f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{_text(title)}</title>",
            f"<style>{_STYLE}</style>",
            f"<h1>{_text(title)}</h1>",
            f"<table>{rows}</table>",
            f"<h2>Graph</h2>\n<p class=legend>{legend}{_text(bars)}</p>",
            f"<div class=graph>{_svg(arrange(boxes))}</div>",
            *map(_table, tables),
            "</html>\n",
        ]
    )


def output_boxes(graph: Graph, names: Collection[str]) -> list[Box]:
    """Return the boxes of a graph's outputs, with other names than those of its layers."""
    boxes, used = list[Box](), {*names}
    for output in graph.outputs:
        name = output.name
        while name in used:
            name += " "
        used.add(name)
        steps = ", ".join(step.step for step in output.steps)
        lines = (f"{graph.purpose(output)} {sides(graph.shape_of(output))}", steps and f"CPU: {steps}")
        boxes.append(Box(name, output.layers, output.name, lines, "output"))
    return boxes


def _svg(diagram: Diagram) -> str:
    lines = "".join(f'<path d="{_path(points)}"/>' for points in diagram.lines)
    boxes = "\n".join(_box(box, corner) for box, corner in diagram.boxes)
    size = f'width="{diagram.width:.0f}" height="{diagram.height:.0f}"'
    return f"<svg {size} role=img aria-label=graph>{lines}\n{boxes}</svg>"


def _path(points: Sequence[Point]) -> str:
    """Return a line through points that enters and leaves them vertically."""
    (x, y), remaining = points[0], points[1:]
    path = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in remaining:
        middle = (y + to_y) / 2
        curve = f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        path.append(f"V{to_y:.1f}" if abs(to_x - x) < 0.05 else curve)
        x, y = to_x, to_y
    return "".join(path)


def _box(box: Box, corner: Point) -> str:
    x, y = corner[0] - WIDTH / 2, corner[1]
    tooltip = "\n".join((box.title, *box.lines))
    texts = [
        f'<text{" class=title" if index == 0 else ""} x="{x + 8:.1f}" y="{y + 16 + 15 * index:.1f}">'
        f"{_text(_short(line))}</text>"
        for index, line in enumerate((box.title, *box.lines))
    ]
    bar = (
        ""
        if box.share is None
        else f'<rect class=bar x="{x:.1f}" y="{y + HEIGHT - 3:.1f}" width="{WIDTH * box.share:.1f}" height="3"/>'
    )
    drawn = (
        f'<title>{_text(tooltip)}</title><rect class="box {box.kind}" x="{x:.1f}" y="{y:.1f}" width="{WIDTH:.0f}" '
        f'height="{HEIGHT:.0f}" rx="4"/>{bar}{"".join(texts)}'
    )
    return f'<a href="#{_text(box.link)}">{drawn}</a>' if box.link else f"<g>{drawn}</g>"


def _short(line: str) -> str:
    return line if len(line) <= LONG else f"{line[: LONG - 1]}…"


def _table(table: Table) -> str:
    def kind(column: str) -> str:
        return " class=long" if column.endswith("*") else " class=text" if column in table.texts else ""

    head = "".join(f"<th{kind(name)}>{_text(name.rstrip('*'))}</th>" for name in table.columns)
    rows = "\n".join(
        f"<tr{f' id={row.identity}' if row.identity else ''}{' class=wrong' if row.wrong else ''}>"
        + "".join(f"<td{kind(name)}>{_text(cell)}</td>" for name, cell in zip(table.columns, row.cells))
        + "</tr>"
        for row in table.rows
    )
    note = f"<p>{_text(table.note)}</p>" if table.note else ""
    return (
        f"<h2>{_text(table.heading)}</h2>{note}\n<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    )


def _text(value: object) -> str:
    """Return a value as escaped text; control and bidirectional characters are shown as escapes."""
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return html.escape("\n".join(map(one_line, text.split("\n"))))
