"""What docs/accuracy.md says of MobileNet and of the super-resolution network."""

from __future__ import annotations

from typing import Any

from accuracy_sections.common import BOUNDS
from accuracy_sections.table import layer_table, table
from glsl_infer.compiler.amplification import MAX_ERROR, MAX_GAIN
from glsl_infer.lowering.conv_texture import ROUNDING

COMPARISON = [
    "mean",
    "largest",
    "mean / spread",
    "largest / spread",
    "cosine, mean",
    "cosine, least",
    "same first label",
]

MOBILENET = """
## MobileNet v1 0.25

`keras.applications.MobileNet(alpha=0.25)` at {size}x{size}, {classes} classes, input in [-1, 1], seeded random weights;
factors and offsets of the batch norms are random, too, and their statistics those of {calibration} training photographs
of trashnet, which also calibrate the export (ranges by channel). {photographs} other photographs, of the test split,
are measured.

A random network is a hard case for 8 bits: nothing was trained to ignore small changes, every layer makes them larger,
and photographs differ little in its logits (standard deviation over the photographs {spread:.2f}). The row
*Keras, noise* shows it: float32 Keras itself on the same photographs, each byte moved by -1, 0 or 1, chosen at random.
What counts here is that the GPU adds nothing to the exact reference's error: its mean error may be {ratio} times that.

### Its layers

Each layer alone, on random stored values, and on the exact reference's values of a photograph.

{layers}

Worst of all: **{worst:.4f}**.

### Its ends

Logits minus their mean over the classes against float32 Keras, in absolute numbers and as parts of the spread; cosine
similarity for each photograph; how many of {photographs} have the same first label.

{ends}

### What it takes

{frame}

Layers that read more than 8 slices take partial sums in 16 bits; *narrow* is what one pass for each output slice would
be.

{wide}

### Which ranges

The exact reference with other ranges, calibrated on the same photographs. *Varied* is the network above, *plain* the
same with batch norms as Keras makes them (factor 1, offset 0), whose channels are more alike. *Headroom* is how much
wider than seen a channel's range is made.

{ranges}
"""

TEXTBOOK = """
## A network of one's own

What somebody's first network looks like: Rescaling, four convolutions of 3x3 with ReLU (three with batch norm) and
MaxPooling2D each, Flatten, Dropout, Dense, Dense; trained by the script for 25 epochs on trashnet at {size}x{size} and
exported with {calibration} of the training photographs as calibration. Measured on the {photographs} photographs of the
test split.

{ends}

GPU / exact reference, mean error: {ratio:.3f}. A frame takes:

{frame}

{layers}

Worst of all: **{worst:.4f}**.

The exact reference with other ranges:

{ranges}
"""

SUPERRES = """
## Super-resolution

`{model}`, exported with {calibration} photographs' centres as calibration; {photographs} other photographs' centres,
halved to {size}x{size}, are measured. How good its pictures are (PSNR in float, in 8 bits, on the GPU) stands in
[its card](../models/superres-x2-96.md).

{layers}

Worst of all: **{worst:.4f}**. GPU and exact reference differ by at most **{largest:g}** of 255 steps, in
{share:.5f} % of all values. A frame takes {frame}. Against the float network, in steps of 255 (the largest errors are
where a photograph leaves the range that the calibration has seen, and saturates):

{floats}

`glsl-infer validate` shows the same of the shipped bundle: a single large error of a layer on some photographs. Its
ranges are learnt from 64 photographs, and the channel that reaches highest in a layer gets no headroom, which would
make every step of it coarser on all photographs. What lies beyond is stored as the end of the range. Of
{saturation_photographs} photographs of trashnet's train split, scaled to {size}x{size}, the float network computes
this much that lies beyond:

{saturation}
"""

AMPLIFICATION = """
## What layers amplify

The *gain* of a convolution is how many steps of 1/255 of its range its output moves where every value that it reads
moves by one step, each in the direction that makes it most. 32-bit floats round each addition by up to 255 * gain *
2^-24 of a step: beyond a gain of {most_gain:.0f} by more than {rounding:g}, which is all that drivers are allowed here.
The *error* is the distance of a stored feature map from the float network's, in steps, root mean square over
{photographs} photographs. `glsl-infer export` prints both for each layer, and warns beyond that gain and beyond an
error of {most_error:g} steps; `glsl-infer inspect` shows the gains.

{table}

It takes no layer with a large gain to make a large error: in a network with random weights nothing was trained to
ignore small changes, and each of many layers enlarges the rounding of those before it. Weights in a texture have 16
bits, whose high bytes a sum keeps exactly only so far: a layer with larger weights keeps them as floats, whatever
`--weights` says.
"""


def mobilenet(found: dict[str, Any]) -> str:
    """Return the section on MobileNet."""
    ends = []
    for one in found["exports"]:
        by = _by(one["percentile"])
        ends += [
            [f"exact reference, {by}", *_comparison(one["exact"])],
            [f"GPU, {by}", *_comparison(one["gpu"])],
        ]
    ends.append(["Keras, noise", *_comparison(found["noisy"]["varied"])])
    ratios = ", ".join(f"{one['ratio']:.3f} ({_by(one['percentile'])})" for one in found["exports"])
    first = found["exports"][0]
    wide = [
        [one["layer"], str(one["slices"]), str(one["blocks"]), str(one["passes"]), str(one["narrow"])]
        for one in first["wide"]
    ]
    wide.append(["all", "", "", *(str(sum(one[key] for one in first["wide"])) for key in ("passes", "narrow"))])
    ranges = [
        [
            name,
            "channel" if row["per_channel"] else "layer",
            _by(row["percentile"]),
            f"{row['headroom']:g}" if row["per_channel"] else "-",
            *_comparison(row),
        ]
        for name, rows in found["ranges"].items()
        for row in rows
    ]
    return MOBILENET.format(
        **{key: found[key] for key in ("size", "calibration", "photographs", "spread", "worst", "classes")},
        ratio=BOUNDS["ratio"],
        layers=layer_table(found["layers"]),
        ends=f"{table(['', *COMPARISON], ends)}\n\nGPU / exact reference, mean error: {ratios}.",
        frame=_frame(first["statistics"]),
        wide=table(["layer", "slices", "blocks", "passes", "narrow"], wide),
        ranges=table(["network", "a range for each", "by", "headroom", *COMPARISON], ranges),
    )


def textbook(found: dict[str, Any]) -> str:
    """Return the section on the textbook's network."""
    names = {"float": "float32 Keras", "exact": "exact reference", "gpu": "GPU"}
    ends = [
        [
            name,
            f"{100 * found['top1'][key]:.2f} %",
            *(_comparison(found["errors"][key]) if key != "float" else ["-"] * 7),
        ]
        for key, name in names.items()
    ]
    ranges = [
        [
            "channel" if row["per_channel"] else "layer",
            _by(row["percentile"]),
            f"{row['headroom']:g}" if row["per_channel"] else "-",
            f"{100 * row['top1']:.2f} %",
            *_comparison(row),
        ]
        for row in found["ranges"]
    ]
    return TEXTBOOK.format(
        **{key: found[key] for key in ("size", "calibration", "photographs", "worst", "ratio")},
        ends=table(["", "top-1", *COMPARISON], ends),
        frame=_frame(found["statistics"]),
        layers=layer_table(found["layers"]),
        ranges=table(["a range for each", "by", "headroom", "top-1", *COMPARISON], ranges),
    )


def superres(found: dict[str, Any]) -> str:
    """Return the section on the super-resolution network."""
    names = {"exact": "exact reference", "gpu": "GPU"}
    floats = [[names[key], f"{one['mean']:.3f}", f"{one['largest']:.2f}"] for key, one in found["float"].items()]
    statistics = found["statistics"]
    return SUPERRES.format(
        **{key: found[key] for key in ("model", "calibration", "photographs", "size", "worst")},
        layers=layer_table(found["layers"]),
        largest=found["gpu_exact"]["largest"],
        share=100 * found["gpu_exact"]["share"],
        frame=f"{statistics['passes']} passes in {statistics['jobs']} jobs, {statistics['programs']} programs, "
        f"{statistics['gl_calls']} GL calls and {statistics['texture_bytes']:,} bytes of textures",
        floats=table(["", "mean", "largest"], floats),
        saturation_photographs=found["saturation"]["photographs"],
        saturation=table(
            ["layer", "values", "beyond its range", "in photographs", "by at most", "highest end of a range"],
            [
                [
                    one["layer"],
                    f"{one['values']:,}",
                    f"{one['beyond']:,}",
                    f"{one['pictures']:,}",
                    f"{one['largest']:.3f}" if one["beyond"] else "-",
                    f"{one['highest']:.3f}",
                ]
                for one in found["saturation"]["rows"]
            ],
        ),
    )


def amplification(found: dict[str, Any]) -> str:
    """Return the section on gains and errors."""
    rows = [
        [
            one["network"],
            f"{one['convolutions']}",
            f"{one['median_gain']:.1f}",
            f"{one['gain']['value']:.0f} ({one['gain']['layer']})",
            f"{one['error']['value']:.2f} ({one['error']['layer']})",
            "yes" if one["warnings"] else "no",
        ]
        for one in found["rows"]
    ]
    return AMPLIFICATION.format(
        most_gain=MAX_GAIN,
        most_error=MAX_ERROR,
        rounding=ROUNDING,
        photographs=found["photographs"],
        table=table(["network", "convolutions", "median gain", "largest gain", "largest error", "warned of"], rows),
    )


def _by(percentile: float) -> str:
    return "maximum" if percentile >= 100.0 else f"percentile {percentile:g}"


def _comparison(one: dict[str, float]) -> list[str]:
    return [
        f"{one['mean']:.4f}",
        f"{one['largest']:.3f}",
        f"{one['relative_mean']:.3f}",
        f"{one['relative_largest']:.2f}",
        f"{one['cosine_mean']:.4f}",
        f"{one['cosine_least']:.4f}",
        f"{one['same_top1']:.0f}",
    ]


def _frame(statistics: dict[str, int]) -> str:
    keys = ("passes", "jobs", "programs", "gl_calls", "texture_bytes")
    head = ["passes", "jobs", "programs", "GL calls", "texture bytes"]
    return table(head, [[f"{statistics[key]:,}" for key in keys]])
