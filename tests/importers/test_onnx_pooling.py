"""ONNX pooling: windows, strides, dilations, padding and rounded-up sizes, compared with ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_networks import File, agreement
from pairwise import pairs_of

from glsl_infer.graph import reference
from glsl_infer.importers import onnx as importer

KINDS = {
    "mean": ("AveragePool", {"count_include_pad": 0}),
    "mean with padding": ("AveragePool", {"count_include_pad": 1}),
    "largest": ("MaxPool", {}),
    "length": ("LpPool", {}),
    "sum of sizes": ("LpPool", {"p": 1}),
    "cubic": ("LpPool", {"p": 3}),
}
PADS = {"none": {}, "even": {"pads": [1, 1, 1, 1]}, "uneven": {"pads": [0, 2, 1, 1]}, "valid": {"auto_pad": "VALID"},
        "upper": {"auto_pad": "SAME_UPPER"}, "lower": {"auto_pad": "SAME_LOWER"}}  # fmt: skip


def since(kind: str, dilated: bool, ceil: bool) -> int:
    """Return the first opset whose operator has these options."""
    newest = {"AveragePool": (19, 10), "MaxPool": (10, 10), "LpPool": (18, 18)}[kind]
    return newest[0] if dilated else newest[1] if ceil else 7


@pairs_of(
    ("kind", KINDS),
    ("opset", [7, 11, 18, 22]),
    ("window", [(3, 3), (2, 5), (3, 4)]),
    ("strides", [(1, 1), (2, 3), (4, 2)]),
    ("dilations", [(1, 1), (2, 2), (1, 3)]),
    ("pads", PADS),
    ("ceil", [0, 1]),
)
def test_pooling_agrees_with_onnx_runtime(
    kind: Any, opset: int, window: Any, strides: Any, dilations: Any, pads: dict[str, Any], ceil: int
) -> None:
    op, options = kind
    if "auto_pad" in pads:  # with dilations, ONNX Runtime pads as if there were none
        dilations = (1, 1)
    own = dict(options, **pads, kernel_shape=list(window), strides=list(strides))
    if max(dilations) > 1:
        own["dilations"] = list(dilations)
    if ceil:
        own["ceil_mode"] = 1
    file = File(3, max(opset, since(op, max(dilations) > 1, bool(ceil))))
    file.output(file.op(op, [file.input((1, 4, 11, 12))], (1, 4, 1, 1), **own))
    assert agreement(file.model()) <= 2e-5


def test_means_divide_by_the_taps_inside_the_padding() -> None:
    """Window positions that ceil_mode adds beyond the padding do not count: in the last column, six of nine taps do."""
    options = {"pads": [1, 2, 1, 1], "kernel_shape": [3, 3], "strides": [2, 2], "dilations": [2, 2], "ceil_mode": 1,
               "count_include_pad": 1}  # fmt: skip
    file = File(0, 19)
    file.output(file.op("AveragePool", [file.input((1, 4, 9, 9))], (1, 4, 4, 5), **options))
    imported = importer.imported(file.model(), io_options=importer.IoOptions(fits={"": "none"}))
    ones = reference.run(imported.survey.whole(), {"x": np.ones((9, 9, 4), np.float32)}, mode="float")
    (name,) = imported.outputs
    counted = imported.file_output(name, ones[name])[0, 0]
    rows, columns = np.array([2, 3, 3, 2]) / 3, np.array([2 / 3, 1, 1, 1, 1])
    assert np.abs(counted - np.outer(rows, columns)).max() < 1e-6


@pytest.mark.parametrize("power", [1, 2, 3])
def test_norms_of_maps_agree_with_onnx_runtime(power: int) -> None:
    file = File(1, 18)
    file.output(file.op("GlobalLpPool", [file.input((1, 4, 7, 5))], (1, 4, 1, 1), p=power))
    assert agreement(file.model()) <= 2e-5
