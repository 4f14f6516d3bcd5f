"""Converters of detectors' postprocessing for the CPU: TFLite_Detection_PostProcess and NON_MAX_SUPPRESSION.

A network of this engine has outputs of fixed shapes. Unused rows are zeros, and another output has the number of used
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.tflite.call import Call, Converter
from glsl_infer.importers.tflite.choices import shaped, source

MOST = 10000
"""Largest number of detections."""


def post_process(call: Call) -> list[Node]:
    """Convert one output of a TFLite_Detection_PostProcess: boxes, classes, scores, or their number."""
    options = _options(call)
    most, classes_each = int(options["max_detections"]), int(options.get("max_classes_per_detection", 1))
    boxes, scores = (_rows(call, index) for index in (0, 1))
    by_class = bool(options.get("use_regular_nms", False))
    if not 1 <= most <= MOST or (classes_each != 1 and not by_class):
        raise call.refused(
            f"{most} detections of {classes_each} classes each", f"ask for 1 to {MOST}, of one class each"
        )
    scales = tuple(float(options[f"{axis}_scale"]) for axis in "yxhw")
    if not all(scale > 0 for scale in scales):
        raise call.refused(f"scales of {scales}", "give numbers above 0")
    # The first column, the number of columns and the shape of each output: boxes, classes, scores, number.
    columns = ((0, 4, (1, most, 4)), (4, 1, (1, most)), (5, 1, (1, most)), (6, 1, (1,)))
    first_column, count, shape = columns[call.output]
    nodes = [] if call.earlier else _detections(call, options, boxes, scores, scales)
    detections = call.earlier or nodes[-1].name
    name = f"{call.name}-columns" if nodes else call.name
    nodes.append(Node(name, "tensor_slice", (detections,), {"begin": (0, first_column), "size": (most, count)}))
    if call.output == 3:
        total = {"reduction": "sum", "axes": (0,), "keep": False}
        return [*nodes, Node(f"{call.name}-count", "tensor_reduce", (name,), total)]
    return [*nodes, shaped(f"{call.name}-shape", name, shape[1:] if len(shape) == 2 else shape)]


def _detections(
    call: Call, options: Mapping[str, Any], boxes: Shape, scores: Shape, scales: tuple[float, ...]
) -> list[Node]:
    """Return the nodes that compute the rows of all outputs."""
    attrs = {
        "scales": scales,
        "classes": int(options["num_classes"]),
        "most": int(options["max_detections"]),
        "overlap": float(options["nms_iou_threshold"]),
        "least_score": float(options["nms_score_threshold"]),
        "each_class": bool(options.get("use_regular_nms", False)),
        "most_of_class": int(options.get("detections_per_class", 100)),
    }
    inputs = [
        shaped(call.name, source(call, 0, "boxes"), boxes),
        shaped(f"{call.name}-scores", source(call, 1, "scores"), scores),
    ]
    anchors = call.weights(2, "anchors", 2)
    names = tuple(node.name for node in inputs)
    return [*inputs, Node(f"{call.name}-detections", "detections", names, attrs, {"anchors": anchors})]


def _rows(call: Call, index: int) -> Shape:
    shape = call.shapes[index] if index < len(call.shapes) else ()
    if len(shape) < 2 or int(np.prod(shape[:-2])) != 1:
        raise call.refused(f"boxes or scores of shape {shape}", "give those of one image")
    return shape[-2:]


def _options(call: Call) -> dict[str, Any]:
    from flatbuffers import flexbuffers

    try:
        options = flexbuffers.GetRoot(bytearray(call.operator.custom_options)).AsMap.Value
        return dict(options)
    except Exception as error:  # a damaged file can raise any exception in the package
        raise call.refused(f"options that cannot be read ({error})", "the file is damaged; get it anew") from None


def _suppressed(call: Call) -> list[Node]:
    """Convert one output of a NON_MAX_SUPPRESSION_V4 or V5: indices, scores, or their number."""
    most = call.integers(2, "how many")[0]
    overlap, least = (float(call.constant(index, "a limit").reshape(-1)[0]) for index in (3, 4))
    if not 1 <= most <= MOST or (call.kind.endswith("V5") and call.constant(5, "sigma").reshape(-1)[0] != 0):
        raise call.refused(f"{most} boxes, or with a sigma", f"ask for 1 to {MOST}, with a sigma of 0")
    nodes: list[Node] = []
    selected = call.earlier
    scores = source(call, 1, "scores")
    if not selected:
        count = int(np.prod(call.shapes[1]))
        nodes = [shaped(call.name, source(call, 0, "boxes"), (count, 4))]
        nodes.append(shaped(f"{call.name}-scores", scores, (count,)))
        read = tuple(node.name for node in nodes)
        attrs = {"most": most, "overlap": overlap, "least_score": least}
        nodes.append(Node(f"{call.name}-kept", "non_max_suppression", read, attrs))
        selected = nodes[-1].name
    name = f"{call.name}-found" if nodes else call.name
    zero: NDArray[np.float32] = np.zeros(1, np.float32)
    is_selected = Node(name, "tensor_binary", (selected,), {"operation": "greater_equal"}, {"constant": zero})
    if call.output == 0:
        return [*nodes, Node(name, "tensor_function", (selected,), {"function": "relu"})]
    if call.output == 1 and call.kind.endswith("V5"):
        flat = shaped(name, scores, (int(np.prod(call.shapes[1])),))
        places = shaped(f"{call.name}-places", selected, (most, 1))
        return [*nodes, flat, places, Node(f"{call.name}-taken", "gather_points", (flat.name, places.name), {})]
    total = {"reduction": "sum", "axes": (0,), "keep": True}
    return [*nodes, is_selected, Node(f"{call.name}-count", "tensor_reduce", (name,), total)]


SHARED = ("detections", "non_max_suppression")
"""Operators shared by all outputs of a detection operator. They are computed once."""

DETECTIONS: Mapping[str, Converter] = {
    "NON_MAX_SUPPRESSION_V4": _suppressed,
    "NON_MAX_SUPPRESSION_V5": _suppressed,
}
"""Converters by the operator's name in the schema."""
