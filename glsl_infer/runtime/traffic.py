"""Number of bytes that a frame moves between CPU and GPU."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from glsl_infer.bundle import Bundle
from glsl_infer.program.layout import FixedPoint, Value, textures_of


def uploaded(bundle: Bundle, inputs: Collection[str] | None = None) -> int:
    """Return the bytes that a frame of a GPU part uploads: of all inputs, or of those named."""
    return sum(_tile_bytes(entry.value) for entry in bundle.manifest.inputs if inputs is None or entry.name in inputs)


def read_back(bundle: Bundle) -> int:
    """Return the bytes that a frame of a GPU part reads back: entire textures of maps, the texels of vectors."""
    return sum(_texture_bytes(bundle, output.values) for output in bundle.manifest.outputs)


def _tile_bytes(value: Value) -> int:
    if isinstance(value, FixedPoint):
        width, height = value.size
        return 4 * width * height
    return 4 * len(value.views) * value.height * value.width


def _texture_bytes(bundle: Bundle, values: Iterable[Value]) -> int:
    sizes = {texture.name: 4 * texture.width * texture.height for texture in bundle.manifest.textures}
    total = 0
    for value in values:
        if isinstance(value, FixedPoint):
            total += _tile_bytes(value)
        else:
            total += sum(sizes[name] for name in textures_of(value))
    return total
