"""Layout of a network as boxes in rows, with positions of the boxes and of the lines between them.

Rows follow from the inputs: a box is below all boxes it reads. Within a row, boxes are as close as possible to the x of
their neighbours in other rows. A line that crosses rows reserves a narrow slot in each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 212.0, 58.0
"""Size of a box in pixels."""

GAP_ACROSS, GAP_DOWN = 24.0, 34.0
"""Pixels between boxes of a row, and between rows."""

SLOT_WIDTH = 6.0
"""Width reserved for a line that crosses a row."""

SLOT_WEIGHT = 0.05
"""Weight of a crossing line relative to a box, so boxes of a chain are in one column and lines run around them."""

MOST_SLOTS = 20_000
"""Largest number of slots for crossing lines. With more, lines run across boxes: such a large page is unreadable
anyway."""

SWEEPS = 8

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """Box of a layer.

    Attributes:
        name: unique in the diagram.
        inputs: names of the boxes whose lines end here.
        title, lines: its texts; the title is printed bold.
        kind: type, which selects the colour; see ``page``.
        share: share of the frame's cost, 0 to 1; None draws no bar.
        link: ID of the page's element that describes it; empty without a link.
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
    """Size of the diagram in pixels, the centre of each box's upper edge, and each line's points from the top."""

    width: float
    height: float
    boxes: tuple[tuple[Box, Point], ...]
    lines: tuple[tuple[Point, ...], ...]


@dataclass
class _Cell:
    """A box, or a slot for a crossing line, in its row."""

    row: int
    width: float
    weight: float
    x: float = 0.0
    above: list[_Cell] = field(default_factory=list)
    below: list[_Cell] = field(default_factory=list)


def arrange(boxes: Sequence[Box]) -> Diagram:
    """Return the layout of a network.

    Args:
        boxes: each after those it reads; unknown names in ``inputs`` are ignored.
    """
    cells, edges = _cells(boxes)
    all_cells = list(cells.values())
    has_slots = sum(cells[end].row - cells[start].row - 1 for start, end in edges) <= MOST_SLOTS
    lines = [_line(cells[start], cells[end], all_cells if has_slots else None) for start, end in edges]
    rows: defaultdict[int, list[_Cell]] = defaultdict(list)
    for cell in all_cells:
        rows[cell.row].append(cell)
    _order([rows[row] for row in sorted(rows)])
    return _drawn(boxes, cells, all_cells, lines)


def _cells(boxes: Sequence[Box]) -> tuple[dict[str, _Cell], list[tuple[str, str]]]:
    """Return a cell for each box, and the distinct connections between boxes."""
    cells: dict[str, _Cell] = {}
    lines: dict[tuple[str, str], None] = {}
    for box in boxes:
        sources = [name for name in dict.fromkeys(box.inputs) if name in cells]
        row = 1 + max((cells[name].row for name in sources), default=-1)
        cells[box.name] = _Cell(row, WIDTH, 1.0)
        lines.update(dict.fromkeys((name, box.name) for name in sources))
    readers: defaultdict[str, list[int]] = defaultdict(list)
    for start, end in lines:
        readers[start].append(cells[end].row)
    reading = {end for _, end in lines}
    for name, below in readers.items():
        if name not in reading:  # a box without inputs goes just above its first reader
            cells[name].row = min(below) - 1
    return cells, list(lines)


def _line(start: _Cell, end: _Cell, corners: list[_Cell] | None) -> list[_Cell]:
    """Return the connected cells of a line; add those in the rows between to ``corners`` unless it is None."""
    between = (
        [_Cell(row, SLOT_WIDTH, SLOT_WEIGHT) for row in range(start.row + 1, end.row)] if corners is not None else []
    )
    cells = [start, *between, end]
    for upper, lower in zip(cells, cells[1:]):
        upper.below.append(lower)
        lower.above.append(upper)
    if corners is not None:
        corners += between
    return cells


def _order(rows: list[list[_Cell]]) -> None:
    """Sort each row in place by the positions of its neighbours, then compute every x."""
    for row in rows:
        _spread(row, range(len(row)))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            targets = {id(cell): _mean_x(cell.above if down else cell.below, cell.x) for cell in row}
            row.sort(key=lambda cell: targets[id(cell)])
            _spread(row, (targets[id(cell)] for cell in row))
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 else reversed(rows):
            _spread(row, [_mean_x([*cell.above, *cell.below], cell.x) for cell in row])


def _mean_x(neighbours: Sequence[_Cell], otherwise: float) -> float:
    weight = sum(cell.weight for cell in neighbours)
    return sum(cell.weight * cell.x for cell in neighbours) / weight if neighbours else otherwise


def _spread(row: Sequence[_Cell], targets: Iterable[float]) -> None:
    """Position a row's cells in their order, as near to the desired x as their widths allow (least squares)."""
    offsets, centre = [], 0.0
    for left, cell in zip([None, *row], row):
        centre += 0.0 if left is None else (left.width + cell.width) / 2 + GAP_ACROSS
        offsets.append(centre)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, cells; touching neighbours are one block
    for cell, x, offset in zip(row, targets, offsets):
        mean, weight, count = x - offset, cell.weight, 1
        while blocks and blocks[-1][0] >= mean:
            other_mean, other_weight, other_count = blocks.pop()
            mean = (mean * weight + other_mean * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        blocks.append((mean, weight, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    for cell, mean, offset in zip(row, means, offsets):
        cell.x = mean + offset


def _drawn(
    boxes: Sequence[Box], cells: dict[str, _Cell], all_cells: Sequence[_Cell], lines: Sequence[Sequence[_Cell]]
) -> Diagram:
    """Return the diagram of positioned cells; ``all_cells`` has the slots of crossing lines as well."""
    left = min((cell.x - cell.width / 2 for cell in all_cells), default=0.0) - GAP_ACROSS
    right = max((cell.x + cell.width / 2 for cell in all_cells), default=0.0) + GAP_ACROSS

    def top(cell: _Cell) -> Point:
        return cell.x - left, GAP_DOWN + cell.row * (HEIGHT + GAP_DOWN)

    def points(line: Sequence[_Cell]) -> tuple[Point, ...]:
        (x, y), between, last = top(line[0]), line[1:-1], top(line[-1])
        middle = [(cx, cy + dy) for cx, cy in map(top, between) for dy in (0.0, HEIGHT)]
        return ((x, y + HEIGHT), *middle, last)

    height = GAP_DOWN + max((1 + cell.row for cell in all_cells), default=0) * (HEIGHT + GAP_DOWN)
    positions = tuple((box, top(cells[box.name])) for box in boxes)
    return Diagram(right - left, height, positions, tuple(points(line) for line in lines))
