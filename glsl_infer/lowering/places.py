"""Where values lie: the textures that operators allocate for what they compute and for their weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.program import Texture
from glsl_infer.program.layout import (
    MAX_TEXTURE_SIZE,
    FeatureMap,
    FixedMap,
    FixedPoint,
    Share,
    Value,
    View,
    clear_colours,
    slices_of,
    textures_of,
)
from glsl_infer.program.placement import Grid, Placement, place


class Places:
    """The places of values so far, and the members of the bundle that weights are in.

    Attributes:
        graph: what is built.
        shapes: shape of every node's output.
        values: where the outputs of the nodes so far lie.
        grids: the ways in which the tiles of each texture could be arranged.

    Args:
        graph: what is built.
        layout: ``atlas`` or ``planar``; see ``program.placement.place``.
        gutters: texels of 0 around the tiles of each output.
        shares: which texture each takes a part of, and how its tiles are arranged there.
        bits: 8 or 16 of each feature map; 8 where it is not said.
    """

    def __init__(
        self,
        graph: Graph,
        layout: str,
        gutters: Mapping[str, int],
        shares: Mapping[str, Share],
        bits: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.graph = graph
        self.shapes: Mapping[str, Shape] = graph.shapes
        self.values: dict[str, Value] = {}
        self.grids: dict[str, tuple[Grid, ...]] = {}
        self._layout, self._gutters, self._shares, self._bits = layout, gutters, shares, bits
        self._columns = {name: share.columns for name, share in shares.items()}
        self._textures: dict[str, Texture] = {}
        self._members: dict[str, bytes] = {}
        self._weight_members: dict[str, tuple[str, ...]] = {}
        self._file_names: dict[str, str] = {}

    def feature_map(self, name: str) -> FeatureMap:
        """Return where the feature map that ``name`` computes lies."""
        value = self.values[name]
        if not isinstance(value, FeatureMap):
            raise ModelError.layer(name, "its output is a vector", "a feature map is needed here")
        return value

    def fixed_point(self, name: str) -> FixedPoint:
        """Return where the vector or the partial sums that ``name`` computes lie."""
        value = self.values[name]
        if not isinstance(value, FixedPoint):
            raise ModelError.layer(name, "its output is a feature map", "a vector is needed here")
        return value

    def fixed_map(self, name: str) -> FixedMap:
        """Return where the 16-bit feature map that ``name`` computes lies."""
        value = self.values[name]
        assert isinstance(value, FixedMap), name
        return value

    def shows_alpha(self, value: FeatureMap) -> bool:
        """Return whether lanes beyond the last channel hold a picture's alpha, and not 0."""
        pictures = [node.name for node in self.graph.inputs if has_alpha_lane(node) and node.name in self.values]
        alpha = {texture for name in pictures for texture in textures_of(self.values[name])}
        return value.channels % 4 != 0 and value.views[-1].texture in alpha

    def set_value(self, node: Node, value: Value) -> None:
        """Say where the output of ``node`` lies without allocating anything."""
        self.values[node.name] = value

    def allocate_map(
        self, node: Node, *, scales: tuple[float, ...], zeros: tuple[float, ...], kind: str = "target"
    ) -> FeatureMap:
        """Allocate the textures of a feature map of some range, with the gutter that its readers need.

        A texture is cleared to one colour, so slices with different zero points get textures of their own where they
        have a gutter. Of a map of 16 bits the two tiles of a slice lie above each other, and a gutter needs one zero
        point for all channels. ``kind`` is ``input`` for what the runner uploads; the gutter of a picture without alpha
        of its own holds bytes of 0.
        """
        height, width, channels = self.shapes[node.name]
        gutter = self._gutters[node.name]
        slices = slices_of(channels)
        colours = [(0, 0, 0, 0)] * slices
        if gutter and not has_alpha_lane(node):
            if any(zero != int(zero) or not 0 <= zero <= 255 for zero in zeros):
                raise ModelError.layer(
                    node.name,
                    "padding around values of which no byte is 0",
                    "let a 1x1 convolution of the picture come first, or take the picture over [0, 1]",
                )
            colours = clear_colours(zeros, channels)
        half = height + gutter if self._bits.get(node.name, 8) == 16 else 0
        column = self._as_column(node, gutter, half)
        half = slices if half and column else half
        if half and any(any(colour) for colour in colours):
            if len({*zeros}) > 1:
                advice = "keep it in 8 bits"
                raise ModelError.layer(node.name, "16 bits of channels with several zero points and a gutter", advice)
            colours = [(int(zeros[0]), 0, int(zeros[0]), 0)] * slices
        views: dict[int, View] = {}
        name, distinct = self._file_name(node.name), list(dict.fromkeys(colours))
        for number, colour in enumerate(distinct):
            members = [index for index, other in enumerate(colours) if other == colour]
            group = name if len(distinct) == 1 else f"{name}.{number}"
            layout = self._layout if kind == "target" else "atlas"
            if column:
                whole = place(group, slices + half, 1, 1, 0, layout, self._columns)
                (corner,) = self._add_textures(node, whole, kind, colour)
                added: Sequence[View] = [replace(corner, y=corner.y + row) for row in range(slices)]
            else:
                placed = place(group, height + half, width, len(members), gutter, layout, self._columns)
                added = self._add_textures(node, placed, kind, colour)
            views.update(zip(members, (replace(view, half=half) for view in added) if half else added))
        if has_alpha_lane(node):
            gutter = 0  # the runner uploads such a picture alone: zeros are around it, not values that stand for 0
        value = FeatureMap(
            height, width, channels, gutter, tuple(views[index] for index in range(slices)), scales, zeros
        )
        self.values[node.name] = value
        return value

    def _as_column(self, node: Node, gutter: int, half: int) -> bool:
        """Return whether the slices of a map are one column, which ``merged_quads`` makes one rectangle of.

        So is a map of one pixel that no layer reads, if it fits: a reader's coordinates want rows and columns.
        """
        height, width, channels = self.shapes[node.name]
        rows = slices_of(channels) * (2 if half else 1)
        alone = not gutter and self._layout == "atlas" and not self.graph.consumers.get(node.name)
        return alone and (height, width) == (1, 1) and rows <= MAX_TEXTURE_SIZE

    def allocate_fixed_map(self, node: Node, blocks: int, scale: float, kind: str = "target") -> FixedMap:
        """Allocate the textures of a 16-bit feature map of ``blocks`` times equally many channels.

        The tiles of a slice of all blocks lie in one texture, in a grid that is the same for all slices; in as few
        textures as they fit into, where they are too large for one.
        """
        height, width, channels = self.shapes[node.name]
        slices, tiles = channels // 4 // blocks, 2 * blocks
        parts = next((count for count in range(1, tiles) if _fit(slices_of(tiles, count), height, width)), tiles)
        each = slices_of(tiles, parts)
        columns = _near_square(each, height, width)
        layout = self._layout if kind == "target" else "atlas"
        name = self._file_name(node.name)
        corners: list[tuple[View, ...]] = []  # of each part, for each slice
        for part in range(parts):
            rows = slices_of(min(each, tiles - part * each), columns)
            group = name if parts == 1 else f"{name}.{part}"
            placed = place(group, rows * height, columns * width, slices, 0, layout, self._columns)
            corners.append(self._add_textures(node, placed, kind, (0, 0, 0, 0)))
        views = []
        for block in range(blocks):
            for index in range(slices):
                for tile in (2 * block, 2 * block + 1):
                    corner, at = corners[tile // each][index], tile % each
                    views.append(
                        View(corner.texture, corner.x + at % columns * width, corner.y + at // columns * height)
                    )
        value = FixedMap(height, width, channels, scale, tuple(views))
        self.values[node.name] = value
        return value

    def allocate_vector(self, node: Node, length: int, scale: float, kind: str = "target") -> FixedPoint:
        """Allocate the texture of a vector."""
        return self._allocate_fixed(node, FixedPoint(self._file_name(node.name), 0, length, scale), kind)

    def allocate_sums(self, node: Node, columns: int, length: int, scale: float) -> FixedPoint:
        """Allocate the target texture of partial sums."""
        return self._allocate_fixed(node, FixedPoint(self._file_name(node.name), columns, length, scale))

    def constant_texture(self, node: Node, width: int, height: int, texels: bytes, part: str = "") -> str:
        """Add a texture of weights to the bundle; return its name.

        ``part`` tells those of one layer apart.
        """
        dotted = f".{part}" if part else ""
        name = f"{self._file_name(node.name)}{dotted}.weights"
        member = self.weights(node, f"{dotted}.rgba", texels)
        self._textures[name] = Texture(name, width, height, "constant", member)
        return name

    def weights(self, node: Node, suffix: str, data: bytes) -> str:
        """Add a member with the weights of ``node``; return its name."""
        member = f"weights/{self._file_name(node.name)}{suffix}"
        self._members[member] = data
        self._weight_members[node.name] = (*self._weight_members.get(node.name, ()), member)
        return member

    def texel(self, texture: str) -> list[float]:
        """Return the size of one texel in texture coordinates."""
        return [1.0 / self._textures[texture].width, 1.0 / self._textures[texture].height]

    def position(self, view: View, x: float = 0.0, y: float = 0.0) -> tuple[float, float]:
        """Return the texture coordinate of the point (x, y), in texels from the first corner of the tile."""
        texture = self._textures[view.texture]
        return (view.x + x) / texture.width, (view.y + y) / texture.height

    def _add_textures(
        self, node: Node, placed: Placement | None, kind: str, clear: tuple[int, int, int, int]
    ) -> tuple[View, ...]:
        if placed is None:
            height, width, channels = self.shapes[node.name]
            raise ModelError.layer(
                node.name,
                f"its output of {height}x{width} pixels and {channels} channels fits no texture of "
                f"{MAX_TEXTURE_SIZE}x{MAX_TEXTURE_SIZE}",
                "use a smaller picture or fewer channels",
            )
        names = {
            name: self._add_texture(Texture(name, width, height, kind, clear=clear), possible)
            for (name, width, height), possible in zip(placed.textures, placed.grids)
        }
        if not any(name in self._shares for name in names):
            return placed.views
        views = []
        for view in placed.views:
            share = self._shares.get(view.texture)
            x, y = (0, 0) if share is None else (share.x, share.y)
            views.append(replace(view, texture=names[view.texture], x=view.x + x, y=view.y + y))
        return tuple(views)

    def _allocate_fixed(self, node: Node, value: FixedPoint, kind: str = "target") -> FixedPoint:
        own = Texture(value.texture, *value.size, kind)
        value = replace(value, texture=self._add_texture(own, (Grid(1, *value.size),)))
        self.values[node.name] = value
        return value

    def _add_texture(self, own: Texture, possible: tuple[Grid, ...]) -> str:
        """Add a texture, or the one that it shares with others; return the name of what was added."""
        self.grids[own.name] = possible
        share = self._shares.get(own.name)
        if share is not None:
            own = replace(own, name=share.texture, width=share.width, height=share.height, clear=share.clear)
        self._textures[own.name] = own
        return own.name

    def _file_name(self, layer: str) -> str:
        """Return the layer's name made safe for a file, and unique."""
        if layer not in self._file_names:
            safe = re.sub(r"[^A-Za-z0-9_-]", "_", layer)
            taken = set(self._file_names.values())
            self._file_names[layer] = next(
                name
                for index in range(len(taken) + 1)
                if (name := safe if not index else f"{safe}_{index}") not in taken
            )
        return self._file_names[layer]


def _fit(tiles: int, height: int, width: int) -> bool:
    """Return whether tiles fit into one texture as ``_near_square`` puts them."""
    columns = _near_square(tiles, height, width)
    return max(columns * width, slices_of(tiles, columns) * height) <= MAX_TEXTURE_SIZE


def _near_square(tiles: int, height: int, width: int) -> int:
    """Return into how many columns to put tiles so that they make a rectangle as square as possible."""
    return min(range(1, tiles + 1), key=lambda columns: max(columns * width, slices_of(tiles, columns) * height))
