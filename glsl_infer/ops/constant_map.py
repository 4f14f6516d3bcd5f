"""A feature map of constants, such as position embeddings, copied from a texture so that all operators can read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program.layout import (
    MAX_TEXTURE_SIZE,
    FeatureMap,
    SixteenBitMap,
    View,
    compact,
    per_channel,
    slices_of,
    stored,
)
from glsl_infer.program.texels import decode_tiles, pack_tiles

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


class ConstantMap(Operator):
    """The weight ``value``, (height, width, channels). Attributes: the range ``scales`` and ``zeros``.

    Inputs are ignored.
    """

    is_constant = True
    attrs = {"scales": None, "zeros": None}
    weights = ("value",)

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the shape of the constants."""
        return feature_map(node, node.weights["value"].shape)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the constants."""
        return node.weights["value"]

    def passes(self, node: Node, build: Builder) -> None:
        """Copy all slices from a texture with the stored values."""
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        value, (width, height) = _layout(node, target.height, target.width, target.channels)
        texels = np.zeros((height, width, 4), np.uint8)
        stored_map = _stored_map(value)
        for view, tile in zip(stored_map.views, pack_tiles(node.weights["value"].astype(np.float64), stored_map)):
            texels[view.y : view.y + value.height, view.x : view.x + value.width] = tile
        name = build.constant_texture(node, width, height, texels.tobytes())
        build.replace_weights(node, {"value": _read(texels, stored_map)})
        fragment = codegen.fragment("copy.frag", includes=["store.glsl"], lines={"fine": (), "pad_lanes": []})
        for view, source_view in zip(target.views, value.views):
            binding = build.bind(node, source=[Read(replace(source_view, texture=name))])
            uniforms = {**binding.texels("source"), "shift": [0.0, 0.0]}
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the values stored in the texture."""
        value, (width, height) = _layout(node, *shapes["value"])
        return {"value": _read(np.frombuffer(members[0], np.uint8).reshape(height, width, 4), _stored_map(value))}


def constant_map(name: str, value: NDArray[np.floating]) -> Node:
    """Return the node of a constant map (height, width, channels), whose range is that of its values."""
    bounds = (min(float(value.min()), 0.0), max(float(value.max()), 0.0))
    return Node(name, "constant_map", (), {OBSERVED_RANGE: bounds}, {"value": np.ascontiguousarray(value, np.float32)})


def _layout(node: Node, height: int, width: int, channels: int) -> tuple[FeatureMap, tuple[int, int]]:
    """Return the layout of the values in the texture, in columns of slices, and its (width, height)."""
    half = height if node.attrs.get("bits", 8) == 16 else 0
    slices, rows = slices_of(channels), max(MAX_TEXTURE_SIZE // (height + half), 1)
    size = slices_of(slices, rows) * width, min(slices, rows) * (height + half)
    if max(size) > MAX_TEXTURE_SIZE:
        problem = f"constants of {height}x{width}x{channels} fit no texture of {MAX_TEXTURE_SIZE}x{MAX_TEXTURE_SIZE}"
        raise ModelError.layer(node.name, problem, "use a smaller map or fewer channels")
    views = tuple(View("", k // rows * width, k % rows * (height + half), half) for k in range(slices))
    scales, zeros = (tuple(per_channel(node.attrs[key], channels)) for key in ("scales", "zeros"))
    return FeatureMap(height, width, channels, 0, views, compact(scales), compact(zeros)), size


def _stored_map(value: FeatureMap) -> Union[FeatureMap, SixteenBitMap]:
    """Return the map in its form in the bundle, with both tiles of each slice for 16 bits."""
    stored_map = stored(value)
    assert isinstance(stored_map, (FeatureMap, SixteenBitMap))
    return stored_map


def _read(texels: NDArray[np.uint8], value: Union[FeatureMap, SixteenBitMap]) -> NDArray[np.float32]:
    assert isinstance(value, SixteenBitMap) or value.bits == 8
    tiles = [texels[view.y : view.y + value.height, view.x : view.x + value.width] for view in value.views]
    return decode_tiles(np.stack(tiles), value).astype(np.float32)


OPERATOR = ConstantMap()
