"""The text of docs/engineering/accuracy.md, from the results of scripts/accuracy.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accuracy_sections.common import BOUNDS
from accuracy_sections.page_networks import amplification, mobilenet, networks, superres, textbook
from accuracy_sections.table import table

NAMES = {"float": "float32 Keras", "exact": "exact reference", "gpu": "GPU"}

HEAD = """# Accuracy

`python scripts/accuracy.py` (after `scripts/get-data trashnet data/trashnet`) measures these numbers and writes this
page. `docs/engineering/accuracy/` has the numbers of every layer. Measured on {machines}.

*Worst* is the largest distance between a stored value and the float64 value before rounding, in steps. A step is 1/255
of the range of a feature map, or scale/256 for 16-bit values. Perfect rounding has 0.5. The limit is {bound}.
"""

LAYERS = """
## Layer by layer

X22 at 385x385 with random weights, {layers} layers, each computed from the exact reference's values. Worst:
**{worst:.4f}**. {differing:,} of {values:,} stored values differ from the reference's.
"""

END_TO_END = """
## End to end

`{bundle}` on the {photographs} photographs of trashnet's test split, against float32 Keras: errors of logits, minus
their mean over the classes. Their standard deviation is {spread:.2f}.

{errors}

The limit of both ratios is {ratio}. The GPU has the first label of Keras on **{same} of {photographs}** photographs
(limit: {agree}).
Top-1 accuracy: {top1}.
"""

DRIVERS = """
## Every operator on three drivers

{networks:,} random networks (`tests/gl/random_networks.py`) of {kinds} kinds, on {drivers}. Every layer reads random
stored values. Networks whose sums are too large for 32-bit floats are left out. Worst: **{worst:.4f}**.

{table}
"""

COUNTS = """
## Draws of a frame

X22 at 385x385: baked and uniform weights give {same} in both layouts. {frames}.
"""


def layers(numbers: dict[str, Any]) -> str:
    """Return the section on X22's layers."""
    rows = numbers["rows"]
    return LAYERS.format(
        layers=len(rows),
        worst=numbers["worst"],
        differing=sum(row["differing"] for row in rows),
        values=sum(row["values"] for row in rows),
    )


def end_to_end(numbers: dict[str, Any]) -> str:
    """Return the section on the trained model."""
    errors = [
        [NAMES[key], f"{error['mean']:.4f}", f"{error['largest']:.4f}"] for key, error in numbers["errors"].items()
    ] + [["GPU / exact reference", f"{numbers['ratios']['mean']:.3f}", f"{numbers['ratios']['largest']:.3f}"]]
    return END_TO_END.format(
        bundle=numbers["bundle"],
        photographs=numbers["photographs"],
        spread=numbers["spread"],
        errors=table(["", "mean", "largest"], errors),
        ratio=BOUNDS["ratio"],
        same=numbers["same_top1"],
        agree=BOUNDS["same_top1"],
        top1=", ".join(f"{name} {100 * numbers['top1'][key]:.2f} %" for key, name in NAMES.items()),
    )


def drivers(numbers: dict[str, Any]) -> str:
    """Return the section on random networks."""
    all_of = numbers["drivers"]
    first = next(iter(all_of.values()))
    kinds: dict[str, list[str]] = {}
    for operator in sorted(first["operators"]):
        kinds.setdefault(operator.partition(",")[0], []).append(operator)
    worst: dict[str, list[str]] = {}
    for kind, members in kinds.items():
        largest = max(run["operators"][operator]["worst"] for run in all_of.values() for operator in members)
        worst.setdefault(f"{largest:.4f}", []).append(kind)
    return DRIVERS.format(
        kinds=first["kinds"],
        networks=first["cases"] * first["kinds"],
        drivers=", ".join(all_of),
        table=table(
            ["worst", "operators"], [[error, ", ".join(worst[error])] for error in sorted(worst, reverse=True)]
        ),
        worst=numbers["worst"],
    )


def counts(numbers: dict[str, Any]) -> str:
    """Return the section on the cost of a frame."""
    frames = [
        f"{row['layout']}: {row['passes']:,} passes, {row['jobs']:,} jobs, {row['gl_calls']:,} GL calls"
        for row in numbers["rows"]
        if row["weights"] == "uniform"
    ]
    return COUNTS.format(
        same="the same logits, bit for bit," if numbers["same_logits"] else "**different logits**",
        frames="; ".join(frames).capitalize().replace("gl calls", "GL calls"),
    )


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "layers": layers,
    "end_to_end": end_to_end,
    "drivers": drivers,
    "counts": counts,
    "mobilenet": mobilenet,
    "networks": networks,
    "textbook": textbook,
    "superres": superres,
    "amplification": amplification,
}
"""The sections in order of appearance, with the function that writes each."""


def page(numbers: dict[str, dict[str, Any]]) -> str:
    """Return the page with all sections."""
    machines = "; ".join(dict.fromkeys(numbers[key]["machine"] for key in SECTIONS))
    parts = [HEAD.format(machines=machines, bound=BOUNDS["layer"])]
    return "".join([*parts, *(write(numbers[key]) for key, write in SECTIONS.items())])
