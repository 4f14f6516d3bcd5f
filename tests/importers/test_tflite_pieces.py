"""What files write in pieces becomes one operator, and what no shader does runs on the CPU; beside LiteRT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite_pieces as pieces
from tflite_files import File, close, parsed

from glsl_infer.cpu import custom
from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers.shared.recognised import EXACT, activation_like, norm_like
from glsl_infer.importers.tflite.operators import OPERATORS
from glsl_infer.importers.tflite.reader import survey_of, to_graph
from glsl_infer.importers.tflite.tensors import TENSORS

Build = Callable[[File, int], int]


def operators_behind(build: Build, tolerance: float = 2e-5) -> list[str]:
    """Compare with LiteRT; return the operators behind the first convolution, functions by their text."""
    made = File(3)
    graph = close(made.bytes([build(made, made.conv(made.input((1, 8, 6, 3)), 4))]), tolerance=tolerance)
    return [node.attrs.get("function", node.op) for node in graph.nodes[2:]]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (pieces.selu, ["selu"]),
        (pieces.celu, ["celu(1.5)"]),
        (pieces.mish, ["mish"]),
        (pieces.layer_norm, ["channel_norm"]),
        (pieces.rms_norm, ["channel_norm", "relu"]),
        (pieces.instance_norm, ["global_average_pool", "global_deviation", "map_norm"]),
        (
            pieces.group_norm,
            ["global_average_pool", "global_deviation", "group_statistics", "group_statistics", "map_norm"],
        ),
        (pieces.shuffled, ["channel_gather"]),
        (pieces.enlarged, ["depth_to_space"]),
        (pieces.dense_rows, ["conv2d"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_one_operator(build: Build, expected: list[str]) -> None:
    assert operators_behind(build) == expected


def test_blocks_of_pixels() -> None:
    assert set(operators_behind(pieces.gathered)) == {"spatial_slice", "concat", "channel_gather"}


def test_what_only_looks_like_a_function_stays_as_it_is() -> None:
    """A hard swish with another slope: its pieces are computed as they stand."""

    def bent(made: File, x: int) -> int:
        gate = pieces.one(made, "RELU6", pieces.two(made, "ADD", x, 3.0))
        return pieces.two(made, "MUL", pieces.two(made, "MUL", x, gate), 0.18)

    assert "hard_silu" not in operators_behind(bent)


def test_recognition_is_exact() -> None:
    silu = lambda x: x / (1.0 + np.exp(-x))  # noqa: E731
    assert activation_like(silu, [], EXACT) == "silu"
    assert activation_like(lambda x: silu(1.001 * x), [1.001], EXACT) is None
    assert activation_like(lambda x: np.where(x > 0, x, 0.3 * x), [0.3], EXACT) == "leaky_relu(0.3)"
    assert norm_like(lambda x: x, (4, 4, 8), [1e-3], EXACT) is None
    assert norm_like(lambda x: x - x.mean(-1, keepdims=True), (4, 4, 8), [1e-3], EXACT) is None


def joined(made: File, x: int, operator: int) -> int:
    """A map from a tensor of 192 numbers."""
    return made.op("RESHAPE", [operator, made.constant([1, 8, 6, 4], "i4")], (1, 8, 6, 4), {"Reshape": {}})


def attention(made: File, x: int) -> int:
    rows = made.op("RESHAPE", [x, made.constant([1, 48, 4], "i4")], (1, 48, 4), {"Reshape": {}})
    scores = made.op("BATCH_MATMUL", [rows, rows], (1, 48, 48), {"BatchMatMul": {"adjY": True}})
    weights = made.op("SOFTMAX", [scores], (1, 48, 48), {"Softmax": {"beta": 0.5}})
    return joined(made, x, made.op("BATCH_MATMUL", [weights, rows], (1, 48, 4), {"BatchMatMul": {}}))


def by_a_matrix(made: File, x: int) -> int:
    heads = made.op("RESHAPE", [x, made.constant([1, 2, 4, 6, 4], "i4")], (1, 2, 4, 6, 4), {"Reshape": {}})
    made_of = made.op("BATCH_MATMUL", [heads, made.random(4, 4)], (1, 2, 4, 6, 4), {"BatchMatMul": {"adjY": True}})
    return joined(made, x, made_of)


def packed(made: File, x: int) -> int:
    five = made.op("PACK", [x, made.conv(x, 4)], (1, 2, 8, 6, 4), {"Pack": {"axis": 1, "valuesCount": 2}})
    parts = [made.tensor((1, 8, 6, 4)) for _ in range(2)]
    made.several("UNPACK", [five], parts, {"Unpack": {"num": 2, "axis": 1}})
    return parts[1]


def channels_first(made: File, x: int) -> int:
    moved = made.op("TRANSPOSE", [x, made.constant([0, 3, 1, 2], "i4")], (1, 4, 8, 6))
    return made.op("SOFTMAX", [moved], (1, 4, 8, 6), {"Softmax": {"beta": 1.0}})


def largest(made: File, x: int) -> int:
    values, places = made.tensor((1, 8, 6, 2)), made.tensor((1, 8, 6, 2), "INT32")
    made.several("TOPK_V2", [x, made.constant(2, "i4")], [values, places], {"TopKV2": {}})
    return values


def first_of_least(made: File, x: int) -> int:
    return made.op("ARG_MIN", [x, made.constant(3, "i4")], (1, 8, 6), {"ArgMin": {"outputType": 2}}, type_="INT32")


ON_CPU: dict[str, list[Build]] = {
    "ARG_MIN": [first_of_least],
    "BATCH_MATMUL": [attention, by_a_matrix],
    "PACK": [packed],
    "TOPK_V2": [largest],
    "TRANSPOSE": [channels_first],
    "UNPACK": [packed],
}


def test_every_operator_of_the_cpu_alone_has_a_case() -> None:
    assert set(TENSORS) - {*OPERATORS, "ARG_MAX"} <= set(ON_CPU)


@pytest.mark.parametrize("kind", ON_CPU)
def test_on_the_cpu(kind: str) -> None:
    for build in ON_CPU[kind]:
        operators_behind(build)


def test_custom_operators_are_named_all_and_taken_by_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    made = File()
    x = made.conv(made.input((1, 8, 6, 3)), 4)
    for name in ("Warp", "Landmarks"):
        x = made.op(name, [x, made.constant([2.0])], (1, 8, 6, 4), custom=b"\x01\x02")
    model = parsed(made.bytes([made.conv(x, 2)]))
    with pytest.raises(ModelError, match=r"operator 'Warp'(.|\n)*--operator Warp=MODULE(.|\n)*operator 'Landmarks'"):
        to_graph(model)
    assert [row.kind for row in survey_of(model).rows if row.runs == "refused"] == ["Warp", "Landmarks"]
    for name in ("Warp", "Landmarks"):
        monkeypatch.setitem(custom._classes, name, "mine:twice")
    nodes = [node for node in to_graph(model).nodes if node.op == "custom"]
    assert [node.attrs["calls"] for node in nodes] == ["mine:twice"] * 2
    assert nodes[0].weights["constant1"].tolist() == [2.0] and '"0102"' in nodes[0].attrs["settings"]


def free_sizes() -> bytes:
    """A network of any height and width: shapes of the file are those of one example."""
    made = File()
    x = made.input((1, 8, 8, 3))
    made.graph.tensors[x].shapeSignature = [-1, -1, -1, 3]
    y = made.conv(x, 4, stride=2, fused=1)
    z = made.op("TRANSPOSE_CONV", [doubled(made, y, 3), made.random(3, 2, 2, 4), y], (1, 8, 8, 3),
                {"TransposeConv": {"strideH": 2, "strideW": 2}})  # fmt: skip
    wide = made.op("CONCATENATION", [x, z], (1, 8, 8, 6), {"Concatenation": {"axis": 3}})
    pool = {"filterHeight": 2, "filterWidth": 2, "strideH": 2, "strideW": 2, "padding": 1}
    last = made.op("MAX_POOL_2D", [wide], (1, 4, 4, 6), {"Pool2D": pool})
    for index in (y, z, wide, last):
        made.graph.tensors[index].shapeSignature = [-1, -1, -1, made.shape(index)[3]]
    return made.bytes([last])


def doubled(made: File, x: int, channels: int) -> int:
    """The shape of a map of twice the size, computed from its shape."""
    shape = made.op("SHAPE", [x], (4,), {"Shape": {"outType": 2}}, type_="INT32")
    twice = made.op("MUL", [shape, made.constant([1, 2, 2, 1], "i4")], (4,), {"Mul": {}}, type_="INT32")
    rows = made.op("STRIDED_SLICE", [twice, *(made.constant([n], "i4") for n in (0, 3, 1))], (3,),
                   {"StridedSlice": {}}, type_="INT32")  # fmt: skip
    return made.op("CONCATENATION", [rows, made.constant([channels], "i4")], (4,), {"Concatenation": {"axis": 0}},
                   type_="INT32")  # fmt: skip


def test_free_height_and_width() -> None:
    model = parsed(free_sizes())
    graph = to_graph(model, sizes={"": (12, 20)})
    assert graph.inputs[0].attrs["shape"] == (12, 20, 3) and graph.shape_of(graph.outputs[0]) == (6, 10, 6)
    with pytest.raises(ModelError, match="--input-size"):
        to_graph(model)
    with pytest.raises(InputError, match="no such input; it has image"):
        to_graph(model, sizes={"picture": (12, 20)})


def test_fixed_sizes_stay() -> None:
    made = File()
    model = parsed(made.bytes([made.conv(made.input())]))
    with pytest.raises(InputError, match="leave it out"):
        to_graph(model, sizes={"": (12, 20)})
    with pytest.raises(InputError, match=r"input 'image' is 8x8, and not free"):
        to_graph(model, sizes={"image": (12, 20)})


@pytest.mark.parametrize("several", [False, True])
def test_control_flow_is_refused_by_name(several: bool) -> None:
    made = File()
    x = made.input()
    y = made.op("WHILE", [x], (1, 8, 8, 3), {"While": {"condSubgraphIndex": 1, "bodySubgraphIndex": 1}}, name="loop")
    if several:
        made.model.subgraphs.append(made.graph)
    with pytest.raises(ModelError, match="WHILE 'loop': operators that run other subgraphs"):
        parsed(made.bytes([made.conv(y)]))


def test_a_file_of_several_functions_is_its_first() -> None:
    made = File()
    y = made.conv(made.input())
    made.model.subgraphs.append(made.graph)
    assert len(to_graph(parsed(made.bytes([y]))).nodes) == 2
