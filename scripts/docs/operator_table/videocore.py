"""Cost of operators on a VideoCore IV, by Mesa's compiler: instructions for a drawn pixel, and a lower bound.

``videocore.json`` in this folder has the results; ``scripts/docs/operators.py`` writes them if the driver is installed.
The cost of an operator is that of its cheapest layer, by instructions, in the rows' bundles.

For each texel, the bound counts two instructions for its coordinates and one for each of its four lanes (in a
convolution, a multiplication for each weight). Four more pack the result. A QPU does up to two operations in an
instruction. Functions of a value, such as an exponential, are not part of the bound.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from glsl_infer.tools.videocore.driver import Driver
from glsl_infer.tools.videocore.floor import COORDINATES
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import Row, report

NUMBERS = Path(__file__).with_name("videocore.json")

STAGES = {"dense": ("dense_at_once", "dense_products", "dense_sum")}
"""Operators that draw in place of operators without draws."""

LANES = 4
"""Number of lanes of a texel and of a packed result."""


def floor_of(row: Row) -> float:
    """Return the lower bound of instructions for a pixel of a layer's draws."""
    arithmetic = row.products if row.products is not None else LANES * row.fetched
    return (arithmetic + COORDINATES * row.fetched) / row.pixels + LANES


def measured(bundles: Iterable[Path], driver: Driver) -> dict[str, dict[str, object]]:
    """Return the cost of each operator of some bundles: ``instructions``, ``floor``, ``threads``, and ``layer``."""
    best: dict[str, dict[str, object]] = {}
    for path in bundles:
        measured_report = report(*measure(path, driver), str(path))
        for row in measured_report.rows:
            if row.failed:
                raise SystemExit(f"{path.name}: layer '{row.layer}' ({row.op}) does not compile for VideoCore IV")
            result: dict[str, object] = {
                "instructions": round(row.total / row.pixels, 1),
                "floor": round(floor_of(row), 1),
                "threads": row.threads if row.fetches else 2,
                "layer": f"{path.stem}: {row.layer}",
            }
            best_so_far = best.setdefault(row.op, result)
            if (result["threads"], -row.total / row.pixels) > (
                best_so_far["threads"],
                -float(str(best_so_far["instructions"])),
            ):
                best[row.op] = result
    return dict(sorted(best.items()))


def stored() -> Mapping[str, Mapping[str, object]]:
    """Return the results stored in the file."""
    results: Mapping[str, Mapping[str, object]] = json.loads(NUMBERS.read_text("utf-8"))
    return results


def write(results: Mapping[str, Mapping[str, object]]) -> None:
    """Write the results to the file."""
    NUMBERS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def cell(operators: Iterable[str]) -> str:
    """Return the page's text on some operators: instructions/floor of each that draws."""
    results = stored()
    names = [stage for name in operators for stage in STAGES.get(name, (name,))]
    rows = [results[name] for name in names if name in results]
    return ",".join(f"{row['instructions']:g}/{row['floor']:g}" for row in rows)
