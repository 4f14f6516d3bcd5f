"""The text of docs/reference/operators.md, from the rows, their costs and the measured errors."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.program.layout import MAX_TEXTURE_SIZE
from operator_table import GROUPS, videocore
from operator_table.cost import Cost
from operator_table.names import FORMATS, NAMES, PARTS_OF_OTHERS, Names
from operator_table.row import TOLERANCE, Group, Row

HEAD = f"""# Operators

The Keras layers that can be exported, and their cost. [TensorFlow Lite and ONNX](#tensorflow-lite-and-onnx)
have a table below. `glsl-infer inspect MODEL` lists the refused layers of a model, and suggests replacements.
Layers that are not on this page run on the [CPU](cpu-operators.md) if they can. A sequence is a map of one row.
Frames of a film are below each other.

Each line has the layers, the operators of the bundle that they become, and two numbers: passes/fetches. Passes
are draws. Fetches are the texels that are read for each pixel of each slice (4 channels) of the output. They
are for the sizes in the line, or for 8 channels, with `--weights uniform`. Operations of `keras.ops`, and signs
such as `+`, cost the same as layers.

Stored values are within {TOLERANCE} of a step of the exact value. Perfect rounding is within 0.5. A step is
1/255 of the range of a feature map, or 1/65536 of the range of a vector. Lines with *images* learn the range
of each channel from typical images (`export --images DIR`).
"""

LIMITS = f"""
## Limits

- A model has at most 16 inputs and 16 outputs. A vector has at most 4,096 values, unless Flatten, Concatenate or Dense
  leads to Dense, a Reshape or the output.
- A texture with all slices of a layer has at most {MAX_TEXTURE_SIZE}x{MAX_TEXTURE_SIZE} texels. A pass reads at most
  {MAX_TEXTURES} textures.
- Lambda layers, custom layers without `--import` or a [function](cpu-operators.md#custom-operators), quantised weights
  (except int8 Dense) and `channels_first` are refused, with the name of the layer.
"""

TAIL = """
## keras.applications

With random weights, the lowest cosine similarity between 25 exported networks and Keras is 0.9850 to 0.9999. Below
0.999: InceptionV3 0.9850, MobileNetV3Large 0.9987, MobileNetV3Small 0.9989. As drawn they are the same. Of the other
3 networks only the floats were compared. With offsets of batch normalisation around 0, the lowest is 0.92, which Keras
itself reaches with noise of half a byte on the image. Measured in 2026-11 by a script that was deleted since.

"""

USUAL_SIZE = "; 8 channels"
"""Suffix of options that the page omits, because its introduction states it."""

SHARED = ("fused", "alone")
"""Suffixes of options: the position of an activation."""

MATRIX = f"""
## TensorFlow Lite and ONNX

Shaders compute these operators with an error of at most {TOLERANCE} of a step, unless marked: *bytes* are only
moved, *folded* operators become part of their neighbours, and *CPU* operators run in NumPy. Numbers such as
22/10 are VideoCore IV's instructions a pixel for the cheapest line, and a floor (2 a texel, 1 a lane or weight,
4 at the end). All have two threads except `global_deviation`.

"""

MATRIX_COLUMNS = ("operator", "TensorFlow Lite", "ONNX")


def page(costs: Mapping[str, Cost], errors: Mapping[str, float], driver: str) -> str:
    """Return the page.

    Args:
        costs: cost of every row, by its name.
        errors: the largest error of every row that draws, in stored steps.
        driver: the driver of the measurements.
    """
    sections = [_section(group, costs) for group in GROUPS]
    measured = f"The largest error was {max(errors.values()):.3f} of a step, on {driver}.\n"
    matrix = _table(MATRIX_COLUMNS, [_names(line) for line in NAMES if line.tflite or line.onnx])
    return "".join([HEAD, *sections, MATRIX, matrix, other_names(), _models_written(), LIMITS, TAIL, measured])


def with_names(text: str) -> str:
    """Return the text of a page with the present operators of files."""
    head, _, following = text.partition("\nOther operators of ")
    return f"{head}{other_names()}\n{following[following.index('Made of these') :]}"


def other_names() -> str:
    """Return the paragraphs with the operators of files that the matrix lacks."""
    paragraphs = []
    for title, operators in FORMATS.items():
        cells = " ".join(line.tflite if title == "TensorFlow Lite" else line.onnx for line in NAMES)
        names = sorted(operators - set(re.findall(r"\w+", cells)))
        paragraphs.append(textwrap.fill(f"Other operators of {title}, made of these: {', '.join(names)}.", 118))
    return "".join(f"\n{paragraph}\n" for paragraph in paragraphs)


def _models_written() -> str:
    """Return the operators created by the compiler from others, and their costs."""
    stages = {stage for names in videocore.STAGES.values() for stage in names}
    drawn = [name for name in PARTS_OF_OTHERS if name in videocore.stored() and name not in stages]
    return f"\nMade of these: {', '.join(f'`{name}`' for name in drawn)} {videocore.cell(drawn)}.\n"


def _section(group: Group, costs: Mapping[str, Cost]) -> str:
    """Return a section; rows of equal costs and notes share a line of its list."""
    lines = _merged([(row, _costs(row, costs[row.name])) for row in group.rows])
    listed = "".join(f"- {label}: {costs}\n" for label, costs in lines)
    return f"\n## {group.title}\n\n{textwrap.fill(group.text, 140)}\n\n{listed}"


def _names(line: Names) -> tuple[str, ...]:
    """Return the cells of operators: names, costs, processor unless a rounding shader; names in other formats."""
    operators = ", ".join(f"`{name}`" for name in line.each)
    processor = line.exactness() if line.runs() == "shader" else line.runs()
    cells = videocore.cell(line.each)
    operators += f" {cells}" if cells else ""
    return operators + (f" *{processor}*" if processor != str(TOLERANCE) else ""), line.tflite, line.onnx


def _merged(rows: Iterable[tuple[Row, str]]) -> list[tuple[str, str]]:
    """Return a line for each different text of costs: the titles of all its rows, and the text.

    Layers with the same options are joined by commas, other rows by semicolons.
    """
    lines: dict[str, dict[str, list[str]]] = {}
    for row, costs in rows:
        options = row.options.removesuffix(USUAL_SIZE)
        lines.setdefault(costs, {}).setdefault(options, []).append(row.layer)
    return [("; ".join(_titles(by_options)), costs) for costs, by_options in lines.items()]


def _titles(by_options: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the titles of layers; options of one layer with the same suffix, such as "relu, fused", share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for options, layers in by_options.items():
        word, _, end = options.rpartition(", ")
        shared = end in SHARED and word.isidentifier()
        lines.setdefault((", ".join(dict.fromkeys(layers)), end if shared else options), []).append(word)
    return [
        layers
        if options == "any"
        else f"{layers} ({', '.join([*filter(None, words), options])})"
        if options in SHARED
        else f"{layers} ({options})"
        for (layers, options), words in lines.items()
    ]


def _costs(row: Row, cost: Cost) -> str:
    """Return the operators of a row, its passes and fetches, and notes."""
    fetches = f"{cost.fetches:.1f}".removesuffix(".0")
    becomes = f"{cost.becomes} {cost.passes}/{fetches}" if cost.passes or cost.fetches else cost.becomes
    return "; ".join(text for text in (becomes, "*images*" * cost.calibrated, row.restrictions) if text)


def _table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    first, *table_rows = (f"{' | '.join(row)} |\n" for row in (columns, *lines))
    return "".join([first, f"|{'---|' * len(columns)}\n", *table_rows])
