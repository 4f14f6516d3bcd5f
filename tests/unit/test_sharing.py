"""Layers that share textures: each layer's inputs are intact when it reads them, gutters included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import ranged
from graphs import classifier, conv_node, input_node
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny import tiny_program

from glsl_infer.compiler import lower, memory
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.sharing import MEMORY, MOST_LARGER, lifetimes
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import LAYOUTS, FeatureMap, FixedPoint, Value

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
    number = 0
    for node in program.graph.nodes:
        passes = [draw for draw in program.passes if draw.layer == node.name]
        for draw in passes:
            assert draw.target not in draw.textures
            if draw.clear:
                textures[draw.target][:] = 0
            for quad in draw.quads:
                number += 1
                textures[draw.target][quad.y : quad.y + quad.height, quad.x : quad.x + quad.width] = number
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
    alive = lifetimes(program)
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
