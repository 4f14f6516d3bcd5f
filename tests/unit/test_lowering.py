"""The compiled network: draws, targets, clears, and the rules for every runner."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import PLS, classifier, conv_node, dense_node, input_node, pool_node
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_graph, tiny_program

from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.target import Target
from glsl_infer.ops.max_pool import written_out
from glsl_infer.program import CompiledNetwork, Pass, Quad, Texture
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.frame import needless_clears


def program(graph: Graph, weights: str = "auto", memory: str = "auto") -> CompiledNetwork:
    return lower.to_program(prepare(graph).graph, Target(weights=weights, memory=memory))


@pytest.mark.parametrize("weights", ["baked", "uniform", "texture", "auto"])
def test_rules_of_every_pass(weights: str) -> None:
    program = tiny_program(weights=weights)
    textures = {texture.name: texture for texture in program.textures}
    target = None
    for draw in program.passes:
        assert len(draw.textures) <= 8
        assert draw.target not in draw.textures
        assert draw.clear == (draw.target != target)
        target = draw.target
        for quad in draw.quads:
            assert quad.x + quad.width <= textures[draw.target].width
            assert quad.y + quad.height <= textures[draw.target].height
    jobs = [draw.layer for draw in program.passes if draw.clear]
    assert len(jobs) == len(set(jobs)), "every layer is drawn in one job"


def test_baked_has_a_program_a_slice_and_uniform_one_a_layer() -> None:
    baked, uniform = tiny_program(weights="baked"), tiny_program(weights="uniform")
    assert len(baked.passes) == len(uniform.passes)
    assert len(baked.programs) > len(uniform.programs)
    convolutions = [draw for draw in baked.passes if draw.program.rsplit(".", 1)[-1].isdigit()]
    assert len({convolution.program for convolution in convolutions}) == len(convolutions)
    assert all("weights" not in draw.uniforms for draw in baked.passes)


def test_sums_of_programs_of_their_own_lose_no_digits_to_waiting() -> None:
    """The fourth channel's weights are so small that fetches can wait for its sum, unless a texel is added unscaled."""
    rng = np.random.default_rng(0)
    nodes = [input_node(6), conv_node(rng, "plain", ("image",), 3, 8, kernel=(2, 2), activation="relu(1)")]
    nodes.append(conv_node(rng, "unit", ("plain", "plain"), 8, 8, activation="relu(1)"))
    compiled = program(classifier(rng, nodes, 8), "baked")
    texts = {program.name: compiled.members[program.fragment].decode() for program in compiled.programs}
    assert ["#define UNIT " in texts[f"plain.{index}"] for index in range(2)] == [True, True]
    assert ["TIED(" in texts[f"plain.{index}"] for index in range(2)] == [False, False]
    assert ["#define UNIT " in texts[f"unit.{index}"] for index in range(2)] == [False, False]


def test_layers_of_one_shape_share_their_program() -> None:
    rng = np.random.default_rng(0)
    chain = [input_node(6), conv_node(rng, "c0", ("image",), 3, 8)]
    chain += [conv_node(rng, f"c{i}", (f"c{i - 1}",), 8, 8) for i in range(1, 4)]
    compiled = program(classifier(rng, chain, 8), "uniform")
    assert len({draw.program for draw in compiled.passes if draw.layer in ("c1", "c2", "c3")}) == 1


def test_gutters_are_as_wide_as_their_readers_need_even_through_a_shuffle() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(7),
        conv_node(rng, "plain", ("image",), 3, 64, kernel=(3, 3), padding=(1, 1, 1, 1)),
        conv_node(rng, "shuffled", ("plain",), 64, 64, groups=2),
        Node("shuffle", "channel_shuffle", ("shuffled",), {"step": 8}),
        conv_node(rng, "reader", ("shuffle",), 64, 64, kernel=(5, 5), groups=16, padding=(2, 1, 0, 2)),
    ]
    compiled = program(classifier(rng, nodes, 64))
    gutters = {name: value.gutter for name, value in compiled.values.items() if isinstance(value, FeatureMap)}
    assert gutters == {"image": 0, "plain": 0, "shuffled": 2, "shuffle": 2, "reader": 0}


def test_layer_names_become_unique_file_names() -> None:
    rng = np.random.default_rng(0)
    nodes = [input_node(5), conv_node(rng, "block/conv:1", ("image",), 3, 4)]
    nodes.append(conv_node(rng, "block_conv_1", ("block/conv:1",), 4, 4))
    compiled = program(classifier(rng, nodes, 4), memory="naive")
    names = {texture.name for texture in compiled.textures}
    assert {"block_conv_1", "block_conv_1_1"} <= names
    assert len(names) == len(compiled.textures)


@pytest.mark.parametrize(
    "nodes, message",
    [
        (
            lambda rng: [conv_node(rng, "c", ("image",), 3, 4, activation="linear")],
            "'c': the values of 'linear' have no fixed range; give typical images with --images DIR",
        ),
        (
            lambda rng: [
                conv_node(rng, "c", ("image",), 3, 4, activation="relu"),
                conv_node(rng, "d", ("c",), 4, 4, activation="relu"),
            ],
            r"'c': the values of 'relu' have no fixed range \(and those of 1 other layer",
        ),
        (
            lambda rng: [
                conv_node(rng, "a", ("image",), 3, 4),
                Node("s", "softmax", ("a",)),
                conv_node(rng, "c", ("s",), 4, 4),
            ],
            "'s': a softmax in this place has no shader; softmax is supported of vectors, over the channels of ",
        ),
        (
            lambda rng: [conv_node(rng, "a", ("image",), 3, 4), Node("c", "add", ("a",) * 9, {"activation": PLS})],
            "'c': 9 inputs; at most 8 can be added at once",
        ),
    ],
)
def test_layers_beyond_the_shaders_limits_are_refused_by_name(nodes, message: str) -> None:
    rng = np.random.default_rng(0)
    body = [input_node(5), *nodes(rng)]
    channels = body[-1].weights["kernel"].shape[3] if body[-1].op == "conv2d" else 4
    with pytest.raises(ModelError, match=message):
        program(classifier(rng, body, channels))


def test_a_layer_too_large_for_a_texture() -> None:
    rng = np.random.default_rng(0)
    body = [input_node(2049)]
    with pytest.raises(ModelError, match="'image'"):
        program(classifier(rng, body, 3))


@pytest.mark.slow
def test_large_layers_have_several_textures() -> None:
    rng = np.random.default_rng(0)
    body = [input_node(1100), conv_node(rng, "c", ("image",), 3, 8)]
    compiled = program(classifier(rng, body, 8))
    assert [view.texture for view in compiled.values["c"].views] == ["c.0", "c.1"]


@pytest.mark.slow
def test_a_dense_layer_too_large_for_a_texture() -> None:
    rng = np.random.default_rng(0)
    body = [input_node(3), conv_node(rng, "c", ("image",), 3, 4100)]
    with pytest.raises(ModelError, match="'dense-products'"):
        program(classifier(rng, body, 4100))


def test_a_minimum_of_an_image_whose_larger_bytes_are_smaller_values() -> None:
    image = input_node(5).with_attrs(scales=(-2.0,), zeros=(127.5,))
    with pytest.raises(ModelError, match="'smallest'"):
        program(
            Graph(
                "g", (image, Node("smallest", "min_pool", ("image",), {"pool": (2, 2), "strides": (1, 1)})), "smallest"
            )
        )


def test_a_network_can_end_in_a_map_a_vector_or_a_copy_of_the_picture() -> None:
    rng = np.random.default_rng(0)
    graph = Graph("g", (input_node(5), conv_node(rng, "c", ("image",), 3, 4)), "c")
    assert isinstance(program(graph).values["c"], FeatureMap)
    pooled = Graph("g", (*graph.nodes, pool_node("p", "c")), "p")
    assert program(pooled).passes[-1].layer == "p"
    copied = program(Graph("g", (input_node(5),), "image"))
    assert [draw.layer for draw in copied.passes] == ["image-copy"]
    between = input_node(5).with_attrs(scales=(2.0,), zeros=(127.5,))
    with pytest.raises(ModelError, match="'image'"):
        program(Graph("g", (between,), "image"))


def test_weights_modes_can_differ_by_layer() -> None:
    rng = np.random.default_rng(0)
    body = [input_node(6), conv_node(rng, "first", ("image",), 3, 8), conv_node(rng, "second", ("first",), 8, 8)]
    graph = prepare(classifier(rng, body, 8)).graph
    program = lower.to_program(graph, Target(weights="uniform", weights_for={"first": "baked", "second": "texture"}))
    assert {name: choice.mode for name, choice in program.choices.items()} == {"first": "baked", "second": "texture"}
    draws = [draw.layer for draw in program.passes]
    assert (draws.count("first"), draws.count("second")) == (2, 1)
    assert len({draw.program for draw in program.passes if draw.layer == "first"}) == 2
    with pytest.raises(InputError, match="'third'"):
        lower.to_program(graph, Target(weights_for={"third": "baked"}))
    with pytest.raises(InputError, match="'magic'"):
        lower.to_program(graph, Target(weights_for={"first": "magic"}))
    with pytest.raises(InputError, match="'first'"):
        lower.to_program(graph, Target(weights_for={"first": "texture"}, layout="planar"))


def test_unknown_modes_are_refused() -> None:
    graph = prepare(optimize.optimize(tiny_graph())).graph
    with pytest.raises(InputError, match="choose one of auto, baked, uniform"):
        lower.to_program(graph, Target(weights="magic"))
    with pytest.raises(InputError, match="choose one of atlas, planar"):
        lower.to_program(graph, Target(layout="magic"))


def test_the_program_prints_itself() -> None:
    text = str(tiny_program())
    assert "textures" in text
    assert "clear" in text


def test_padding_around_the_picture_s_view() -> None:
    rng = np.random.default_rng(0)
    for zeros, refused in (((0.0,), False), ((127.5,), True)):
        image = input_node(5).with_attrs(scales=(2.0,), zeros=zeros)
        side = conv_node(rng, "side", ("image",), 3, 8)
        padded = conv_node(rng, "c", ("both",), 11, 4, kernel=(3, 3), padding=(1, 1, 1, 1))
        graph = classifier(rng, [image, side, Node("both", "concat", ("side", "image")), padded], 4)
        if refused:
            with pytest.raises(ModelError, match="'both'"):
                program(graph)
        else:
            program(graph)


def test_many_inputs_in_planar_layout() -> None:
    rng = np.random.default_rng(0)
    parts = [conv_node(rng, f"part{index}", ("image",), 3, 4) for index in range(10)]
    joint = Node("joint", "concat", tuple(node.name for node in parts))
    graph = classifier(rng, [input_node(5), *parts, joint], 40)
    lower.to_program(prepare(graph, target=Target(layout="planar")).graph, Target(layout="planar"))


def test_depth_to_space_of_channels_with_different_ranges() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        conv_node(rng, "a", ("image",), 3, 4, activation="linear"),
        conv_node(rng, "b", ("image",), 3, 8),
        Node("joint", "concat", ("a", "b")),
        Node("deep", "depth_to_space", ("joint",), {"block": 2}),
    ]
    picture = rng.integers(0, 256, (5, 5, 3), np.uint8)
    with pytest.raises(ModelError, match="'deep'"):
        prepare(Graph("g", tuple(nodes), "deep"), Calibration([picture]))


@pytest.mark.parametrize(
    ("node", "padding"),
    [
        (Node("subject", "average_pool", ("image",), {"pool": (2, 2), "strides": (1, 1)}), 1),
        (Node("subject", "zero_padding", ("image",), {"padding": (1, 1, 1, 1)}), 0),
    ],
)
def test_padding_where_no_byte_is_0(node: Node, padding: int) -> None:
    rng = np.random.default_rng(0)
    image = input_node(6).with_attrs(scales=(1.0,), zeros=(-255.0,))
    padded = conv_node(rng, "c", ("subject",), 3, 4, kernel=(3, 3), padding=(padding,) * 4)
    with pytest.raises(ModelError, match="'subject'"):
        program(classifier(rng, [image, node, padded], 4))


def test_nan_weights_are_refused() -> None:
    rng = np.random.default_rng(0)
    node = conv_node(rng, "c", ("image",), 3, 4)
    node.weights["bias"][1] = np.nan  # type: ignore[index]
    with pytest.raises(ModelError, match="'c'"):
        program(classifier(rng, [input_node(5), node], 4))


@pytest.mark.parametrize(
    ("size", "channels", "end", "message"),
    [
        (2, 3, "flatten", "'end': flattening a map of 2x2 pixels and 3 channels; make the number of channels even"),
        (33, 4, "flatten", "'end': flattening .*; at most 4096 values are supported"),
        (1, 1028, "vector_softmax", "'end': vector softmax of 1028 values; at most 1024 are supported"),
    ],
)
def test_vectors_that_shaders_cannot_make(size: int, channels: int, end: str, message: str) -> None:
    rng = np.random.default_rng(0)
    nodes = [input_node(size), conv_node(rng, "c", ("image",), 3, channels)]
    if end == "vector_softmax":
        nodes.append(pool_node("p", "c"))
    graph = Graph("g", (*nodes, Node("end", end, (nodes[-1].name,))), "end")
    with pytest.raises(ModelError, match=message):
        lower.to_program(prepare(graph).graph)


def test_the_longest_vector_of_a_map() -> None:
    rng = np.random.default_rng(0)
    nodes = (input_node(32), conv_node(rng, "c", ("image",), 3, 4), Node("end", "flatten", ("c",)))
    assert program(Graph("g", nodes, "end")).values["end"].length == 4096


@pytest.mark.parametrize(("function", "quads"), [("relu(6)", 1), ("prelu(0.1,0.2,0.3,0.4,0.5,0.6)", 3)])
@pytest.mark.parametrize("op", ["vector_norm", "dense"])
def test_values_with_functions_of_their_own_are_drawn_texel_by_texel(op: str, function: str, quads: int) -> None:
    rng = np.random.default_rng(0)
    nodes = [input_node(4), conv_node(rng, "c", ("image",), 3, 6), pool_node("p", "c")]
    end = Node("end", "vector_norm", ("p",), {"activation": function})
    if op == "dense":
        end = dense_node(rng, "end", "p", 6, 6, activation=function)
    drawn = [draw for draw in program(Graph("g", (*nodes, end), "end")).passes if draw.layer == "end"]
    assert [len(draw.quads) for draw in drawn] == [1] * quads


def test_values_that_follow_one_another_are_copied_at_once() -> None:
    rng = np.random.default_rng(0)
    nodes = (input_node(4), conv_node(rng, "c", ("image",), 3, 12), pool_node("p", "c"))
    end = Node("end", "vector_gather", ("p",), {"channels": (0, 1, 2, 3, 4, 5, 9, 10, 8)})
    drawn = [draw for draw in program(Graph("g", (*nodes, end), "end")).passes if draw.layer == "end"]
    assert sorted((quad.x, quad.width) for draw in drawn for quad in draw.quads) == [(0, 3), (3, 1), (4, 1)]


def test_a_softmax_over_channels_takes_the_largest_of_every_slice() -> None:
    rng = np.random.default_rng(0)
    nodes = (input_node(4), conv_node(rng, "c", ("image",), 3, 12), Node("end", "channel_softmax", ("c",)))
    compiled = program(Graph("g", nodes, "end"))
    texts = [
        compiled.members[program.fragment].decode() for program in compiled.programs if program.name.startswith("end")
    ]
    assert texts and all(text.count("x = max(x, ") == 2 for text in texts)


@pytest.mark.parametrize(("op", "names"), [("channel_softmax", ["end", "end.1"]), ("channel_norm", ["end"])])
def test_an_incomplete_slice_has_a_program_only_to_clear_lanes(op: str, names: list[str]) -> None:
    rng = np.random.default_rng(0)
    nodes = (input_node(4), conv_node(rng, "c", ("image",), 3, 6), Node("end", op, ("c",), {}))
    graph = prepare(Graph("g", nodes, "end"), Calibration([np.zeros((4, 4, 3), np.uint8)])).graph
    programs = [program.name for program in lower.to_program(graph).programs]
    assert [name for name in programs if name.startswith("end")] == names


@pytest.mark.parametrize(
    ("activation", "names"), [("relu(1)", {"factor", "offset"}), ("relu(6)", {"a_factor", "b_factor", "offset"})]
)
def test_a_difference_has_as_few_constants_as_its_operands_allow(activation: str, names: set[str]) -> None:
    rng = np.random.default_rng(0)
    convs = [conv_node(rng, name, ("image",), 3, 4, activation=activation) for name in "ab"]
    nodes = (input_node(4), *convs, Node("end", "binary", ("a", "b"), {"operation": "subtract"}))
    pictures = [rng.integers(0, 256, (4, 4, 3), np.uint8) for _ in range(2)]
    prepared = prepare(Graph("g", nodes, "end"), Calibration(pictures)).graph
    (last,) = (draw for draw in lower.to_program(prepared).passes if draw.layer == "end")
    assert set(last.uniforms) == names


@pytest.mark.parametrize(("pool", "lines"), [((3, 3), 0), ((2, 5), 2 * 6), ((7, 7), 7 * 8), ((5, 10), 0)])
def test_windows_that_are_written_out(pool: tuple[int, int], lines: int) -> None:
    assert len(written_out(pool)) == lines


TEXTURES = {name: Texture(name, 6, 4, "target", clear=(9, 9, 9, 9)) for name in "ab"}
Rectangle = tuple[int, int, int, int]
Job = tuple[str, list[list[Rectangle]]]


def passes_of(jobs: list[Job]) -> list[Pass]:
    """Return the passes of jobs, each given as a target and the rectangles of its draws."""
    return [
        Pass(
            f"layer{job}", "program", target, index == 0, (), (), tuple(Quad(*rectangle, ()) for rectangle in draw), {}
        )
        for job, (target, draws) in enumerate(jobs)
        for index, draw in enumerate(draws)
    ]


def needless(jobs: list[Job]) -> list[bool]:
    passes = passes_of(jobs)
    result = needless_clears(passes, TEXTURES)
    return [id(draw) in result for draw in passes if draw.clear]


LEFT, RIGHT, MIDDLE = (0, 0, 3, 4), (3, 0, 3, 4), (1, 1, 4, 2)


@pytest.mark.parametrize(
    "jobs, expected",
    [
        ([("a", [[MIDDLE]]), ("a", [[MIDDLE]])], [False, True]),
        ([("a", [[MIDDLE]]), ("b", [[MIDDLE]]), ("a", [[MIDDLE]])], [False, False, True]),
        ([("a", [[MIDDLE]]), ("a", [[LEFT]]), ("a", [[MIDDLE]])], [False, False, False]),
        ([("a", [[LEFT, RIGHT]])], [True]),
        ([("a", [[LEFT], [RIGHT]])], [True]),
        ([("a", [[LEFT], [MIDDLE]]), ("a", [[MIDDLE, LEFT]])], [False, True]),
        ([("a", [[LEFT], [LEFT]])], [False]),
        ([("a", [[LEFT], [(0, 0, 4, 3)]])], [False]),  # as many texels as the target has, some of them twice
    ],
)
def test_clears_without_effect_by_the_jobs_drawn_before(jobs: list[Job], expected: list[bool]) -> None:
    assert needless(jobs) == expected


RECTANGLES = st.sampled_from([LEFT, RIGHT, MIDDLE, (0, 0, 6, 4), (0, 0, 6, 2), (0, 2, 6, 2)])
JOBS = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.lists(RECTANGLES, min_size=1, max_size=2), min_size=1, max_size=3)),
    min_size=1,
    max_size=12,
)


@given(JOBS)
def test_every_job_ends_with_the_same_texels(jobs: list[Job]) -> None:
    passes = passes_of(jobs)
    spared = needless_clears(passes, TEXTURES)
    ends = []
    for skip in (frozenset[int](), spared):
        texels = {name: np.full((4, 6), 77) for name in TEXTURES}  # the target's earlier content
        ends.append([])
        for index, draw in enumerate(passes):
            if draw.clear and id(draw) not in skip:
                texels[draw.target][:] = 0
            for quad in draw.quads:
                texels[draw.target][quad.y : quad.y + quad.height, quad.x : quad.x + quad.width] = 100 + index
            if index + 1 == len(passes) or passes[index + 1].clear:
                ends[-1].append(texels[draw.target].tolist())
    assert ends[0] == ends[1]
