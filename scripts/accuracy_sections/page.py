"""The text of docs/accuracy.md, from the numbers of scripts/accuracy.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accuracy_sections.common import BOUNDS
from accuracy_sections.page_networks import amplification, mobilenet, superres, textbook
from accuracy_sections.table import table

NAMES = {"float": "float32 Keras", "exact": "exact reference", "gpu": "GPU"}

HEAD = """# Accuracy

Written by `python scripts/accuracy.py` (after `scripts/get-data trashnet data/trashnet`) from the numbers in
`docs/accuracy/`; run it again to check every number on your machine. Measured on {machines}.

*Worst* is always the largest |stored - y| in steps of the stored format (1/255 of its range for feature maps, scale/256
for 16-bit values), y being the float64 value before rounding. 0.5 is perfect rounding; ties may go either way, and
float32 sums differ from float64 ones a little. Bound: {bound}.
"""

LAYERS = """
## Layer by layer

X22 at 385x385 with seeded random weights (batch norm statistics measured on the probe's picture). Each layer is fed
with the exact reference's own input, so that only its own error shows. *levels* is how many different values the
layer's output takes, *differing* how many stored values are not the reference's.

{table}

Worst of all: **{worst:.4f}**.
"""

END_TO_END = """
## End to end

`{bundle}` on {photographs} photographs of trashnet's test split, evenly spaced. Compared are the logits minus their
mean over the classes. Their standard deviation over the photographs is {spread:.2f}; at least {least:g} is asked for,
so that the comparison says something. Errors against float32 Keras:

{errors}

Bound of both ratios: {ratio}. The GPU's first label is Keras' on **{same} of {photographs}** (at least {agree}).

Top-1 accuracy on the whole test split ({count} photographs):

{top1}

GPU and Keras agree on the first label of {agreement:.2f} % of them.
"""

DRIVERS = """
## Every operator on three drivers

{cases} random networks of each of {kinds} kinds ({networks:,} on each driver, the same ones on all): random shapes,
kernels, strides, groups, paddings, activations and ranges of the picture, any layout and weights mode, ranges
calibrated on random pictures. Networks of which a layer amplifies what it reads ten thousand times and cancels most
of it are drawn again: 32-bit sums cannot follow them. Every layer is fed with random stored values, any byte and any
16-bit number. *layers* is how many were compared. Operators that move values round nothing.
`tests/gl/random_networks.py` makes the networks.

{drivers}

{table}

Worst of all: **{worst:.4f}**.
"""

COUNTS = """
## What a frame takes

X22 at 385x385, 120 classes. GL calls are those between the upload of the picture and the read-back of the logits;
*textures* counts all, constant ones included; *bound* is the most that a pass binds (ES 2.0 promises 8);
*uniform vectors* is what the largest fragment shader needs. Baked and uniform weights, in both layouts, give
{same}; those in a texture have 16 bits.

{table}
"""


def layers(found: dict[str, Any]) -> str:
    """Return the section on X22's layers."""
    rows = [
        [
            row["layer"],
            row["op"],
            f"{row['values']:,}",
            f"{row['levels']:,}",
            f"{row['worst']:.4f}",
            f"{row['differing']:,}",
        ]
        for row in found["rows"]
    ]
    head = ["layer", "operator", "values", "levels", "worst", "differing"]
    return LAYERS.format(worst=found["worst"], table=table(head, rows))


def end_to_end(found: dict[str, Any]) -> str:
    """Return the section on the trained model."""
    errors = [[NAMES[key], f"{one['mean']:.4f}", f"{one['largest']:.4f}"] for key, one in found["errors"].items()] + [
        ["GPU / exact reference", f"{found['ratios']['mean']:.3f}", f"{found['ratios']['largest']:.3f}"]
    ]
    return END_TO_END.format(
        bundle=found["bundle"],
        photographs=found["photographs"],
        spread=found["spread"],
        least=BOUNDS["spread"],
        errors=table(["", "mean", "largest"], errors),
        ratio=BOUNDS["ratio"],
        same=found["same_top1"],
        agree=BOUNDS["same_top1"],
        count=found["test_pictures"],
        top1=table(list(NAMES.values()), [[f"{100 * found['top1'][key]:.2f} %" for key in NAMES]]),
        agreement=100 * found["agreement"],
    )


def drivers(found: dict[str, Any]) -> str:
    """Return the section on random networks."""
    all_of = found["drivers"]
    first = next(iter(all_of.values()))
    names = [
        [name, " ".join(f"`{key}={value}`" for key, value in one["environment"].items()), *list(one["driver"].values())]
        for name, one in all_of.items()
    ]
    rows = [
        [
            operator,
            f"{row['layers']:,}",
            f"{row['values']:,}",
            *(f"{one['operators'][operator]['worst']:.4f}" for one in all_of.values()),
        ]
        for operator, row in sorted(first["operators"].items())
    ]
    return DRIVERS.format(
        cases=first["cases"],
        kinds=first["kinds"],
        networks=first["cases"] * first["kinds"],
        drivers=table(["driver", "asked for by", "renderer", "version", "context"], names),
        table=table(["operator", "layers", "values", *all_of], rows),
        worst=found["worst"],
    )


def counts(found: dict[str, Any]) -> str:
    """Return the section on what a frame takes."""
    columns = ("passes", "jobs", "programs", "gl_calls", "texture_bytes", "textures", "bound", "uniform_vectors")
    rows = [[row["layout"], row["weights"], *(f"{row[key]:,}" for key in columns)] for row in found["rows"]]
    head = ["layout", "weights", "passes", "jobs", "programs", "GL calls", "texture bytes"]
    return COUNTS.format(
        same="the same logits, bit for bit" if found["same_logits"] else "**different logits**",
        table=table([*head, "textures", "bound", "uniform vectors"], rows),
    )


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "layers": layers,
    "end_to_end": end_to_end,
    "drivers": drivers,
    "counts": counts,
    "mobilenet": mobilenet,
    "textbook": textbook,
    "superres": superres,
    "amplification": amplification,
}
"""The sections in their order, and what writes each."""


def page(found: dict[str, dict[str, Any]]) -> str:
    """Return the page of all sections' numbers."""
    machines = "; ".join(dict.fromkeys(found[key]["machine"] for key in SECTIONS))
    parts = [HEAD.format(machines=machines, bound=BOUNDS["layer"])]
    return "".join([*parts, *(write(found[key]) for key, write in SECTIONS.items())])
