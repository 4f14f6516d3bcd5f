"""Reports as text for users, and as rows for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glsl_infer.support import plain_text
from glsl_infer.tools.videocore import estimate
from glsl_infer.tools.videocore.advice import advise, advise_author
from glsl_infer.tools.videocore.report import Report, Row

EMPTY_CELL = "-"
"""Cell of a figure that does not apply."""

MOST_ADVICE = 12

HEADS = (
    *("layer", "passes", "inst", "million", "share", "thr", "unif", "fetch", "i/fetch", "floor", "cycles"),
    *("jobs", "loads", "tiles", "kB", "cmd kB", "est ms"),
)
"""Columns of one bundle's table; docs/engineering/videocore.md explains each."""


def as_text(reports: Sequence[Report], draw_share: float) -> str:
    """Return one bundle's table, totals, estimates and suggested changes, as explained in videocore.md.

    Args:
        reports: reports on the bundle, one from each compiler; each layer has a row for each.
        draw_share: see ``estimate.estimate``.
    """
    several = len(reports) > 1

    def cells(first: str, mesa: str, others: Sequence[str]) -> list[str]:
        return [first, mesa, *others] if several else [first, *others]

    layers = dict.fromkeys(row.layer for report in reports for row in report.rows)
    rows = {
        (report.mesa, row.layer): _cells(row, report.total, draw_share) for report in reports for row in report.rows
    }
    table = [cells(HEADS[0], "mesa", HEADS[1:])]
    for layer in layers:
        table += [cells(layer, mesa, rows[mesa, layer][1:]) for mesa in versions(reports) if (mesa, layer) in rows]
    for report in reports:
        first, *sums = _sums(report, draw_share)
        table.append(cells(first, report.mesa, sums))
    lines = [*(f"{report.file}: {report.driver}" for report in reports), "", *plain_text.aligned(table)]
    for report in reports:
        with_mesa = f" (Mesa {report.mesa})" if several else ""
        lines += ["", *estimates(report, draw_share, with_mesa)]
        advice = advise(report)
        if advice:
            lines += ["", f"advice about shaders{with_mesa}:"]
        for hint in advice[:MOST_ADVICE]:
            saves = f" (up to {hint.saves / 1e6:.1f} million)" if hint.saves else ""
            lines.append(f"  {hint.layer}: {hint.text}{saves}")
        if len(advice) > MOST_ADVICE:
            lines.append(f"  and {len(advice) - MOST_ADVICE} more (--json has all)")
    return "\n".join(map(plain_text.one_line, lines))


def summary(reports: Sequence[Report], draw_share: float) -> str:
    """Return at most ten lines for the author of a network: cost, estimates, and suggested changes.

    Args:
        reports: reports on the bundle, one from each compiler. The first line has the instructions of all, the rest
            describes the last.
        draw_share: see ``estimate.estimate``.
    """
    report, sums = reports[-1], reports[-1].totals
    instructions = ", ".join(f"{of_mesa.totals['total'] / 1e6:.1f} (Mesa {of_mesa.mesa})" for of_mesa in reports)
    lines = [
        f"{report.file}: {sums['passes']} draws in {sums['jobs']} jobs, {sums['programs']} programs, "
        f"million instructions: {instructions}",
        *estimates(report, draw_share),
    ]
    board = estimate.BOARDS[0]
    for hint in advise_author(report, board, draw_share):
        saves = f": saves about {hint.saves} ms" if hint.saves else ""
        lines.append(f"to make it faster, {hint.text}{saves}")
    lines.append("--shaders prints the figures of every layer, and advice about shaders")
    return "\n".join(map(plain_text.one_line, lines))


def versions(reports: Sequence[Report]) -> list[str]:
    """Return the distinct versions of Mesa of the reports."""
    return list(dict.fromkeys(report.mesa for report in reports))


def names(reports: Sequence[Report]) -> list[str]:
    """Return a name for each report, with the file if files differ, and the compiler if compilers do."""
    files = list(dict.fromkeys(report.file for report in reports))
    short = dict(zip(files, distinct(files)))
    several = len(versions(reports)) > 1
    return [f"{short[report.file]}{f', Mesa {report.mesa}' if several else ''}" for report in reports]


def estimates(report: Report, draw_share: float, compiler: str = "") -> list[str]:
    """Return a line for each board; the compiler's name follows the board's."""
    lines = []
    for board in estimate.BOARDS:
        times = estimate.estimate(report, board, draw_share)
        cache = estimate.INSTRUCTION_CACHE // 1024
        added = f"; programs of more than {cache} kB can add {times.streamed:.0f} ms" if times.streamed >= 0.5 else ""
        spread = f"{times.low:.0f} to {times.high:.0f} ms, depending on the cost of draws and jobs"
        lines.append(
            f"estimate for {board.name} ({board.clock / 1e6:.0f} MHz){compiler}: {times.total:.0f} ms a frame "
            f"({spread}), {times.gpu:.1f} ms of it computing{added}"
        )
    return lines


def side_by_side(reports: Sequence[Report], draw_share: float) -> str:
    """Return a table for each compiler: instructions and cycles of a pass, and million of a frame, for each bundle."""
    tables = []
    for mesa in versions(reports):
        of_compiler = [report for report in reports if report.mesa == mesa]
        head = [of_compiler[0].driver] if len(versions(reports)) > 1 else []
        tables.append("\n".join([*head, _side_by_side(of_compiler, draw_share)]))
    return "\n\n".join(tables)


def _side_by_side(reports: Sequence[Report], draw_share: float) -> str:
    layers = list(dict.fromkeys(row.layer for report in reports for row in report.rows))
    titles = names(reports)
    rows: list[Sequence[str]] = [
        ["layer", *(cell for name in titles for cell in (name, "", "")), *(["change"] * (len(reports) - 1))],
        ["", *(["inst", "cycles", "million"] * len(reports)), *titles[1:]],
    ]
    for layer in layers:
        layer_rows = [next((row for row in report.rows if row.layer == layer), None) for report in reports]
        cells = [layer]
        for row in layer_rows:
            cells += [EMPTY_CELL] * 3 if row is None else _cells_of_bundle(row)
        rows.append(cells + [_change(layer_rows[0], row) for row in layer_rows[1:]])
    totals = [report.total for report in reports]
    rows.append(
        ["total", *(cell for total in totals for cell in ("", "", f"{total / 1e6:.1f}"))]
        + [_percent(totals[0], total) for total in totals[1:]]
    )
    lines = plain_text.aligned(rows)
    for name, report in zip(titles, reports):
        sums = report.totals
        lines += [
            "",
            f"{name}: {sums['passes']} passes, {sums['programs']} programs, {sums['jobs']} jobs, {sums['loads']} loads "
            f"of the tile buffer, {sums['tiles']} tiles",
            *estimates(report, draw_share),
        ]
    return "\n".join(map(plain_text.one_line, lines))


def as_csv(reports: Sequence[Report], draw_share: float) -> str:
    """Return a row with all figures for each layer of each bundle; a figure that does not apply is empty."""
    text = io.StringIO()
    writer: Any = None
    for report in reports:
        for row in report.rows:
            figures = {
                "file": report.file,
                "mesa": report.mesa,
                **vars(row),
                "per_fetch": row.per_fetch,
                "floor_per_fetch": row.floor_per_fetch,
                **{
                    f"estimated_ms_{board.clock / 1e6:.0f}mhz": estimate.layer_ms(row, board, draw_share)
                    for board in estimate.BOARDS
                },
            }
            if writer is None:
                writer = csv.DictWriter(text, list(figures), lineterminator="\n")
                writer.writeheader()
            writer.writerow({key: plain_text.cell(value) for key, value in figures.items()})
    return text.getvalue().rstrip("\n")


def distinct(files: Sequence[str]) -> list[str]:
    """Return distinct names of files: without folder and suffix if those differ."""
    stems = [Path(file).stem for file in files]
    return stems if len(set(stems)) == len(stems) else list(files)


def _cells(row: Row, total: int, draw_share: float) -> list[str]:
    measured = row.instructions > 0
    return [
        row.layer,
        str(row.passes),
        _span(row),
        f"{row.total / 1e6:.2f}" if measured else EMPTY_CELL,
        f"{row.total / total:.1%}" if measured else EMPTY_CELL,
        str(row.threads) if measured else EMPTY_CELL,
        str(row.uniforms) if measured else EMPTY_CELL,
        str(row.fetches) if measured else EMPTY_CELL,
        EMPTY_CELL if row.per_fetch is None else f"{row.per_fetch:.1f}",
        EMPTY_CELL if row.floor_per_fetch is None else f"{row.floor_per_fetch:.1f}",
        str(row.cycles) if measured else EMPTY_CELL,
        str(row.jobs),
        str(row.loads),
        str(row.tiles),
        f"{row.texture_bytes / 1e3:.1f}",
        f"{row.command_bytes / 1e3:.1f}",
        f"{estimate.layer_ms(row, estimate.BOARDS[0], draw_share):.1f}" if measured else EMPTY_CELL,
    ]


def _cells_of_bundle(row: Row) -> list[str]:
    """Return the cells of a layer in a table of several bundles."""
    if not row.instructions:
        return [EMPTY_CELL] * 3
    return [_span(row), str(row.cycles), f"{row.total / 1e6:.2f}"]


def _sums(report: Report, draw_share: float) -> list[str]:
    sums = report.totals
    fetched = sums["fetched"]
    return [
        "total",
        str(sums["passes"]),
        "",
        f"{sums['total'] / 1e6:.1f}",
        "",
        "",
        "",
        "",
        f"{sums['total'] / fetched:.1f}" if fetched else EMPTY_CELL,
        "",
        "",
        str(sums["jobs"]),
        str(sums["loads"]),
        str(sums["tiles"]),
        f"{sums['texture_bytes'] / 1e3:.1f}",
        f"{sums['command_bytes'] / 1e3:.1f}",
        f"{estimate.estimate(report, estimate.BOARDS[0], draw_share).total:.1f}",
    ]


def _span(row: Row) -> str:
    if not row.instructions:
        return EMPTY_CELL
    return str(row.instructions) if row.least == row.instructions else f"{row.least}-{row.instructions}"


def _change(before: Row | None, after: Row | None) -> str:
    return EMPTY_CELL if before is None or after is None else _percent(before.total, after.total)


def _percent(before: int, after: int) -> str:
    return f"{after / before - 1.0:+.1%}" if before else EMPTY_CELL
