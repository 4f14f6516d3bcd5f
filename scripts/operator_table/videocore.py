"""What operators take on a VideoCore IV, by Mesa's compiler: instructions for a pixel that they draw, and a floor.

``videocore.json`` beside this module has the numbers; ``scripts/operators.py`` writes them where it finds the driver.
An operator's numbers are of the layers in the rows' bundles that have it: of the one with the fewest instructions.

The floor has for each texel two instructions for its coordinates and one for each of its four lanes (a multiplication
for each weight where it is a convolution), and four that pack the result. A QPU does two operations in an instruction
where they fit; a function of a number, such as an exponential, is none of the floor.
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
"""What draws in place of operators that draw nothing themselves."""

LANES = 4
"""Of a texel, and of what is packed."""


def floor_of(row: Row) -> float:
    """Return the least instructions for a pixel of a layer's draws."""
    arithmetic = row.products if row.products is not None else LANES * row.fetched
    return (arithmetic + COORDINATES * row.fetched) / row.pixels + LANES


def measured(bundles: Iterable[Path], driver: Driver) -> dict[str, dict[str, object]]:
    """Return what each operator of some bundles takes: ``instructions``, ``floor``, ``threads``, and ``layer``."""
    best: dict[str, dict[str, object]] = {}
    for path in bundles:
        found = report(*measure(path, driver), str(path))
        for row in found.rows:
            if row.failed:
                raise SystemExit(f"{path.name}: layer '{row.layer}' ({row.op}) does not compile for VideoCore IV")
            numbers: dict[str, object] = {
                "instructions": round(row.total / row.pixels, 1),
                "floor": round(floor_of(row), 1),
                "threads": row.threads if row.fetches else 2,
                "layer": f"{path.stem}: {row.layer}",
            }
            known = best.setdefault(row.op, numbers)
            if (numbers["threads"], -row.total / row.pixels) > (known["threads"], -float(str(known["instructions"]))):
                best[row.op] = numbers
    return dict(sorted(best.items()))


def written() -> Mapping[str, Mapping[str, object]]:
    """Return the numbers as they are in the file."""
    numbers: Mapping[str, Mapping[str, object]] = json.loads(NUMBERS.read_text("utf-8"))
    return numbers


def write(numbers: Mapping[str, Mapping[str, object]]) -> None:
    """Write them."""
    NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")


def cell(operators: Iterable[str]) -> str:
    """Return the page's words on some operators: instructions/floor of each that draws."""
    numbers = written()
    names = [stage for name in operators for stage in STAGES.get(name, (name,))]
    known = [numbers[name] for name in names if name in numbers]
    return ",".join(f"{one['instructions']:g}/{one['floor']:g}" for one in known)
