"""Sections of docs/engineering/accuracy.md on networks other than X22, and on gains and errors."""

from __future__ import annotations

from typing import Any

from accuracy_sections.common import BOUNDS
from accuracy_sections.table import table
from glsl_infer.compiler.amplification import MAX_ERROR, MAX_GAIN
from glsl_infer.lowering.texture_choice import ROUNDING

COMPARISON = [
    "mean",
    "largest",
    "cosine",
    "same first label",
]

MOBILENET = """
## MobileNet v1 0.25

`keras.applications.MobileNet(alpha=0.25)` at {size}x{size}, {classes} classes, with random weights, calibrated with
{calibration} training photographs of trashnet and measured on {photographs} of the test split.

Random weights are a hard case: each layer enlarges small changes, and the logits differ little between photographs
(standard deviation {spread:.2f}). *Keras, noise* is float32 Keras on photographs whose bytes are moved by at most 1 at
random. The limit of the GPU's mean error is {ratio} times the error of the exact reference.

{ends}

Worst of its layers: **{worst:.4f}**.
"""

NETWORKS = """
## Networks with random weights

Calibrated with {calibration} training photographs of {sizes} pixels, measured on {photographs} others.
*Cosine* is the smallest cosine similarity between the outputs and float32 Keras on a picture.{noise}
The mean error of the GPU is at most {ratio:.3f} times the error of the exact reference (limit {limit}), because a value
that is rounded differently changes many later values.

{table}
"""

TEXTBOOK = """
## A small network

Rescaling, four 3x3 convolutions with ReLU and MaxPooling2D, Flatten, Dropout, Dense, Dense: trained on trashnet at
{size}x{size}, calibrated with {calibration} training photographs and measured on the {photographs} of the test split.

{ends}

GPU / exact reference, mean error: {ratio:.3f}. Worst of its layers: **{worst:.4f}**. The exact reference's mean error
is {layer_ranges:.4f} with one range for each layer, {no_headroom:.4f} without headroom.
"""

SUPERRES = """
## Super-resolution

`{model}`, calibrated on the centres of {calibration} photographs and measured on those of {photographs} others,
halved to {size}x{size}.

Worst of its layers: **{worst:.4f}**. GPU and exact reference differ by at most **{largest:g}** of 255 steps, in
{share:.5f} % of all values. Error against the float network, in steps of 255: {floats}.
"""

AMPLIFICATION = """
## What layers amplify

The *gain* of a convolution is how many steps its output moves, at worst, if all that it reads moves by one. Beyond a
gain of {most_gain:.0f}, 32-bit floats round by more than the {rounding:g} of a step allowed for drivers. The *error* is
the root mean square distance from the float network in steps, over {photographs} photographs. `glsl-infer export`
prints both, and warns beyond that gain and an error of {most_error:g}.

{table}
"""


def mobilenet(numbers: dict[str, Any]) -> str:
    """Return the section on MobileNet."""
    ends = []
    for export in numbers["exports"]:
        ends += [[f"GPU, {_by(export['percentile'])}", *_comparison(export["gpu"])]]
    ends.append(["Keras, noise", *_comparison(numbers["noisy"]["varied"])])
    ratios = ", ".join(f"{export['ratio']:.3f} ({_by(export['percentile'])})" for export in numbers["exports"])
    return MOBILENET.format(
        **{key: numbers[key] for key in ("size", "calibration", "photographs", "spread", "worst", "classes")},
        ratio=BOUNDS["ratio"],
        ends=f"{table(['', *COMPARISON], ends)}\n\nGPU / exact reference, mean error: {ratios}.",
    )


def networks(numbers: dict[str, Any]) -> str:
    """Return the section on networks with random weights."""
    rows = [
        [
            row["network"].rpartition("-")[0],
            f"{row['exact']['cosine_least']:.5f}",
            f"{row['gpu']['cosine_least']:.5f}",
        ]
        for row in numbers["rows"]
    ]
    sizes = [row["size"] for row in numbers["rows"]]
    noise = [
        f"{row['network'].rpartition('-')[0]} {row['noise']['cosine_least']:.3f}"
        for row in numbers["rows"]
        if "noise" in row
    ]
    return NETWORKS.format(
        calibration=numbers["calibration"],
        photographs=numbers["photographs"],
        sizes=f"{min(sizes)} to {max(sizes)}",
        ratio=max(row["gpu"]["mean"] / row["exact"]["mean"] for row in numbers["rows"]),
        limit=BOUNDS["ratio"],
        noise=f"\nKeras with pictures that are up to half a byte off: {', '.join(noise)}." if noise else "",
        table=table(["network", "cosine, exact reference", "cosine, GPU"], rows),
    )


def textbook(numbers: dict[str, Any]) -> str:
    """Return the section on the textbook's network."""
    names = {"float": "float32 Keras", "exact": "exact reference", "gpu": "GPU"}
    ends = [
        [
            name,
            f"{100 * numbers['top1'][key]:.2f} %",
            *(_comparison(numbers["errors"][key]) if key != "float" else ["-"] * len(COMPARISON)),
        ]
        for key, name in names.items()
    ]
    largest = [row for row in numbers["ranges"] if row["percentile"] >= 100.0]
    layer = next(row for row in largest if not row["per_channel"])
    tight = next(row for row in largest if row["per_channel"] and row["headroom"] == 1.0)
    return TEXTBOOK.format(
        **{key: numbers[key] for key in ("size", "calibration", "photographs", "worst", "ratio")},
        ends=table(["", "top-1", *COMPARISON], ends),
        layer_ranges=layer["mean"],
        no_headroom=tight["mean"],
    )


def superres(numbers: dict[str, Any]) -> str:
    """Return the section on the super-resolution network."""
    names = {"exact": "exact reference", "gpu": "GPU"}
    floats = [
        f"{names[key]} {off['mean']:.3f} in the mean, {off['largest']:.2f} at most"
        for key, off in numbers["float"].items()
    ]
    return SUPERRES.format(
        **{key: numbers[key] for key in ("model", "calibration", "photographs", "size", "worst")},
        largest=numbers["gpu_exact"]["largest"],
        share=100 * numbers["gpu_exact"]["share"],
        floats="; ".join(floats),
    )


def amplification(numbers: dict[str, Any]) -> str:
    """Return the section on gains and errors."""
    rows = [
        [
            row["network"],
            f"{row['median_gain']:.1f}",
            f"{row['gain']['value']:.0f} ({row['gain']['layer']})",
            f"{row['error']['value']:.2f} ({row['error']['layer']})",
        ]
        for row in numbers["rows"]
    ]
    return AMPLIFICATION.format(
        most_gain=MAX_GAIN,
        most_error=MAX_ERROR,
        rounding=ROUNDING,
        photographs=numbers["photographs"],
        table=table(["network", "median gain", "largest gain", "largest error"], rows),
    )


def _by(percentile: float) -> str:
    return "maximum" if percentile >= 100.0 else f"percentile {percentile:g}"


def _comparison(errors: dict[str, float]) -> list[str]:
    return [
        f"{errors['mean']:.4f}",
        f"{errors['largest']:.3f}",
        f"{errors['cosine_mean']:.4f}",
        f"{errors['same_top1']:.0f}",
    ]
