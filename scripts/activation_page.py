"""The text of docs/activations.md, from the numbers of scripts/activation_study.py and of training runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from accuracy_sections.table import table

from glsl_infer.errors import InputError

ACTIVATIONS = {
    "piecewise_linear_sigmoid": "seven straight pieces, as the article's",
    "learnable_sigmoid": "seven straight pieces, slopes and bends learnt by each layer",
    "hard_sigmoid": "clip(x / 6 + 1/2, 0, 1)",
    "clipped_relu": "clip(x, 0, 1)",
    "relu6_scaled": "clip(x / 6, 0, 1)",
}
"""What is compared (the names are those of ``training.models.ACTIVATIONS``), the article's first."""

EPOCHS = 15
SEEDS = (1, 2, 3)
TRAINING = f"--data data/trashnet --stages 3 --input-size 65 --epochs {EPOCHS}".split()
"""How each is trained, by training/train.py's own recipe."""

KINDS = {
    "5x5 / 2, on the picture": "b0-conv",
    "1x1": "-pw",
    "3x3, with residual": "-dw",
    "3x3 / 2": "-scale",
    "3x3, the last": "b6-conv",
}
"""The convolutions of X22, and what the names of their layers end in."""

PER_MILLISECOND = 12 * 16 / 4 * 250e3
"""Instructions times pixels in a millisecond at best: 12 QPUs at 250 MHz, each 16 pixels in 4 cycles."""

HEAD = """# Activations: accuracy against instructions

Written by `python scripts/activation_study.py` from the numbers in `docs/activations/`. X22 at {size}x{size} with
{classes} classes. *Instructions* are those of Mesa's own VideoCore IV compiler (vc4 22.3), counted for each fragment
shader and multiplied by the pixels that it draws, for X22 with random weights; *saved* is against the article's
activation, with weights in uniforms. *At least* is what 12 QPUs at 250 MHz take for them if nothing ever waits, for
a comparison and not for a prediction.

*Top-1* is on trashnet's validation split after training by `train.py` with `{training}`,
mean and standard deviation over {seeds} seeds (`scripts/activation_training.py`): a small X22 that has learnt for a
short time. It says how much is learnt from one recipe, not what is reached in the end. 25 % can be had by one label,
and 2.5 points are chance with 327 pictures.
"""

SHADERS = """
## Instructions of a shader

One shader draws one slice, 4 channels; weights in uniforms.
"""

WHY = """
## Where they come from

A line costs nothing: it is multiplied into the weights, and cutting off at 0 and 1 is what a store to 8 bits does
anyway. A residual has to be multiplied, too, unless the slope is 1: three instructions. A pair of bends costs one
multiplication, one clamp and one addition for each channel. The learnable activation has as many bends as the
article's, so that both cost the same. [What the shaders look like](videocore-shaders.md).

## Which one is shipped

The clipped ReLU: it learns most, and is among the cheapest. It alone lets a residual through as it is; behind the
others a fifth or a sixth of it passes, so that after two units little is left. But it needs a start of its own. Where
batch normalisation begins with scale 1 and offset 0, as usual, two thirds of all values are cut off, each unit adds to
what the next one cuts off, and the network hardly learns. It begins with scale 0.6 and offset 0.2 instead, and with
scale 0 where a residual is added, so that each unit is the identity at first (`training.models.STARTS`; P. Goyal et
al., 2017). [Trials of other starts, and what it is worth in whole runs](training.md#what-was-tried).
"""


def accuracies(training: Any, name: str = "training.json") -> dict[str, list[float]]:
    """Return the validation accuracies, 0 to 1, of each activation's runs; one run for each seed.

    Args:
        training: {activation: [{"seed": ..., "val": ...}, ...]}, as read from the file ``name``.
        name: for messages.

    Raises:
        InputError: it is something else, saying where.
    """
    if not isinstance(training, Mapping):
        raise InputError(f"{name}: not a table of activations")
    found: dict[str, list[float]] = {}
    for activation, runs in training.items():
        if activation not in ACTIVATIONS:
            raise InputError(f"{name}: activation '{activation}'; there are {', '.join(ACTIVATIONS)}")
        if not isinstance(runs, list) or not all(isinstance(run, Mapping) for run in runs):
            raise InputError(f"{name}: '{activation}' is not a list of runs")
        seeds = [run.get("seed") for run in runs]
        if None in seeds or len(set(seeds)) < len(seeds):
            raise InputError(f"{name}: the runs of '{activation}' need a seed each, and no two the same")
        values = [run.get("val") for run in runs]
        for seed, value in zip(seeds, values):
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
                raise InputError(f"{name}: '{activation}', seed {seed}: val={value}; give an accuracy from 0 to 1")
        found[activation] = [float(value) for value in values if value is not None]
    return found


def page(found: Mapping[str, Any], scores: Mapping[str, Sequence[float]]) -> str:
    """Return the page.

    Args:
        found: what instructions.json holds.
        scores: validation accuracies by activation, 0 to 1; none where nothing is measured yet.
    """
    measured = found["activations"]
    return "\n".join(
        [
            HEAD.format(size=found["size"], classes=found["classes"], training=" ".join(TRAINING), seeds=len(SEEDS)),
            frames(measured, scores),
            SHADERS,
            shaders(measured),
            WHY,
        ]
    )


def frames(measured: Mapping[str, Any], scores: Mapping[str, Sequence[float]]) -> str:
    """Return the table of a frame's instructions and of accuracies."""
    head = ["activation", "function", "top-1", "million a frame", "saved", "with baked weights", "at least"]
    first = next(iter(measured.values()))["uniform"]["total"]
    rows = []
    for name, modes in measured.items():
        uniform, baked = modes["uniform"]["total"], modes["baked"]["total"]
        rows.append(
            [
                name,
                ACTIVATIONS[name],
                score(scores.get(name, ())),
                f"{uniform / 1e6:,.1f}",
                f"{1.0 - uniform / first:.1%}".replace("%", " %"),
                f"{baked / 1e6:,.1f}",
                f"{uniform / PER_MILLISECOND:.1f} ms",
            ]
        )
    return table(head, rows)


def score(values: Sequence[float]) -> str:
    """Return mean and standard deviation in per cent, and how many there are."""
    if not values:
        return "not measured"
    seeds = f"({len(values)} seed{'s' * (len(values) > 1)})"
    mean = 100.0 * math.fsum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.2f} % {seeds}"
    return f"{mean:.2f} ± {100.0 * statistics.stdev(values):.2f} % {seeds}"


def shaders(measured: Mapping[str, Any]) -> str:
    """Return the table of instructions by kind of convolution."""
    rows = []
    for kind, ending in KINDS.items():
        counts = []
        for modes in measured.values():
            layers = [row for row in modes["uniform"]["layers"] if row["layer"].endswith(ending)]
            least, most = min(row["least"] for row in layers), max(row["most"] for row in layers)
            counts.append(f"{least}" if least == most else f"{least} to {most}")
        rows.append([kind, *counts])
    return table(["convolution", *measured], rows)
