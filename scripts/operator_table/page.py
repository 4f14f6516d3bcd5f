"""The text of docs/operators.md, from the rows, their costs and the errors that were measured."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.program.layout import MAX_TEXTURE_SIZE
from operator_table import GROUPS, REFUSALS
from operator_table.cost import Cost
from operator_table.row import TOLERANCE, Group, Row

HEAD = f"""# Operators

Which Keras layers can be exported, with which options, and what each costs on the GPU. Everything that is not in a
table below is refused by `glsl-infer export`, naming the layer and what to change; the likeliest are
[listed](#what-is-refused). Every line of this page is a test: its model is exported, run, and compared with Keras.

A model is functional or sequential, from one square picture to one output: a vector (classes, with `--labels`) or a
feature map (a picture).

## How to read it

*becomes*: the operators of the bundle that the layer is made of, one module each in `glsl_infer/ops/`, or what it
becomes part of. `concat` and `channel_shuffle` only rename places.

*passes* and *fetches*: draws, and texels read for each pixel of each *slice* of the output. A slice is 4 channels (of
a vector 4 values); 8 channels are 2 slices. Numbers are for the sizes at the end of the options, exported with
`--layout atlas --weights uniform`; where the layer becomes part of another, they are what it adds. Weights in a texture
make one pass of a convolution's, with two fetches more for each input channel of each tap. Both are counted, not
estimated: passes in the manifest, fetches in the text of the shaders, loops expanded, all branches of an `if`
counted. Multiplied by the slices and pixels of your layer, fetches say how it compares with others: a
VideoCore IV reads at best 6 texels a cycle, at 250 MHz.

*tolerance*: how far a stored number may be from the exact one, for any inputs, in steps of its texture (1/255 of the
range of a feature map, 1/65536 of that of a vector). Rounding alone is 0.5, hence {TOLERANCE}; what only moves values
is exact: 0. *largest error* is what the test measured when this page was written.

## Ranges

A feature map is stored in 8 bits, so its values need a range. The sigmoids have one, 0 to 1, and ReLU with a
`max_value` has one, 0 to that. ReLU and layers without an activation have none: give `glsl-infer export --calibrate
DIR` with typical pictures, from which every channel gets a range of its own, half as wide again as what was seen. What
lies beyond it in use is cut off; `--percentile 99.9` leaves out rare extremes already then. ReLU(6) gains by
calibration as well: where values reach 0.5 only, 8 bits over 0 to 6 are coarse. *calibrate: needed* marks what cannot
be exported without pictures. Vectors have 16 bits and bounds that follow from the weights: they need no pictures, and
`export` says where those would make them finer.
"""

LAYOUTS = f"""
## Layouts

`--layout atlas` (the default) puts all slices of a layer into one texture. `--layout planar` gives each slice a
texture of its own: what is one pass for all slices here is one for each there, every pass begins a new job of the
GPU, and a convolution of {MAX_TEXTURES} input slices with a residual becomes a wide one, for a pass may read
{MAX_TEXTURES} textures. Fetches and tolerances are the same.

## Limits

- The picture is square, with 3 channels; there is one input and one output.
- No texture is larger than {MAX_TEXTURE_SIZE} x {MAX_TEXTURE_SIZE} texels: in atlas all slices of a layer together,
  with the gutter that padding needs, in planar each slice; constant weights of a Dense: 4,096 inputs, 2,048 outputs.
- A pass reads at most {MAX_TEXTURES} textures (all that OpenGL ES 2.0 promises), which in atlas hold any number of
  input slices.
- Weights are float32, or 16 bits in a Dense; quantised Keras models are refused.
- A bundle lists what it needs of a driver (texture size, textures, uniforms); a runner refuses a driver that has
  less.
"""

REFUSED = """
## What is refused

`export` ends with `error:`, the layer's name where one is to blame, and these words. Any other layer of Keras is
refused like the first one here.

"""

TAIL = """
## How this page is made

`python scripts/operators.py` writes it (with TensorFlow installed): one process builds and exports the models
of `scripts/operator_table/`, another runs them. `tests/keras/test_operator_table.py` compares each model with Keras
in float32 and each refusal with its words; `tests/gl/test_operator_table.py` runs each bundle, checks every layer on
random stored inputs against the tolerance and the output against Keras, and fails when this page is not what the
script would write.
"""

COLUMNS = (
    "Keras layer",
    "options",
    "becomes",
    "calibrate",
    "restrictions",
    "passes",
    "fetches",
    "tolerance",
    "largest error",
)


def page(costs: Mapping[str, Cost], errors: Mapping[str, float], driver: str) -> str:
    """Return the page.

    Args:
        costs: of every row, by its name.
        errors: the largest error of every row that draws, in stored steps.
        driver: what they were measured on.
    """
    sections = [_section(group, costs, errors) for group in GROUPS]
    refused = [(one.layer, one.options, f"`{_words(one.says)}`", one.instead) for one in REFUSALS]
    measured = f"Largest errors were measured on {driver}.\n"
    table = _table(("Keras layer", "options", "the message", "in its place"), refused)
    return "".join([HEAD, *sections, LAYOUTS, REFUSED, table, TAIL, measured])


def unmeasured(text: str) -> str:
    """Return the page without what differs from machine to machine."""
    text = re.sub(r"\| \d\.\d{3} \|$", "| measured |", text, flags=re.MULTILINE)
    return re.sub(r"^Largest errors were measured on .*$", "", text, flags=re.MULTILINE)


def _section(group: Group, costs: Mapping[str, Cost], errors: Mapping[str, float]) -> str:
    lines = [_line(row, costs[row.name], errors.get(row.name)) for row in group.rows]
    return f"\n## {group.title}\n\n{textwrap.fill(group.text, 120)}\n\n{_table(COLUMNS, lines)}"


def _line(row: Row, cost: Cost, error: float | None) -> tuple[str, ...]:
    return (
        row.layer,
        row.options,
        cost.becomes,
        "needed" if cost.calibrated else "",
        row.restrictions,
        str(cost.passes),
        f"{cost.fetches:.1f}".removesuffix(".0"),
        "-" if cost.tolerance is None else f"{cost.tolerance:g}",
        "-" if cost.tolerance is None or error is None else f"{error:.3f}",
    )


def _words(says: str) -> str:
    """Return the words of a message, with dots where the rows know no more than its beginning."""
    return f"{says.rstrip(' ,')} ..." if says.endswith((", ", " a", ": ")) else says


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)
