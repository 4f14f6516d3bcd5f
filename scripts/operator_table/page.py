"""The text of docs/operators.md, from the rows, their costs and the errors that were measured."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.program.layout import MAX_TEXTURE_SIZE
from operator_table import GROUPS, REFUSALS
from operator_table.cost import Cost
from operator_table.names import NAMES, Names
from operator_table.row import TOLERANCE, Group, Refusal, Row

HEAD = f"""# Operators

Which Keras layers you can export, and what each costs on the GPU. `glsl-infer export` refuses anything else, names the
layer and says what to change ([list](#what-is-refused)). Every row is tested: exported, run and compared with Keras.

A model is functional or sequential. An input is a picture of 1, 3 or 4 channels, or numbers: a vector, or a map with
any channels. An output is a vector (of classes, with `--labels`), a feature map, or what
[host steps](bundle-format.md#host-steps) make of some.

- *becomes*: the operators of the bundle (`glsl_infer/ops/`), or the layer that absorbs this one.
- *passes*: draws.
- *fetches*: texels read for each pixel of each *slice* (4 channels) of the output. Multiply by your slices and pixels.

Costs are for the sizes shown, else for 8 channels, with `--layout atlas --weights uniform`. Weights in a texture make a
convolution one pass, with two more fetches for each input channel of each tap.

**Accuracy.** Stored numbers are within {TOLERANCE} of a step for any input (0.5 is perfect rounding). A step is
1/255 of a feature map's range, or 1/65536 of a vector's. Operators that only move values are exact.

**Ranges.** A feature map has 8 bits, so each channel needs a range. Rows with *pictures* learn it from typical ones:
`glsl-infer export --calibrate DIR`. It is half as wide again as the values there. Values beyond it are clipped.
`--percentile 99.9` ignores rare extremes. Calibration also improves ReLU(6) if its values stay small. Vectors have 16
bits and need no pictures.
"""

LAYOUTS = f"""
## Layouts

`--layout atlas` (the default) puts all slices of a layer into one texture. `--layout planar` gives each slice its own:
one pass for all slices becomes one for each, every pass is a new job, and a convolution of {MAX_TEXTURES} input slices
with a residual becomes wide.

## Limits

- 16 inputs and 16 outputs, a picture or map of at most 2048 x 2048 pixels, 4,096 numbers in a vector
  unless Flatten, Concatenate or Dense leads to Dense, a Reshape or the output.
- Textures of at most {MAX_TEXTURE_SIZE} x {MAX_TEXTURE_SIZE} texels. In atlas, all slices of a layer with their
  gutters must fit.
- At most {MAX_TEXTURES} textures in a pass (what OpenGL ES 2.0 guarantees).
"""

REFUSED = """
## What is refused

All other layers of Keras, and these (-> what to use instead):

"""

TAIL = """
## How this page is made

`python scripts/operators.py` (with TensorFlow) writes it from `scripts/operator_table/`.
"""

USUAL_SIZE = "; 8 channels"
"""End of options that the page leaves out: its beginning says it."""

SHARED = ("fused", "alone")
"""Ends of options: how an activation stands."""

MATRIX = """
## Names and places

A *shader* draws on the GPU. *Folded* operators become part of their neighbours. The *CPU* computes in NumPy, between
GPU parts. *Error*: of a stored step, for any input; *bytes* are moved as they are. `glsl-infer inspect model.keras`
says it of each layer of your model.

"""

MATRIX_COLUMNS = ("operator", "Keras", "TensorFlow Lite", "ONNX", "runs, error")

COLUMNS = ("Keras layer", "becomes", "passes, fetches", "notes")


def page(costs: Mapping[str, Cost], errors: Mapping[str, float], driver: str) -> str:
    """Return the page.

    Args:
        costs: of every row, by its name.
        errors: the largest error of every row that draws, in stored steps.
        driver: what they were measured on.
    """
    sections = [_section(group, costs) for group in GROUPS]
    refused = [(what, *instead) for what, instead in _merged([(refusal, (refusal.instead,)) for refusal in REFUSALS])]
    measured = f"The largest error was {max(errors.values()):.3f} of a step, on {driver}.\n"
    table = "".join(f"- {what.replace('<br>', '; ')} -> {instead}\n" for what, instead in refused)
    matrix = _table(MATRIX_COLUMNS, [_names(line) for line in NAMES])
    return "".join([HEAD, *sections, MATRIX, matrix, LAYOUTS, REFUSED, table, TAIL, measured])


def unmeasured(text: str) -> str:
    """Return the page without what differs from machine to machine."""
    return re.sub(r"^The largest error was .*$", "", text, flags=re.MULTILINE)


def _section(group: Group, costs: Mapping[str, Cost]) -> str:
    """Return a section; rows of equal costs and notes share a line of its table."""
    lines = _merged([(row, _costs(row, costs[row.name])) for row in group.rows if row.listed])
    table = _table(COLUMNS, [(what, *cells) for what, cells in lines])
    return f"\n## {group.title}\n\n{textwrap.fill(group.text, 120)}\n\n{table}"


def _names(line: Names) -> tuple[str, ...]:
    operators = ", ".join(f"`{name}`" for name in line.each)
    return operators, line.keras, line.tflite, line.onnx, f"{line.runs()}, {line.exactness()}".removesuffix(", -")


def _merged(rows: Iterable[tuple[Row | Refusal, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return a line for each different tuple of cells: what all rows with these cells are called, and the cells.

    Layers with the same options are joined by commas, other rows by line breaks.
    """
    lines: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for row, cells in rows:
        options = row.options.removesuffix(USUAL_SIZE)
        lines.setdefault(cells, {}).setdefault(options, []).append(row.layer)
    return [("<br>".join(_titles(by_options)), cells) for cells, by_options in lines.items()]


def _titles(by_options: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what layers are called; words of one layer that end alike, as "relu, fused", share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for options, layers in by_options.items():
        word, _, end = options.rpartition(", ")
        shared = end in SHARED and word.isidentifier()
        lines.setdefault((", ".join(dict.fromkeys(layers)), end if shared else options), []).append(word)
    return [
        layers
        if options == "any"
        else f"{layers}: {', '.join([*filter(None, words), options])}"
        if options in SHARED
        else f"{layers}: {options}"
        for (layers, options), words in lines.items()
    ]


def _costs(row: Row, cost: Cost) -> tuple[str, ...]:
    notes = "; ".join(note for note in ("pictures" * cost.calibrated, row.restrictions) if note)
    fetches = f"{cost.fetches:.1f}".removesuffix(".0")
    return cost.becomes, f"{cost.passes}, {fetches}" if cost.passes or cost.fetches else "0", notes


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    first, *others = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in (columns, *lines)
    )
    return "".join([first, f"|{'---|' * len(columns)}\n", *others])
