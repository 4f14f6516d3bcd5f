"""The memory planner: shared textures and their tiles; freed arrays, and garbage collection."""

from __future__ import annotations

import gc
import platform
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import ranged
from command_line import run_python
from graphs import classifier, conv_node, input_node
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny import tiny_program

from glsl_infer.compiler import lower, memory
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.sharing import MEMORY, MOST_LARGER
from glsl_infer.compiler.sharing import lifetimes as texture_lifetimes
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import (
    LAYOUTS,
    MAX_TEXTURE_SIZE,
    FeatureMap,
    FixedPoint,
    Range,
    Value,
    concatenated_range,
)
from glsl_infer.program.placement import place
from glsl_infer.support.memory import no_collection, permanent_objects


@st.composite
def lifetimes(draw: st.DrawFn, count: int) -> list[tuple[int, int]]:
    """Draw (first, last) steps of ``count`` tensors."""
    firsts = draw(st.lists(st.integers(0, 8), min_size=count, max_size=count))
    return [(first, first + draw(st.integers(0, 4))) for first in firsts]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Draw sizes and lifetimes of up to 9 tensors."""
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=9))
    return sizes, draw(lifetimes(len(sizes)))


@given(problems())
def test_values_alive_at_once_never_share_a_texture(problem: tuple[list[int], list[tuple[int, int]]]) -> None:
    sizes, alive = problem
    for method in memory.METHODS:
        plan = memory.plan(sizes, alive, method)
        for later, (first, last) in enumerate(alive):
            for other, (start, end) in enumerate(alive[:later]):
                assert plan.placement[later] != plan.placement[other] or last < start or end < first
        contents = [
            [size for size, index in zip(sizes, plan.placement) if index == k] for k in range(len(plan.objects))
        ]
        assert plan.objects == tuple((max(members),) for members in contents)
        assert plan.total == sum(max(members) for members in contents)
        assert most_alive(sizes, alive) <= plan.total <= sum(sizes)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=9), st.data())
def test_a_texture_has_the_largest_width_and_height(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    alive = data.draw(lifetimes(len(sizes)))
    for method in memory.METHODS:
        plan = memory.plan_textures(sizes, alive, method)
        for index, (width, height) in enumerate(plan.objects):
            contents = [size for size, texture in zip(sizes, plan.placement) if texture == index]
            assert (width, height) == (max(w for w, _ in contents), max(h for _, h in contents))
        assert plan.total == sum(4 * width * height for width, height in plan.objects)
        assert plan.sizes == tuple(sizes)


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3), min_size=1, max_size=9),
    st.integers(1, 5),
    st.data(),
)
def test_every_tensor_has_one_of_its_sizes_in_a_texture_of_limited_size(
    choices: list[list[tuple[int, int]]], most_larger: int, data: st.DataObject
) -> None:
    alive = data.draw(lifetimes(len(choices)))
    for method in memory.METHODS:
        plan = memory.plan_textures(choices, alive, method, most_larger=most_larger)
        for mine, size, texture in zip(choices, plan.sizes, plan.placement):
            width, height = plan.objects[texture]
            assert size in mine
            assert size[0] <= width
            assert size[1] <= height
            shared = plan.placement.count(texture) > 1
            assert not shared or width * height <= most_larger * mine[0][0] * mine[0][1]


@pytest.mark.parametrize("method", memory.METHODS)
def test_an_output_never_shares_a_texture_with_its_inputs(method: str) -> None:
    """One step writes the second tensor and reads the first, so the first is free only in the next step."""
    plan = memory.plan([8, 8, 8], [(0, 1), (1, 2), (2, 3)], method)
    assert plan.placement[0] != plan.placement[1] != plan.placement[2]
    assert plan.total == (24 if method == "naive" else 16)


def test_greedy_plans_grow_objects_and_by_size_plans_do_not() -> None:
    sizes, alive = [2, 4, 3], [(0, 0), (1, 1), (1, 1)]
    assert memory.plan(sizes, alive, "greedy").objects == ((4,), (3,))
    assert memory.plan(sizes, alive, "by-size").objects == ((4,), (3,))
    assert memory.plan([10, 6, 10], [(0, 1), (1, 2), (3, 3)], "greedy").placement == (0, 1, 0)


def test_tiles_are_arranged_for_their_texture() -> None:
    """Two rows of two tiles, or four in a row, to fit the long texture of another layer."""
    square, row, long = (10, 10), (20, 5), (40, 5)
    for method in memory.METHODS:
        plan = memory.plan_textures([[long], [square, row]], [(0, 0), (1, 1)], method)
        assert plan.total == (4 * (200 + 100) if method == "naive" else 4 * 200)
        assert plan.sizes[1] == (square if method == "naive" else row)


@pytest.mark.parametrize(
    "sizes, alive, method, message",
    [
        ([1], [(0, 1)], "best", "'best'; choose one of naive, greedy, by-size"),
        ([1, 2], [(0, 1)], "greedy", "2 sizes and 1 lifetimes"),
        ([1, 0], [(0, 1), (0, 1)], "greedy", "tensor 1: a size of 0; give 1 or more"),
        ([1], [(2, 1)], "greedy", "tensor 0: lives from step 2 to 1"),
    ],
)
def test_invalid_sizes_and_lifetimes_are_refused(
    sizes: list[int], alive: list[tuple[int, int]], method: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        memory.plan(sizes, alive, method)


def test_an_empty_problem_needs_no_memory() -> None:
    assert [memory.plan([], [], method).total for method in memory.METHODS] == [0] * len(memory.METHODS)


def most_alive(sizes: list[int], alive: list[tuple[int, int]]) -> int:
    """Return the bytes alive in the largest step, a lower bound of any plan."""
    steps = {step for lifetime in alive for step in lifetime}
    return max(sum(size for size, (first, last) in zip(sizes, alive) if first <= step <= last) for step in steps)


SAME = (1, 1, 1, 1)

Textures = dict[str, NDArray[np.int64]]


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Draw a graph of convolutions with or without padding, residuals of any length, additions, views, and pools."""
    rng = np.random.default_rng(0)
    nodes = [input_node(9), conv_node(rng, "n0", ("image",), 3, 64)]
    maps = {"n0": (9, 64)}  # size and channels
    for index in range(1, draw(st.integers(2, 9))):
        name, source = f"n{index}", draw(st.sampled_from(list(maps)[-4:]))
        size, channels = maps[source]
        alike = [other for other in maps if maps[other] == maps[source]]
        kind = draw(st.sampled_from(["padded", "residual", "strided", "add", "concat", "shuffle", "some"]))
        if kind == "strided" and size > 3:
            size = (size - 3) // 2 + 1
            options = {"kernel": (3, 3), "groups": channels // 4, "strides": (2, 2)}
            nodes.append(conv_node(rng, name, (source,), channels, channels, **options))
        elif kind == "add" and len(alike) > 1:
            nodes.append(Node(name, "add", (source, draw(st.sampled_from(alike))), {"activation": "hard_sigmoid"}))
        elif kind == "concat" and channels < 128:
            nodes.append(Node(name, "concat", (source, draw(st.sampled_from(alike)))))
            channels *= 2
        elif kind == "shuffle" and (channels <= 32 or channels % 32 == 0):
            nodes.append(Node(name, "channel_shuffle", (source,), {"step": 8}))
        elif kind == "some":
            few = draw(st.sampled_from([8, 12, 32]))
            nodes.append(conv_node(rng, name, (source,), channels, few, groups=4))
            channels = few
        else:
            inputs = (source, draw(st.sampled_from(alike))) if kind == "residual" else (source,)
            nodes.append(
                conv_node(rng, name, inputs, channels, channels, kernel=(3, 3), groups=channels // 4, padding=SAME)
            )
        maps[name] = (size, channels)
    last = next(node for node in reversed(nodes) if node.op not in ("concat", "channel_shuffle"))
    before = nodes[: nodes.index(last) + 1]
    if draw(st.booleans()):
        return read_by_all(classifier(rng, before, maps[last.name][1]))
    return read_by_all(Graph("test", tuple(before), last.name))


def read_by_all(graph: Graph) -> Graph:
    """Return the graph without unread nodes."""
    expected = {graph.output}
    for node in reversed(graph.nodes):
        if node.name in expected:
            expected.update(node.inputs)
    return Graph(graph.name, tuple(node for node in graph.nodes if node.name in expected), graph.output)


@pytest.mark.sampled(3)
@pytest.mark.slow
@settings(max_examples=30)
@given(networks(), st.sampled_from(LAYOUTS))
def test_inputs_of_each_layer_are_intact(graph: Graph, layout: str) -> None:
    prepared = prepare(graph, target=Target(layout=layout)).graph
    typical = CalibrationMaps(lambda: compute_maps(prepared, ()))
    for method in memory.METHODS:
        program = lower.to_program(prepared, Target(weights="uniform", layout=layout, memory=method), maps=typical)
        check_frame(program)
        (chosen,) = (plan for plan in program.memory if plan.chosen)
        assert chosen.texture_bytes == target_bytes(program)


def check_frame(program: CompiledNetwork) -> None:
    """Simulate a frame on integers: every quad writes a unique value, and a clear writes 0 everywhere."""
    textures: Textures = {
        texture.name: np.full((texture.height, texture.width), -1)
        for texture in program.textures
        if texture.kind == "target"
    }
    stored: dict[str, list[NDArray[np.int64]]] = {}
    position = 0
    for node in program.graph.nodes:
        passes = [draw for draw in program.passes if draw.layer == node.name]
        for draw in passes:
            assert draw.target not in draw.textures
            if draw.clear:
                textures[draw.target][:] = 0
            for quad in draw.quads:
                position += 1
                textures[draw.target][quad.y : quad.y + quad.height, quad.x : quad.x + quad.width] = position
        for source in node.inputs:
            for before, now in zip(stored[source], texels(textures, program.values[source])):
                assert np.array_equal(before, now), f"{node.name} reads {source}, in which something else lies"
        stored[node.name] = list(texels(textures, program.values[node.name]))
        for tile in stored[node.name]:
            assert (tile >= 0).all(), f"{node.name} lies where nothing was cleared"
    for before, now in zip(stored[program.graph.output], texels(textures, program.values[program.graph.output])):
        assert np.array_equal(before, now), "the output is gone when the frame ends"


def texels(textures: Textures, value: Value) -> Iterator[NDArray[np.int64]]:
    """Yield copies of the texels of a value in targets, including gutters."""
    if isinstance(value, FixedPoint):
        width, height = value.size
        yield textures[value.texture][:height, :width].copy()
        return
    gutter = value.gutter if isinstance(value, FeatureMap) else 0
    for view in value.views:
        if view.texture in textures:
            rows = slice(view.y - gutter, view.y + value.height + gutter)
            yield textures[view.texture][rows, view.x - gutter : view.x + value.width + gutter].copy()


def target_bytes(program: CompiledNetwork) -> int:
    return sum(4 * texture.width * texture.height for texture in program.textures if texture.kind == "target")


def test_the_check_finds_an_overwritten_input() -> None:
    program = tiny_program(memory="naive")
    passes = tuple(replace(draw, target="expand") if draw.layer == "unit-pw" else draw for draw in program.passes)
    with pytest.raises(AssertionError):  # the unit's input, still in use as the residual
        check_frame(replace(program, passes=passes))


def test_a_texture_is_shared_by_layers_of_one_clear_colour_only() -> None:
    program = ranged.ranged_program(memory="by-size")
    naive = ranged.ranged_program(memory="naive")
    colour = {texture.name: texture.clear for texture in program.textures}
    for old, new in zip(naive.passes, program.passes):
        (clear,) = (texture.clear for texture in naive.textures if texture.name == old.target)
        assert colour[new.target] == clear
    assert target_bytes(program) < target_bytes(naive)
    assert len({texture.clear for texture in program.textures if texture.kind == "target"}) > 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_shared_texture_is_not_much_larger_than_its_maps(layout: str) -> None:
    naive, shared = (tiny_program(layout=layout, memory=method) for method in ("naive", "by-size"))
    alone = {texture.name: texture.width * texture.height for texture in naive.textures}
    sizes = {texture.name: texture.width * texture.height for texture in shared.textures}
    for old, new in zip(naive.passes, shared.passes):
        assert sizes[new.target] <= MOST_LARGER * alone[old.target]


def test_the_output_lives_to_the_end_and_views_keep_their_maps_alive() -> None:
    program = tiny_program(memory="naive")
    order = [node.name for node in program.graph.nodes]
    alive = texture_lifetimes(program)
    assert alive["dense"] == (order.index("dense"), len(order))
    assert alive["expand"][1] == order.index("unit-dw"), "the residual is read last of all"


def test_unread_maps_are_not_overwritten_in_the_same_job() -> None:
    rng = np.random.default_rng(0)
    nodes = [input_node(9), conv_node(rng, "unread", ("image",), 3, 8), conv_node(rng, "next", ("image",), 3, 8)]
    program = lower.to_program(prepare(classifier(rng, nodes, 8)).graph, Target(memory="by-size"))
    first, second = program.passes[:2]
    assert (first.layer, second.layer, second.clear) == ("unread", "next", False) and first.target == second.target
    regions = [
        {(x, y) for quad in draw.quads for x in range(quad.x, quad.x + 9) for y in range(quad.y, quad.y + 9)}
        for draw in (first, second)
    ]
    assert not regions[0] & regions[1], "they lie side by side"
    check_frame(program)


def test_auto_uses_the_least_memory_and_lists_the_others() -> None:
    program = tiny_program()
    sizes = {plan.method: plan.texture_bytes for plan in program.memory}
    assert list(sizes) == list(MEMORY[1:])
    assert target_bytes(program) == min(sizes.values())
    assert [plan.chosen for plan in program.memory].count(True) == 1
    assert sizes["naive"] == target_bytes(tiny_program(memory="naive"))


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="'all'"):
        tiny_program(memory="all")


@given(
    st.integers(1, 60), st.integers(1, 60), st.integers(1, 50), st.integers(0, 3), st.sampled_from(["atlas", "planar"])
)
def test_tiles_keep_their_distance(height: int, width: int, tiles: int, gutter: int, layout: str) -> None:
    placed = place("t", height, width, tiles, gutter, layout)
    assert placed is not None
    assert len(placed.views) == tiles
    assert len(placed.textures) == (tiles if layout == "planar" else 1)
    for name, texture_width, texture_height in placed.textures:
        used = np.zeros((texture_height + gutter, texture_width + gutter), int)
        for view in placed.views:
            if view.texture == name:
                assert view.x >= gutter and view.y >= gutter
                assert view.x + width + gutter <= texture_width and view.y + height + gutter <= texture_height
                # A tile with the gutters to its right and below overlaps no other tile with its gutters.
                used[view.y : view.y + height + gutter, view.x : view.x + width + gutter] += 1
        assert used.max() == 1


def test_maps_larger_than_a_texture_are_spread_evenly() -> None:
    assert place("t", MAX_TEXTURE_SIZE + 1, 1, 1, 0, "atlas") is None
    four = place("t", 1000, 1000, 4, 1, "atlas")
    assert four is not None and [name for name, _, _ in four.textures] == ["t"]
    five = place("t", 1000, 1000, 5, 1, "atlas")
    assert five is not None
    assert [name for name, _, _ in five.textures] == ["t.0", "t.1"]
    assert [view.texture for view in five.views] == ["t.0"] * 3 + ["t.1"] * 2
    assert max(max(width, height) for _, width, height in five.textures) <= MAX_TEXTURE_SIZE


def test_x22_layers_are_in_textures_of_reasonable_size() -> None:
    sizes = {}
    for side, channels in ((191, 32), (95, 32), (47, 64), (23, 128), (11, 192), (5, 192), (3, 192)):
        placed = place("t", side, side, channels // 4, 1, "atlas")
        assert placed is not None
        ((_, w, h),) = placed.textures
        sizes[side] = w * h / (side * side * channels / 4)
        assert max(w, h) <= 1024
    assert max(sizes.values()) < 2.0


def test_ranges_join_channel_by_channel() -> None:
    uniform, per_lane = Range((2.0,), (0.0,)), Range((1.0, 3.0), (7.0,))
    assert concatenated_range([uniform, per_lane], [3, 2]) == Range(
        (2.0, 2.0, 2.0, 1.0, 3.0), (0.0, 0.0, 0.0, 7.0, 7.0)
    )
    assert concatenated_range([uniform, uniform], [4, 5]) == uniform
    assert per_lane.picked([1, 1, 0]) == Range((3.0, 3.0, 1.0), (7.0,))
    low, high = Range((255.0,), (100.0,)).ends(2)
    assert low.tolist() == [-100.0] * 2 and high.tolist() == [155.0] * 2


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has other settings")
def test_kept_memory_is_not_mapped_again() -> None:
    code = (
        "import resource, numpy\n"
        "from glsl_infer.support import memory\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20): numpy.ones(1 << 18)\n"  # 2 MB: too small for huge pages
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "faults(); memory.keep_freed_memory(); faults()\n"
        "print(faults())"
    )
    faults = run_python("-c", code, check=True).stdout
    assert int(faults) < 20 * 100, "each new array has a page fault for each of its 512 pages"


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """Undo the freezing of conftest meanwhile."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("unfrozen")
def test_objects_are_permanent_only_inside_the_context() -> None:
    assert gc.get_freeze_count() == 0
    with permanent_objects():
        assert gc.get_freeze_count() > 0
        with permanent_objects():
            pass
        assert gc.get_freeze_count() > 0, "those that a caller froze stay frozen"
    assert gc.get_freeze_count() == 0


def test_garbage_is_not_collected_inside_the_context() -> None:
    with pytest.raises(KeyError), no_collection():
        assert not gc.isenabled()
        with no_collection():
            pass
        assert not gc.isenabled(), "a caller had disabled it"
        raise KeyError
    assert gc.isenabled()
