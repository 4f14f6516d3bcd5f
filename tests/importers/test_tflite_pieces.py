"""Decomposed operators are fused, and those without a shader run on the CPU; compared with LiteRT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import tflite_pieces as pieces
from flatbuffers import flexbuffers
from tflite_files import File, close, parsed

from glsl_infer.cpu import custom
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph.elementwise import BINARY
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.recognition import EXACT, activation_like, norm_like
from glsl_infer.importers.tflite.operators import OPERATORS
from glsl_infer.importers.tflite.reader import survey_of, to_graph
from glsl_infer.importers.tflite.tensors import TENSORS

Build = Callable[[File, int], int]


def operators_behind(build: Build, tolerance: float = 2e-5) -> list[str]:
    """Compare with LiteRT; return the operators after the first convolution, with activations by their text."""
    file = File(3)
    graph = close(file.bytes([build(file, file.conv(file.input((1, 8, 6, 3)), 4))]), tolerance=tolerance)
    return [node.attrs.get("function", node.op) for node in graph.nodes[2:]]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (pieces.selu, ["selu"]),
        (pieces.celu, ["celu(1.5)"]),
        (pieces.mish, ["mish"]),
        (pieces.soft_shrink, ["soft_shrink(0.75)"]),
        (pieces.thresholded, ["threshold(0.25,-0.5)"]),
        (pieces.layer_norm, ["channel_norm"]),
        (pieces.rms_norm, ["channel_norm", "relu"]),
        (pieces.instance_norm, ["global_average_pool", "global_deviation", "map_norm"]),
        (
            pieces.group_norm,
            ["global_average_pool", "global_deviation", "group_statistics", "group_statistics", "map_norm"],
        ),
        (
            pieces.group_norm_relu,
            ["global_average_pool", "global_deviation", "group_statistics", "group_statistics", "map_norm", "relu"],
        ),
        (pieces.positions, ["constant_map", "add", "constant_map", "binary", "constant_map", "binary"]),
        (pieces.shuffled, ["channel_gather"]),
        (pieces.enlarged, ["depth_to_space"]),
        (pieces.dense_rows, ["conv2d"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_decomposed_functions_become_one_operator(build: Build, expected: list[str]) -> None:
    assert operators_behind(build) == expected


def test_norms_of_rows_read_rows() -> None:
    """A norm in pieces after a change of shape does not change the shape again."""

    def rows(file: File, x: int) -> int:
        shape = (1, 48, 4)
        y = file.op("RESHAPE", [x, file.constant(shape, "i4")], shape, {"Reshape": {}})
        middle, inverse = pieces.moments(file, y, [2], 1e-3)
        normed = pieces.binary(file, "MUL", pieces.binary(file, "SUB", y, middle), inverse)
        return reshape_to_map(file, x, pieces.binary(file, "ADD", normed, y))

    assert operators_behind(rows) == ["reshape", "channel_norm", "add", "reshape"]


def test_maps_are_joined_along_rows_and_columns_by_shaders() -> None:
    def both(file: File, x: int) -> int:
        below = file.op("CONCATENATION", [x, file.conv(x, 4)], (1, 16, 6, 4), {"Concatenation": {"axis": 1}})
        return file.op("CONCATENATION", [below, below], (1, 16, 12, 4), {"Concatenation": {"axis": -2}})

    assert operators_behind(both) == ["conv2d", *2 * ["zero_padding", "zero_padding", "add"]]


def test_blocks_of_pixels() -> None:
    assert set(operators_behind(pieces.gathered)) == {"spatial_slice", "concat", "channel_gather"}


def test_similar_operators_are_not_fused() -> None:
    """A hard swish with another slope is not fused: its operators stay."""

    def bent(file: File, x: int) -> int:
        gate = pieces.unary(file, "RELU6", pieces.binary(file, "ADD", x, 3.0))
        return pieces.binary(file, "MUL", pieces.binary(file, "MUL", x, gate), 0.18)

    assert "hard_silu" not in operators_behind(bent)


def test_recognition_is_exact() -> None:
    silu = lambda x: x / (1.0 + np.exp(-x))  # noqa: E731
    assert activation_like(silu, [], EXACT) == "silu"
    assert activation_like(lambda x: silu(1.001 * x), [1.001], EXACT) is None
    assert activation_like(lambda x: np.where(x > 0, x, 0.3 * x), [0.3], EXACT) == "leaky_relu(0.3)"
    assert norm_like(lambda x: x, (4, 4, 8), [1e-3], EXACT) is None
    assert norm_like(lambda x: x - x.mean(-1, keepdims=True), (4, 4, 8), [1e-3], EXACT) is None


def reshape_to_map(file: File, x: int, operator: int) -> int:
    """Add a reshape of 192 values to a map."""
    return file.op("RESHAPE", [operator, file.constant([1, 8, 6, 4], "i4")], (1, 8, 6, 4), {"Reshape": {}})


def attention(file: File, x: int) -> int:
    rows = file.op("RESHAPE", [x, file.constant([1, 48, 4], "i4")], (1, 48, 4), {"Reshape": {}})
    scores = file.op("BATCH_MATMUL", [rows, rows], (1, 48, 48), {"BatchMatMul": {"adjY": True}})
    weights = file.op("SOFTMAX", [scores], (1, 48, 48), {"Softmax": {"beta": 0.5}})
    return reshape_to_map(file, x, file.op("BATCH_MATMUL", [weights, rows], (1, 48, 4), {"BatchMatMul": {}}))


def by_a_matrix(file: File, x: int) -> int:
    heads = file.op("RESHAPE", [x, file.constant([1, 2, 4, 6, 4], "i4")], (1, 2, 4, 6, 4), {"Reshape": {}})
    made_of = file.op("BATCH_MATMUL", [heads, file.random(4, 4)], (1, 2, 4, 6, 4), {"BatchMatMul": {"adjY": True}})
    return reshape_to_map(file, x, made_of)


def of_a_matrix(file: File, x: int) -> int:
    """Add products with a constant matrix on the left, first as it is, then with both operands transposed."""
    rows = file.op("RESHAPE", [x, file.constant([1, 48, 4], "i4")], (1, 48, 4), {"Reshape": {}})
    first = file.op("BATCH_MATMUL", [file.random(1, 6, 48), rows], (1, 6, 4), {"BatchMatMul": {}})
    other = file.op(
        "BATCH_MATMUL", [file.random(4, 8), first], (1, 8, 6), {"BatchMatMul": {"adjX": True, "adjY": True}}
    )
    return file.op("RESHAPE", [other, file.constant([1, 48], "i4")], (1, 48), {"Reshape": {}})


def class_token(file: File, x: int) -> int:
    """Add a constant row and a row of zeros before the network's rows, and constants after them."""
    rows = file.op("RESHAPE", [x, file.constant([1, 48, 4], "i4")], (1, 48, 4), {"Reshape": {}})
    ends = [file.constant([0, channel, 0], "i4") for channel in (0, 1)]
    token = file.op("SLICE", [rows, ends[0], file.constant([1, 1, 4], "i4")], (1, 1, 4))
    zeros = file.op("ZEROS_LIKE", [token], (1, 1, 4))
    tokens = [file.random(1, 1, 4), zeros, rows, token, file.random(1, 2, 4)]
    return file.op("CONCATENATION", tokens, (1, 53, 4), {"Concatenation": {"axis": 1}})


def heads(kind: str) -> Build:
    """Return a builder of queries, keys and values of two heads, with the batch temporarily in the second axis."""

    def build(file: File, x: int) -> int:
        wide, order = (1, 16, 3, 2, 2), (3, 1, 2, 16, 2)
        five = file.op("RESHAPE", [x, file.constant(wide, "i4")], wide, {"Reshape": {}})
        turned = file.op("TRANSPOSE", [five, file.constant([2, 0, 3, 1, 4], "i4")], order, version=4)
        parts = [file.tensor((1, 2, 16, 2)) for _ in range(3)]
        if kind == "UNPACK":
            file.several(kind, [turned], parts, {"Unpack": {"num": 3, "axis": 0}})
        else:
            for index, projection in enumerate(parts):
                ends = [[index, 0, 0, 0, 0], [index + 1, 1, 2, 16, 2], [1] * 5]
                options = {"StridedSlice": {"shrinkAxisMask": 1}}
                file.several(kind, [turned, *(file.constant(each, "i4") for each in ends)], [projection], options)
        keys = file.op("BATCH_MATMUL", parts[:2], (1, 2, 16, 16), {"BatchMatMul": {"adjY": True}})
        return file.op("BATCH_MATMUL", [keys, parts[2]], (1, 2, 16, 2), {"BatchMatMul": {}})

    return build


def as_shapes_say(file: File, x: int) -> int:
    """Add a constant repeated to a shape computed from another shape and the empty shape of a scalar."""
    shape = file.op("BROADCAST_ARGS", [file.constant([1, 8, 6, 4], "i4"), file.constant([], "i4")], (4,), type_="INT32")
    return pieces.binary(
        file, "ADD", x, file.op("BROADCAST_TO", [file.constant([0.5]), shape], (1, 8, 6, 4), version=2)
    )


def packed(file: File, x: int) -> int:
    five = file.op("PACK", [x, file.conv(x, 4)], (1, 2, 8, 6, 4), {"Pack": {"axis": 1, "valuesCount": 2}})
    parts = [file.tensor((1, 8, 6, 4)) for _ in range(2)]
    file.several("UNPACK", [five], parts, {"Unpack": {"num": 2, "axis": 1}})
    return parts[1]


def channels_first(file: File, x: int) -> int:
    transposed = file.op("TRANSPOSE", [x, file.constant([0, 3, 1, 2], "i4")], (1, 4, 8, 6))
    return file.op("SOFTMAX", [transposed], (1, 4, 8, 6), {"Softmax": {"beta": 1.0}})


def largest(file: File, x: int) -> int:
    values, indices = file.tensor((1, 8, 6, 2)), file.tensor((1, 8, 6, 2), "INT32")
    file.several("TOPK_V2", [x, file.constant(2, "i4")], [values, indices], {"TopKV2": {}})
    return values


def first_of_least(file: File, x: int) -> int:
    return file.op("ARG_MIN", [x, file.constant(3, "i4")], (1, 8, 6), {"ArgMin": {"outputType": 2}}, type_="INT32")


def as_float(file: File, x: int) -> int:
    return file.op("CAST", [x], file.shape(x), {"Cast": {}})


def compared(kind: str) -> Build:
    def build(file: File, x: int) -> int:
        name = "".join(word.title() for word in kind.split("_"))
        return as_float(file, file.op(kind, [x, file.conv(x, 4)], (1, 8, 6, 4), {name: {}}, type_="BOOL"))

    return build


def logical(kind: str) -> Build:
    def build(file: File, x: int) -> int:
        high = file.op("GREATER", [x, file.constant(0.2)], (1, 8, 6, 4), {"Greater": {}}, type_="BOOL")
        low = file.op("LESS", [x, file.constant(0.5)], (1, 8, 6, 4), {"Less": {}}, type_="BOOL")
        inputs = [high] if kind.endswith("NOT") else [high, low]
        name = "".join(word.title() for word in kind.split("_"))
        return as_float(file, file.op(kind, inputs, (1, 8, 6, 4), {name: {}}, type_="BOOL"))

    return build


def function(kind: str) -> Build:
    """Return a builder of a function of non-integer values."""
    options = {"SIGN": {"Sign": {}}}.get(kind)
    return lambda file, x: file.op(kind, [pieces.binary(file, "MUL", x, 3.013)], (1, 8, 6, 4), options)


def chosen(kind: str) -> Build:
    def build(file: File, x: int) -> int:
        high = file.op("GREATER", [x, file.constant(0.2)], (1, 8, 6, 4), {"Greater": {}}, type_="BOOL")
        values = [-0.5, 0.0, 1.0, 2.0]
        other = file.constant(np.resize(values, (1, 8, 6, 4)) if kind == "SELECT" else values)
        return file.op(kind, [high, x, other], (1, 8, 6, 4), {"Select" if kind == "SELECT" else "SelectV2": {}})

    return build


def best_pixels(file: File, x: int) -> tuple[int, int]:
    """Add the index of the maximum pixel of each channel, and a list of pixels."""
    flat = file.op("RESHAPE", [x, file.constant([48, 4], "i4")], (48, 4), {"Reshape": {}})
    best = file.op("ARG_MAX", [flat, file.constant(0, "i4")], (4,), {"ArgMax": {"outputType": 2}}, type_="INT32")
    return best, flat


def divided(kind: str) -> Build:
    """Return a builder of the row or the column of a pixel, from its index."""

    def build(file: File, x: int) -> int:
        best, _ = best_pixels(file, x)
        options = {"FLOOR_DIV": {"FloorDiv": {}}, "FLOOR_MOD": {"FloorMod": {}}, "DIV": {"Div": {}}}[kind]
        return as_float(file, file.op(kind, [best, file.constant(6, "i4")], (4,), options, type_="INT32"))

    return build


def angle(file: File, x: int) -> int:
    return file.op("ATAN2", [x, file.conv(x, 4)], (1, 8, 6, 4), {"ATan2": {}})


def rows_taken(file: File, x: int) -> int:
    best, flat = best_pixels(file, x)
    return file.op("GATHER", [flat, best], (4, 4), {"Gather": {"axis": 0}})


def points_taken(file: File, x: int) -> int:
    best, flat = best_pixels(file, x)
    columns = file.constant([[0], [1], [2], [3]], "i4")
    upright = file.op("RESHAPE", [best, file.constant([4, 1], "i4")], (4, 1), {"Reshape": {}}, type_="INT32")
    doubled = file.op("CONCATENATION", [upright, upright], (4, 2), {"Concatenation": {"axis": 1}}, type_="INT32")
    clipped = file.op(
        "MINIMUM", [doubled, file.constant([[47, 3]], "i4")], (4, 2), {"MaximumMinimum": {}}, type_="INT32"
    )
    assert columns
    return file.op("GATHER_ND", [flat, clipped], (4,), {"GatherNd": {}})


def scattered_pixels(file: File, x: int) -> int:
    """Add pixels, two of them at the same index, to zeros."""
    _, flat = best_pixels(file, x)
    slice_ = file.op("SLICE", [flat, file.constant([0, 0], "i4"), file.constant([3, 4], "i4")], (3, 4))
    operands = [file.constant([[4], [0], [4]], "i4"), slice_, file.constant([6, 4], "i4")]
    return file.op("SCATTER_ND", operands, (6, 4), {"ScatterNd": {}})


def hot(file: File, x: int) -> int:
    best, _ = best_pixels(file, x)
    operands = [file.constant(48, "i4"), file.constant(2.0), file.constant(-1.0)]
    return file.op("ONE_HOT", [best, *operands], (4, 48), {"OneHot": {"axis": -1}})


def padded_pixels(kind: str, constant: list, shape: tuple[int, ...]) -> Build:
    """Return a builder of a padded, mirrored or repeated list of pixels."""

    def build(file: File, x: int) -> int:
        flat = file.op("RESHAPE", [x, file.constant([1, 1, 12, 4, 4], "i4")], (1, 1, 12, 4, 4), {"Reshape": {}})
        options = {"MIRROR_PAD": {"MirrorPad": {"mode": 0}}}.get(kind)
        return file.op(kind, [flat, file.constant(constant, "i4")], shape, options)

    return build


def summed(file: File, x: int) -> int:
    return file.op("CUMSUM", [x, file.constant(2, "i4")], (1, 8, 6, 4), {"Cumsum": {"exclusive": True}})


def every_second(file: File, x: int) -> int:
    flat = file.op("RESHAPE", [x, file.constant([1, 1, 12, 4, 4], "i4")], (1, 1, 12, 4, 4), {"Reshape": {}})
    ends = [file.constant(values, "i4") for values in ([0] * 5, [1, 1, 12, 4, 4], [1, 1, 3, 1, 2])]
    return file.op("STRIDED_SLICE", [flat, *ends], (1, 1, 4, 4, 2), {"StridedSlice": {}})


def suppressed(kind: str) -> Build:
    """Return a builder of non-maximum suppression on distant boxes that fill the result: indices, scores, and count."""

    def build(file: File, x: int) -> int:
        _, flat = best_pixels(file, x)
        corner = pieces.unary(file, "LOGISTIC", flat)
        boxes = file.op(
            "ADD", [corner, file.constant(np.arange(48)[:, None] * 10 + [0, 0, 3, 3])], (48, 4), {"Add": {}}
        )
        column = file.op("SLICE", [corner, file.constant([0, 1], "i4"), file.constant([48, 1], "i4")], (48, 1))
        scores = file.op("RESHAPE", [column, file.constant([48], "i4")], (48,), {"Reshape": {}})
        operands = [file.constant(6, "i4"), file.constant(0.5), file.constant(0.0)]
        places, count = file.tensor((6,), "INT32"), file.tensor((), "INT32")
        outputs = [places, count]
        if kind.endswith("V5"):
            operands.append(file.constant(0.0))
            outputs.insert(1, file.tensor((6,)))
        file.several(kind, [boxes, scores, *operands], outputs, {kind.title().replace("_", ""): {}})
        return outputs[0] if kind.endswith("V4") else outputs[1]

    return build


PADDED = [[0, 0], [0, 0], [1, 2], [0, 0], [1, 1]]

WITHOUT_SHADER = {kind for kind, row in elementwise.operations("tflite").items() if not BINARY[row].glsl} - {"POW"}


def recurrent(function: int, *, major: bool = False) -> Build:
    def build(file: File, x: int) -> int:
        size = (48, 1) if major else (1, 48)
        sequence = file.op("RESHAPE", [x, file.constant([*size, 4], "i4")], (*size, 4))
        state = file.tensor((1, 3))
        file.graph.tensors[state].isVariable = True
        inputs = [sequence, file.random(3, 4), file.random(3, 3), file.random(3), state]
        options = {"SequenceRNN": {"fusedActivationFunction": function, "timeMajor": major}}
        return file.op("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, (*size, 3), options)

    return build


ON_CPU: dict[str, list[Build]] = {
    **{kind: [compared(kind)] for kind in ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")},
    **{kind: [logical(kind)] for kind in ("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR")},
    **{kind: [function(kind)] for kind in ("CEIL", "FLOOR", "ROUND", "SIGN")},
    **{kind: [divided(kind)] for kind in ("DIV", "FLOOR_DIV", "FLOOR_MOD")},
    **{kind: [chosen(kind)] for kind in ("SELECT", "SELECT_V2")},
    **{kind: [suppressed(kind)] for kind in ("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")},
    "ATAN2": [angle],
    "CUMSUM": [summed],
    "GATHER": [rows_taken],
    "GATHER_ND": [points_taken],
    "MIRROR_PAD": [padded_pixels("MIRROR_PAD", PADDED, (1, 1, 15, 4, 6))],
    "ONE_HOT": [hot],
    "SCATTER_ND": [scattered_pixels],
    "PAD": [padded_pixels("PAD", PADDED, (1, 1, 15, 4, 6))],
    "REVERSE_V2": [padded_pixels("REVERSE_V2", [2], (1, 1, 12, 4, 4))],
    "STRIDED_SLICE": [every_second],
    "TILE": [padded_pixels("TILE", [1, 2, 1, 3, 1], (1, 2, 12, 12, 4))],
    "ARG_MIN": [first_of_least],
    "BATCH_MATMUL": [attention, by_a_matrix, of_a_matrix],
    "BROADCAST_ARGS": [as_shapes_say],
    "CONCATENATION": [class_token],
    "PACK": [packed],
    "TOPK_V2": [largest],
    "TRANSPOSE": [channels_first],
    "PLACES": [heads("UNPACK"), heads("STRIDED_SLICE")],
    "UNIDIRECTIONAL_SEQUENCE_RNN": [recurrent(1), recurrent(4, major=True)],
    "UNPACK": [packed],
}


def test_every_operator_of_the_cpu_alone_has_a_case() -> None:
    in_test_tflite_sequences = {"BATCH_TO_SPACE_ND", "LSTM", "SPACE_TO_BATCH_ND", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
    assert set(TENSORS) - {*OPERATORS, *in_test_tflite_sequences, "ARG_MAX"} <= set(ON_CPU)
    assert set(ON_CPU) >= WITHOUT_SHADER


@pytest.mark.parametrize("kind", ON_CPU)
def test_operators_without_a_shader_run_on_the_cpu(kind: str) -> None:
    for build in ON_CPU[kind]:
        operators_behind(build)


def test_a_recurrent_layer_with_another_function_is_refused() -> None:
    with pytest.raises(ModelError, match="SEQUENCE_RNN: with another function than tanh and relu; use tanh or relu"):
        operators_behind(recurrent(3))


def detector(regular: bool, most: int = 6) -> bytes:
    """Return an SSD head on 48 anchors and 3 classes with its custom operator, a file of four outputs."""
    file = File(5)
    x = file.conv(file.input((1, 8, 6, 3)), 8)
    rows = [file.op("RESHAPE", [file.conv(x, count, kernel=1), file.constant([1, 48, count], "i4")], (1, 48, count),
                    {"Reshape": {}}) for count in (4, 4)]  # fmt: skip
    scores = file.op("LOGISTIC", [rows[1]], (1, 48, 4))
    y, x_ = np.mgrid[0.5:8, 0.5:6].reshape(2, 48) / [[8], [6]]
    anchors = file.constant(np.stack([y, x_, np.full(48, 0.3), np.full(48, 0.4)], 1))
    options = flexbuffers.Dumps(
        {
            "max_detections": most, "max_classes_per_detection": 1, "detections_per_class": 4, "num_classes": 3,
            "use_regular_nms": regular, "nms_score_threshold": 0.4, "nms_iou_threshold": 0.5,
            "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
        }
    )  # fmt: skip
    outputs = [file.tensor(shape) for shape in ((1, most, 4), (1, most), (1, most), (1,))]
    file.several("TFLite_Detection_PostProcess", [rows[0], scores, anchors], outputs, custom=bytes(options))
    return file.bytes(outputs)


@pytest.mark.parametrize("regular", [False, True])
def test_detections_of_an_ssd(regular: bool) -> None:
    graph = close(detector(regular))
    assert [node.op for node in graph.nodes].count("detections") == 1
    assert graph.by_name[graph.outputs[3].layers[0]].op == "tensor_reduce"


def test_detections_without_shapes_and_without_options() -> None:
    """Converters often omit the shapes of a custom operator's outputs."""
    complete = parsed(detector(False))
    tensors = [
        replace(tensor, shape=()) if index in complete.operators[-1].outputs else tensor
        for index, tensor in enumerate(complete.tensors)
    ]
    graph = to_graph(replace(complete, tensors=tuple(tensors)))
    assert [graph.shapes[output.layers[0]] for output in graph.outputs] == [(1, 6, 4), (6,), (6,), (1,)]
    broken = replace(complete.operators[-1], custom_options=b"")
    with pytest.raises(ModelError, match="TFLite_Detection_PostProcess: options that cannot be read"):
        to_graph(replace(complete, operators=(*complete.operators[:-1], broken)))


def test_custom_operators_are_named_all_and_taken_by_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    file = File()
    x = file.conv(file.input((1, 8, 6, 3)), 4)
    for name in ("Warp", "Landmarks"):
        x = file.op(name, [x, file.constant([2.0])], (1, 8, 6, 4), custom=b"\x01\x02")
    model = parsed(file.bytes([file.conv(x, 2)]))
    with pytest.raises(ModelError, match=r"operator 'Warp'(.|\n)*--operator Warp=MODULE(.|\n)*operator 'Landmarks'"):
        to_graph(model)
    assert [row.kind for row in survey_of(model).rows if row.runs == "refused"] == ["Warp", "Landmarks"]
    for name in ("Warp", "Landmarks"):
        monkeypatch.setitem(custom._classes, name, "mine:twice")
    nodes = [node for node in to_graph(model).nodes if node.op == "custom"]
    assert [node.attrs["calls"] for node in nodes] == ["mine:twice"] * 2
    assert nodes[0].weights["constant1"].tolist() == [2.0] and '"0102"' in nodes[0].attrs["settings"]


def free_sizes() -> bytes:
    """Return a network of any height and width, whose file has the shapes of one example."""
    file = File()
    x = file.input((1, 8, 8, 3))
    file.graph.tensors[x].shapeSignature = [-1, -1, -1, 3]
    y = file.conv(x, 4, stride=2, fused=1)
    z = file.op("TRANSPOSE_CONV", [doubled(file, y, 3), file.random(3, 2, 2, 4), y], (1, 8, 8, 3),
                {"TransposeConv": {"strideH": 2, "strideW": 2}})  # fmt: skip
    wide = file.op("CONCATENATION", [x, z], (1, 8, 8, 6), {"Concatenation": {"axis": 3}})
    pool = {"filterHeight": 2, "filterWidth": 2, "strideH": 2, "strideW": 2, "padding": 1}
    last = file.op("MAX_POOL_2D", [wide], (1, 4, 4, 6), {"Pool2D": pool})
    for index in (y, z, wide, last):
        file.graph.tensors[index].shapeSignature = [-1, -1, -1, file.shape(index)[3]]
    return file.bytes([last])


def doubled(file: File, x: int, channels: int) -> int:
    """Add the shape of a map of twice the size, computed from its shape."""
    shape = file.op("SHAPE", [x], (4,), {"Shape": {"outType": 2}}, type_="INT32")
    twice = file.op("MUL", [shape, file.constant([1, 2, 2, 1], "i4")], (4,), {"Mul": {}}, type_="INT32")
    rows = file.op("STRIDED_SLICE", [twice, *(file.constant([n], "i4") for n in (0, 3, 1))], (3,),
                   {"StridedSlice": {}}, type_="INT32")  # fmt: skip
    return file.op("CONCATENATION", [rows, file.constant([channels], "i4")], (4,), {"Concatenation": {"axis": 0}},
                   type_="INT32")  # fmt: skip


def test_free_height_and_width() -> None:
    model = parsed(free_sizes())
    graph = to_graph(model, sizes={"": (12, 20)})
    assert graph.inputs[0].attrs["shape"] == (12, 20, 3) and graph.shape_of(graph.outputs[0]) == (6, 10, 6)
    with pytest.raises(ModelError, match="--input-size"):
        to_graph(model)
    with pytest.raises(InputError, match="no such input; it has image"):
        to_graph(model, sizes={"picture": (12, 20)})


def test_fixed_sizes_are_kept() -> None:
    file = File()
    model = parsed(file.bytes([file.conv(file.input())]))
    with pytest.raises(InputError, match="leave it out"):
        to_graph(model, sizes={"": (12, 20)})
    with pytest.raises(InputError, match="input 'image'"):
        to_graph(model, sizes={"image": (12, 20)})


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", ["WHILE", "IF"])
def test_control_flow_is_refused_by_name(kind: str, several: bool) -> None:
    file = File()
    x = file.input()
    names = {"WHILE": ("cond", "body"), "IF": ("then", "else")}[kind]
    options = {kind.title(): {f"{name}SubgraphIndex": 1 for name in names}}
    y = file.op(kind, [x], (1, 8, 8, 3), options, name="flow")
    if several:
        file.model.subgraphs.append(file.graph)
    with pytest.raises(ModelError, match=f"{kind} 'flow': operators that run other subgraphs"):
        parsed(file.bytes([file.conv(y)]))


def test_a_file_of_several_functions_is_its_first() -> None:
    file = File()
    y = file.conv(file.input())
    file.model.subgraphs.append(file.graph)
    assert len(to_graph(parsed(file.bytes([y]))).nodes) == 2
