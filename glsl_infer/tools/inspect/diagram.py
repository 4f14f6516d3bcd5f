"""A network as boxes in rows: where each box stands and how the lines between them run.

Rows follow from the inputs: a box stands below all that it reads. Within a row, boxes stand where those that they are
joined to stand, as far as neighbours leave room. A line that passes rows keeps a narrow place free in each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 212.0, 58.0
"""Of a box, in pixels."""

APART, BELOW = 24.0, 34.0
"""Pixels between boxes of a row, and between rows."""

PLACE = 6.0
"""Width that a passing line keeps free."""

LIGHT = 0.05
"""How much a passing line counts beside a box: boxes of a chain stand below one another, and lines pass beside them."""

MOST_PLACES = 20_000
"""Beyond so many places of passing lines, lines run across boxes: a page of that size nobody reads."""

SWEEPS = 8

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """What is drawn of a layer.

    Attributes:
        name: unique in the diagram.
        inputs: the boxes whose lines end here.
        title, lines: its texts; the title is printed bold.
        kind: how it is coloured; see ``page``.
        share: of the frame's cost, 0 to 1; None draws no bar.
        link: id of the element of the page that describes it; empty where there is none.
    """

    name: str
    inputs: tuple[str, ...]
    title: str
    lines: tuple[str, ...]
    kind: str
    share: float | None = None
    link: str = ""


@dataclass(frozen=True)
class Diagram:
    """The picture's size in pixels, the middle of each box's upper edge, and each line's points, from above."""

    width: float
    height: float
    boxes: tuple[tuple[Box, Point], ...]
    lines: tuple[tuple[Point, ...], ...]


@dataclass
class _Cell:
    """A box, or the place of a passing line, in its row."""

    row: int
    width: float
    weight: float
    x: float = 0.0
    above: list[_Cell] = field(default_factory=list)
    below: list[_Cell] = field(default_factory=list)


def arrange(boxes: Sequence[Box]) -> Diagram:
    """Return where everything stands.

    Args:
        boxes: each behind those that it reads; what ``inputs`` names besides is left out.
    """
    cells, joined = _cells(boxes)
    every = list(cells.values())
    room = sum(cells[end].row - cells[start].row - 1 for start, end in joined) <= MOST_PLACES
    lines = [_line(cells[start], cells[end], every if room else None) for start, end in joined]
    rows: defaultdict[int, list[_Cell]] = defaultdict(list)
    for cell in every:
        rows[cell.row].append(cell)
    _order([rows[row] for row in sorted(rows)])
    return _drawn(boxes, cells, every, lines)


def _cells(boxes: Sequence[Box]) -> tuple[dict[str, _Cell], list[tuple[str, str]]]:
    """Return a cell for each box, and which boxes are joined, each pair once."""
    cells: dict[str, _Cell] = {}
    joined: dict[tuple[str, str], None] = {}
    for box in boxes:
        sources = [name for name in dict.fromkeys(box.inputs) if name in cells]
        row = 1 + max((cells[name].row for name in sources), default=-1)
        cells[box.name] = _Cell(row, WIDTH, 1.0)
        joined.update(dict.fromkeys((name, box.name) for name in sources))
    readers: defaultdict[str, list[int]] = defaultdict(list)
    for start, end in joined:
        readers[start].append(cells[end].row)
    reading = {end for _, end in joined}
    for name, below in readers.items():
        if name not in reading:  # what reads nothing stands just above its first reader
            cells[name].row = min(below) - 1
    return cells, list(joined)


def _line(start: _Cell, end: _Cell, places: list[_Cell] | None) -> list[_Cell]:
    """Return the cells of a line, and join them; ``places``, where there is room, gets those in the rows between."""
    between = [_Cell(row, PLACE, LIGHT) for row in range(start.row + 1, end.row)] if places is not None else []
    cells = [start, *between, end]
    for upper, lower in zip(cells, cells[1:]):
        upper.below.append(lower)
        lower.above.append(upper)
    if places is not None:
        places += between
    return cells


def _order(rows: list[list[_Cell]]) -> None:
    """Sort each row, in place, by where its neighbours stand, then give every cell its x."""
    for row in rows:
        _spread(row, range(len(row)))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            wanted = {id(cell): _wanted(cell.above if down else cell.below, cell.x) for cell in row}
            row.sort(key=lambda cell: wanted[id(cell)])
            _spread(row, (wanted[id(cell)] for cell in row))
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 else reversed(rows):
            _spread(row, [_wanted([*cell.above, *cell.below], cell.x) for cell in row])


def _wanted(neighbours: Sequence[_Cell], otherwise: float) -> float:
    weight = sum(cell.weight for cell in neighbours)
    return sum(cell.weight * cell.x for cell in neighbours) / weight if neighbours else otherwise


def _spread(row: Sequence[_Cell], wanted: Iterable[float]) -> None:
    """Place a row's cells in their order, as near to the wanted x as their widths allow (least squares)."""
    offsets, at = [], 0.0
    for left, cell in zip([None, *row], row):
        at += 0.0 if left is None else (left.width + cell.width) / 2 + APART
        offsets.append(at)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, cells: neighbours that touch are one block
    for cell, x, offset in zip(row, wanted, offsets):
        mean, weight, count = x - offset, cell.weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, heavy, more = blocks.pop()
            mean, weight, count = (mean * weight + other * heavy) / (weight + heavy), weight + heavy, count + more
        blocks.append((mean, weight, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    for cell, mean, offset in zip(row, means, offsets):
        cell.x = mean + offset


def _drawn(
    boxes: Sequence[Box], cells: dict[str, _Cell], every: Sequence[_Cell], lines: Sequence[Sequence[_Cell]]
) -> Diagram:
    left = min((cell.x - cell.width / 2 for cell in every), default=0.0) - APART
    right = max((cell.x + cell.width / 2 for cell in every), default=0.0) + APART

    def top(cell: _Cell) -> Point:
        return cell.x - left, BELOW + cell.row * (HEIGHT + BELOW)

    def points(line: Sequence[_Cell]) -> tuple[Point, ...]:
        (x, y), between, last = top(line[0]), line[1:-1], top(line[-1])
        middle = [(cx, cy + dy) for cx, cy in map(top, between) for dy in (0.0, HEIGHT)]
        return ((x, y + HEIGHT), *middle, last)

    height = BELOW + max((1 + cell.row for cell in every), default=0) * (HEIGHT + BELOW)
    return Diagram(
        right - left, height, tuple((box, top(cells[box.name])) for box in boxes), tuple(points(line) for line in lines)
    )
