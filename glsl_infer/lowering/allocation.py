"""Allocation of textures for the outputs of layers, and of bundle members for weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

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


@dataclass(frozen=True)
class Storage:
    """Storage of feature maps, decided before lowering.

    Attributes:
        gutters: texels of 0 around the tiles of each output.
        bits: 8 or 16 for each feature map; 8 by default.
        shares: region of a shared texture for each texture, and the arrangement of tiles in it.
    """

    gutters: Mapping[str, int]
    bits: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, Share] = field(default_factory=dict)


@dataclass(frozen=True)
class Allocated:
    """Allocation of one node.

    Attributes:
        value: its output.
        location: the output and its textures, by which nodes with the same input can be recognised.
        textures, file_names: new entries by name.
    """

    value: Value
    location: tuple[Value, tuple[Texture, ...]]
    textures: Mapping[str, Texture]
    file_names: Mapping[str, str]


class Allocation:
    """Textures and members allocated so far.

    Attributes:
        graph: the network.
        shapes: output shape of each node.
        values: allocated outputs of nodes, by name.
        grids: possible arrangements of the tiles of each texture.

    Args:
        graph: the network.
        layout: ``atlas`` or ``planar``, as for ``program.placement.place``.
        storage: gutters, bits and shared textures of the maps.
    """

    def __init__(self, graph: Graph, layout: str, storage: Storage) -> None:
        self.graph = graph
        self.shapes: Mapping[str, Shape] = graph.shapes
        self.values: dict[str, Value] = {}
        self.grids: dict[str, tuple[Grid, ...]] = {}
        self._layout, self._storage = layout, storage
        self._columns = {name: share.columns for name, share in storage.shares.items()}
        self._textures: dict[str, Texture] = {}
        self._members: dict[str, bytes] = {}
        self._weight_members: dict[str, tuple[str, ...]] = {}
        self._file_names: dict[str, str] = {}

    def feature_map(self, name: str) -> FeatureMap:
        """Return the feature map computed by a layer.

        Raises:
            ModelError: the output is a vector.
        """
        value = self.values[name]
        if not isinstance(value, FeatureMap):
            raise ModelError.layer(name, "its output is a vector", "a feature map is needed here")
        return value

    def fixed_point(self, name: str) -> FixedPoint:
        """Return the vector or the partial sums computed by a layer.

        Raises:
            ModelError: the output is a feature map.
        """
        value = self.values[name]
        if not isinstance(value, FixedPoint):
            raise ModelError.layer(name, "its output is a feature map", "a vector is needed here")
        return value

    def fixed_map(self, name: str) -> FixedMap:
        """Return the feature map in 16-bit fixed point computed by a layer."""
        value = self.values[name]
        assert isinstance(value, FixedMap), name
        return value

    def shows_alpha(self, value: FeatureMap) -> bool:
        """Return whether padding lanes hold an image's alpha instead of 0."""
        pictures = [node.name for node in self.graph.inputs if has_alpha_lane(node) and node.name in self.values]
        alpha = {texture for name in pictures for texture in textures_of(self.values[name])}
        return value.channels % 4 != 0 and value.views[-1].texture in alpha

    def allocated(self, node: Node, since: tuple[int, int]) -> Allocated:
        """Return the output of a node and all that was allocated since ``extent`` was ``since``."""
        value = self.values[node.name]
        textures = dict(islice(self._textures.items(), since[0], None))
        file_names = dict(islice(self._file_names.items(), since[1], None))
        location = value, tuple(self._textures[name] for name in textures_of(value))
        return Allocated(value, location, textures, file_names)

    @property
    def extent(self) -> tuple[int, int]:
        """Number of allocated textures and of file names."""
        return len(self._textures), len(self._file_names)

    def adopt(self, node: Node, allocated: Allocated) -> None:
        """Allocate the output of a node as in an allocation of another graph."""
        self.values[node.name] = allocated.value
        self._textures.update(allocated.textures)
        self._file_names.update(allocated.file_names)

    def set_value(self, node: Node, value: Value) -> None:
        """Set the output of a node without allocating textures."""
        self.values[node.name] = value

    def allocate_map(
        self, node: Node, *, scales: tuple[float, ...], zeros: tuple[float, ...], kind: str = "target"
    ) -> FeatureMap:
        """Allocate the textures of a feature map, with the gutter that its readers need.

        A texture is cleared to one colour. Therefore slices with a gutter and different zero points have different
        textures. The two tiles of a 16-bit slice are above each other, and with a gutter all channels must have one
        zero point.

        Args:
            node: the layer.
            scales: scale of each channel, or one for all.
            zeros: zero point of each channel, or one for all.
            kind: ``target``, or ``input`` for a texture that the runner uploads. The gutter of an image without alpha
                has bytes of 0.

        Raises:
            ModelError: the map fits no texture, or its zero points do not allow the gutter.
        """
        height, width, channels = self.shapes[node.name]
        gutter = self._storage.gutters[node.name]
        slices = slices_of(channels)
        half = height + gutter if self._storage.bits.get(node.name, 8) == 16 else 0
        is_column = self._as_column(node, gutter, half)
        if half and is_column:
            half = slices
        colours = self._colours(node, gutter, zeros, has_halves=bool(half))
        views: dict[int, View] = {}
        file_name, distinct_colours = self._file_name(node.name), list(dict.fromkeys(colours))
        layout = self._layout if kind == "target" else "atlas"
        for index_of_colour, colour in enumerate(distinct_colours):
            slices_of_colour = [index for index, slice_colour in enumerate(colours) if slice_colour == colour]
            texture = file_name if len(distinct_colours) == 1 else f"{file_name}.{index_of_colour}"
            if is_column:
                placement = place(texture, slices + half, 1, 1, 0, layout, self._columns)
                (corner,) = self._add_textures(node, placement, kind, colour)
                tile_views: Sequence[View] = [replace(corner, y=corner.y + row) for row in range(slices)]
            else:
                placement = place(texture, height + half, width, len(slices_of_colour), gutter, layout, self._columns)
                tile_views = self._add_textures(node, placement, kind, colour)
            views.update(zip(slices_of_colour, (replace(view, half=half) for view in tile_views)))
        if has_alpha_lane(node):
            gutter = 0  # the runner uploads such an image without gutter, and bytes of 0 around it
        ordered_views = tuple(views[index] for index in range(slices))
        value = FeatureMap(height, width, channels, gutter, ordered_views, scales, zeros)
        self.values[node.name] = value
        return value

    def _colours(
        self, node: Node, gutter: int, zeros: tuple[float, ...], *, has_halves: bool
    ) -> list[tuple[int, int, int, int]]:
        """Return the clear colour of each slice, with which the gutter of a map has the value 0.

        Raises:
            ModelError: no clear colour has this value.
        """
        channels = self.shapes[node.name][2]
        black = [(0, 0, 0, 0)] * slices_of(channels)
        if not gutter or has_alpha_lane(node):
            return black
        if any(zero != int(zero) or not 0 <= zero <= 255 for zero in zeros):
            raise ModelError.layer(
                node.name,
                "padding around values of which no byte is 0",
                "let a 1x1 convolution of the image come first, or take the image over [0, 1]",
            )
        colours = clear_colours(zeros, channels)
        if not has_halves or not any(any(colour) for colour in colours):
            return colours
        if len({*zeros}) > 1:
            advice = "keep it in 8 bits"
            raise ModelError.layer(node.name, "16 bits of channels with several zero points and a gutter", advice)
        return [(int(zeros[0]), 0, int(zeros[0]), 0)] * len(colours)

    def _as_column(self, node: Node, gutter: int, half: int) -> bool:
        """Return whether the slices of a map are one column, which ``builder.with_columns`` can draw as one rectangle.

        This applies to maps of one pixel without readers, because readers need rows and columns of tiles.
        """
        height, width, channels = self.shapes[node.name]
        rows = slices_of(channels) * (2 if half else 1)
        unshared = not gutter and self._layout == "atlas" and not self.graph.consumers.get(node.name)
        return unshared and (height, width) == (1, 1) and rows <= MAX_TEXTURE_SIZE

    def allocate_fixed_map(self, node: Node, blocks: int, scale: float, kind: str = "target") -> FixedMap:
        """Allocate the textures of a map in 16-bit fixed point with ``blocks`` blocks of channels.

        The tiles of a slice in all blocks are in one texture, in a grid equal for all slices. If they are too large for
        a texture, they use as few textures as possible.
        """
        height, width, channels = self.shapes[node.name]
        slices, tiles = channels // 4 // blocks, 2 * blocks
        texture_count = next(
            (count for count in range(1, tiles) if _fit(slices_of(tiles, count), height, width)), tiles
        )
        tiles_per_texture = slices_of(tiles, texture_count)
        columns = _near_square(tiles_per_texture, height, width)
        layout = self._layout if kind == "target" else "atlas"
        name = self._file_name(node.name)
        origins: list[tuple[View, ...]] = []  # of each texture, for each slice
        for texture_index in range(texture_count):
            rows = slices_of(min(tiles_per_texture, tiles - texture_index * tiles_per_texture), columns)
            group = name if texture_count == 1 else f"{name}.{texture_index}"
            placed = place(group, rows * height, columns * width, slices, 0, layout, self._columns)
            origins.append(self._add_textures(node, placed, kind, (0, 0, 0, 0)))
        views = []
        for block in range(blocks):
            for index in range(slices):
                for tile in (2 * block, 2 * block + 1):
                    origin, offset = origins[tile // tiles_per_texture][index], tile % tiles_per_texture
                    views.append(
                        View(origin.texture, origin.x + offset % columns * width, origin.y + offset // columns * height)
                    )
        value = FixedMap(height, width, channels, scale, tuple(views))
        self.values[node.name] = value
        return value

    def allocate_vector(self, node: Node, length: int, scale: float, kind: str = "target") -> FixedPoint:
        """Allocate the texture of a vector."""
        return self._allocate_fixed(node, FixedPoint(self._file_name(node.name), 0, length, scale), kind)

    def allocate_sums(self, node: Node, columns: int, length: int, scale: float) -> FixedPoint:
        """Allocate the texture of partial sums."""
        return self._allocate_fixed(node, FixedPoint(self._file_name(node.name), columns, length, scale))

    def constant_texture(self, node: Node, width: int, height: int, texels: bytes, part: str = "") -> str:
        """Add a texture of weights and its bundle member; return the name of the texture.

        ``part`` distinguishes the textures of a layer.
        """
        dotted = f".{part}" if part else ""
        name = f"{self._file_name(node.name)}{dotted}.weights"
        member = self.weights(node, f"{dotted}.rgba", texels)
        self._textures[name] = Texture(name, width, height, "constant", member)
        return name

    def weights(self, node: Node, suffix: str, data: bytes) -> str:
        """Add a member with weights of a node; return its name."""
        member = f"weights/{self._file_name(node.name)}{suffix}"
        self._members[member] = data
        self._weight_members[node.name] = (*self._weight_members.get(node.name, ()), member)
        return member

    def texel(self, texture: str) -> list[float]:
        """Return the size of a texel in texture coordinates."""
        return [1.0 / self._textures[texture].width, 1.0 / self._textures[texture].height]

    def position(self, view: View, x: float = 0.0, y: float = 0.0) -> tuple[float, float]:
        """Return the texture coordinates of a point (x, y), in texels from the tile's first corner."""
        texture = self._textures[view.texture]
        return (view.x + x) / texture.width, (view.y + y) / texture.height

    def _add_textures(
        self, node: Node, placed: Placement | None, kind: str, clear: tuple[int, int, int, int]
    ) -> tuple[View, ...]:
        """Add the textures of a placement, or the shared textures that replace them; return the view of each tile.

        Raises:
            ModelError: ``placed`` is None, because the tiles do not fit into a texture.
        """
        if placed is None:
            height, width, channels = self.shapes[node.name]
            raise ModelError.layer(
                node.name,
                f"its output of {height}x{width} pixels and {channels} channels fits no texture of "
                f"{MAX_TEXTURE_SIZE}x{MAX_TEXTURE_SIZE}",
                "use a smaller image or fewer channels",
            )
        names = {
            name: self._add_texture(Texture(name, width, height, kind, clear=clear), grids)
            for (name, width, height), grids in zip(placed.textures, placed.grids)
        }
        if not any(name in self._storage.shares for name in names):
            return placed.views
        views = []
        for view in placed.views:
            share = self._storage.shares.get(view.texture)
            x, y = (0, 0) if share is None else (share.x, share.y)
            views.append(replace(view, texture=names[view.texture], x=view.x + x, y=view.y + y))
        return tuple(views)

    def _allocate_fixed(self, node: Node, value: FixedPoint, kind: str = "target") -> FixedPoint:
        texture = Texture(value.texture, *value.size, kind)
        value = replace(value, texture=self._add_texture(texture, (Grid(1, *value.size),)))
        self.values[node.name] = value
        return value

    def _add_texture(self, texture: Texture, grids: tuple[Grid, ...]) -> str:
        """Add a texture, or the shared texture that replaces it; return the name."""
        self.grids[texture.name] = grids
        share = self._storage.shares.get(texture.name)
        if share is not None:
            texture = replace(texture, name=share.texture, width=share.width, height=share.height, clear=share.clear)
        self._textures[texture.name] = texture
        return texture.name

    def _file_name(self, layer: str) -> str:
        """Return a unique file name for a layer."""
        if layer not in self._file_names:
            safe = re.sub(r"[^A-Za-z0-9_-]", "_", layer)
            used_names = set(self._file_names.values())
            self._file_names[layer] = next(
                name
                for index in range(len(used_names) + 1)
                if (name := safe if not index else f"{safe}_{index}") not in used_names
            )
        return self._file_names[layer]


def _fit(tiles: int, height: int, width: int) -> bool:
    """Return whether tiles fit into one texture in the arrangement of ``_near_square``."""
    columns = _near_square(tiles, height, width)
    return max(columns * width, slices_of(tiles, columns) * height) <= MAX_TEXTURE_SIZE


def _near_square(tiles: int, height: int, width: int) -> int:
    """Return the number of columns with which the tiles' rectangle has the smallest longer side."""
    return min(range(1, tiles + 1), key=lambda columns: max(columns * width, slices_of(tiles, columns) * height))
