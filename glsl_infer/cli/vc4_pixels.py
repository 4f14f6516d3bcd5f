"""``glsl-infer vc4 --pixels``: results of a virtual VideoCore IV for a model, compared with the exact reference."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from glsl_infer.cli.terminal_text import print_result, say_warning

if TYPE_CHECKING:
    from glsl_infer.tools.videocore.driver import Driver
    from glsl_infer.tools.videocore.pixels import Pixels

_LOST_FLAGS = "the driver's code uses flags that a thread switch loses; docs/engineering/videocore.md describes this"


def run(args: argparse.Namespace, compilers: Sequence[Driver]) -> int:
    """Draw every model in both roundings, with each compiler, and print the differences from the reference.

    Raises:
        InputError, RunError: as in ``pixels.compare``.
    """
    from glsl_infer.tools.videocore import executor
    from glsl_infer.tools.videocore.pixels import compare

    chips = [executor.find(driver) for driver in compilers]
    drawn = [(path, chip.driver.version, compare(path, chip, args.picture)) for path in args.models for chip in chips]
    titles = [f"{path} (Mesa {mesa})" if len(chips) > 1 else str(path) for path, mesa, _ in drawn]
    for title, (_, _, both) in zip(titles, drawn):
        if any(pixels.counters["lost_flags"] for pixels in both):
            say_warning(f"{title}: {_LOST_FLAGS}")
    data = [
        {"file": str(path), "mesa": mesa, "roundings": [pixels.as_json() for pixels in both]}
        for path, mesa, both in drawn
    ]
    tables = "\n\n".join("\n".join(lines(title, both)) for title, (_, _, both) in zip(titles, drawn))
    print_result(args, {"bundles": data}, tables.split("\n"))
    return 0


def lines(title: str, both: Sequence[Pixels]) -> Iterator[str]:
    """Yield the table of one model: a row for each layer, a sum, and a row for each image."""
    yield f"{title}: bytes that differ from the exact reference, each layer alone on exact inputs"
    yield ""
    yield f"{'':34s}" + "".join(f"{pixels.rounding:>34s}" for pixels in both)
    yield f"{'layer':24s}{'values':>10s}" + f"{'differ':>14s}{'worst':>8s}{'mean':>12s}" * len(both)
    for rows in zip(*(pixels.layers for pixels in both)):
        figures = "".join(f"{row.differing:14d}{row.worst:8g}{row.mean:+12.6f}" for row in rows)
        yield f"{rows[0].layer:24s}{rows[0].values:10d}{figures}"
    yield f"{'all':24s}{both[0].values:10d}" + "".join(
        f"{pixels.differing:14d}{pixels.worst:8g}{'':12s}" for pixels in both
    )
    yield ""
    yield f"whole frames: how many of the output's numbers differ, and the largest difference{_top_heading(both[0])}"
    for rows in zip(*(pixels.pictures for pixels in both)):
        figures = "".join(f"{row.differing:14d}{row.worst:8.3g}{_top(row.same_top):>12s}" for row in rows)
        yield f"{rows[0].picture[-24:]:24s}{rows[0].values:10d}{figures}"


def _top_heading(pixels: Pixels) -> str:
    return "; whether the first label is the same" if pixels.pictures[0].same_top is not None else ""


def _top(same: bool | None) -> str:
    return "" if same is None else "same" if same else "OTHER"
