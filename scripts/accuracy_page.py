"""The text of docs/accuracy.md, from the numbers of scripts/accuracy.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMES = {"float": "float32 Keras", "exact": "exact reference", "gpu": "GPU"}

HEAD = """# Accuracy

Written by `python scripts/accuracy.py` (after `scripts/get-data trashnet data/trashnet`); run it again to check every
number on your machine.
Measured on {driver}.
"""

LAYERS = """
## Layer by layer

X22 at 385x385 with seeded random weights (batch norm statistics measured on the probe's picture). Each layer is fed
with the exact reference's own input, so that only its own error shows. *worst* is the largest |stored - y| in steps of
the stored format (1/255 for feature maps, scale/256 for 16-bit vectors), y being the float64 value before rounding.
0.5 is perfect rounding; ties may go either way, and float32 sums differ from float64 ones a little. Bound: {bound}.
*levels* is how many different values the layer's output takes, *differing* how many stored values are not the
reference's.

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

MODES = """
## What a frame takes

X22 at 385x385, 120 classes, atlas layout. GL calls are those between the upload of the picture and the read-back of the
logits; *uniform vectors* is what the largest fragment shader needs. The three give {same}.

{table}
"""


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    layers, whole, modes, bounds = found["layers"], found["end_to_end"], found["modes"], found["bounds"]
    layer_rows = [
        [
            row["layer"],
            row["op"],
            f"{row['values']:,}",
            f"{row['levels']:,}",
            f"{row['worst']:.4f}",
            f"{row['differing']:,}",
        ]
        for row in layers["rows"]
    ]
    errors = [[NAMES[key], f"{one['mean']:.4f}", f"{one['largest']:.4f}"] for key, one in whole["errors"].items()] + [
        ["GPU / exact reference", f"{whole['ratios']['mean']:.3f}", f"{whole['ratios']['largest']:.3f}"]
    ]
    columns = ("passes", "jobs", "programs", "gl_calls", "texture_bytes", "uniform_vectors")
    mode_rows = [[row["weights"], *(f"{row[key]:,}" for key in columns)] for row in modes["rows"]]
    return "".join(
        [
            HEAD.format(driver=found["driver"]),
            LAYERS.format(
                bound=bounds["layer"],
                worst=layers["worst"],
                table=table(["layer", "operator", "values", "levels", "worst", "differing"], layer_rows),
            ),
            END_TO_END.format(
                bundle=whole["bundle"],
                photographs=whole["photographs"],
                spread=whole["spread"],
                least=bounds["spread"],
                errors=table(["", "mean", "largest"], errors),
                ratio=bounds["ratio"],
                same=whole["same_top1"],
                agree=bounds["same_top1"],
                count=whole["test_pictures"],
                top1=table(list(NAMES.values()), [[f"{100 * whole['top1'][key]:.2f} %" for key in NAMES]]),
                agreement=100 * whole["agreement"],
            ),
            MODES.format(
                same="the same logits, bit for bit" if modes["same_logits"] else "**different logits**",
                table=table(
                    ["weights", "passes", "jobs", "programs", "GL calls", "texture bytes", "uniform vectors"], mode_rows
                ),
            ),
        ]
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
