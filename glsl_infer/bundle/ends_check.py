"""Checks of a manifest's inputs, outputs and probe against its textures and one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from glsl_infer.bundle.manifest import CLASSES, PICTURE, Manifest, Output
from glsl_infer.errors import BundleError
from glsl_infer.program import Texture
from glsl_infer.program.layout import FixedMap, FixedPoint, SixteenBitMap, Value, slices_of, textures_of

INPUT = "input"
"""Kind of the textures that a runner uploads to."""


def check_value(value: Value, where: str, textures: Mapping[str, Texture]) -> None:
    """Refuse a value that does not fit its textures; ``where`` names it in messages."""
    if isinstance(value, FixedPoint):
        texture = textures.get(value.texture)
        if texture is None or value.size[0] > texture.width or value.size[1] > texture.height:
            raise BundleError(f"{where}: its values do not fit texture '{value.texture}'")
        return
    if isinstance(value, FixedMap):
        fits = value.channels % 4 == 0 and len(value.views) == value.channels // 2
    else:
        fits = len(value.views) == slices_of(value.channels, 2 if isinstance(value, SixteenBitMap) else 4)
        if len(value.scales) not in (1, value.channels) or len(value.zeros) not in (1, value.channels):
            raise BundleError(
                f"{where}: {len(value.scales)} scales, {len(value.zeros)} zeros; give one, or one a channel"
            )
        if 0.0 in value.scales:
            raise BundleError(f"{where}: a scale is 0")
    if not fits:
        raise BundleError(f"{where}: {len(value.views)} views for {value.channels} channels")
    for view in value.views:
        texture = textures.get(view.texture)
        if texture is None or view.x + value.width > texture.width or view.y + value.height > texture.height:
            raise BundleError(f"{where}: a view lies outside its texture")


def check_inputs(manifest: Manifest, textures: Mapping[str, Texture]) -> None:
    """Refuse inputs that do not fit their textures, and ``input`` textures without an input or with two."""
    owner: dict[str, str] = {}
    for entry in manifest.inputs:
        where = f"input '{entry.name}'"
        check_value(entry.value, where, textures)
        for name in entry.textures:
            texture = textures[name]
            if texture.kind != INPUT:
                raise BundleError(f"{where}: texture '{name}' is of kind '{texture.kind}', not '{INPUT}'")
            if name in owner:
                raise BundleError(f"{where}: texture '{name}' belongs to input '{owner[name]}' too; give each its own")
            if entry.kind == PICTURE and entry.channels != 4 and any(texture.clear):
                raise BundleError(
                    f"{where}: texture '{name}' of a picture without alpha must have 'clear' [0, 0, 0, 0]"
                )
            owner[name] = entry.name
    unused = [texture.name for texture in textures.values() if texture.kind == INPUT and texture.name not in owner]
    if unused:
        raise BundleError(f"texture '{unused[0]}' is of kind '{INPUT}', but no input lies in it; leave it out")


def check_outputs(manifest: Manifest, textures: Mapping[str, Texture], written: set[str]) -> None:
    """Refuse outputs that do not fit their textures or are never drawn, and a second output for classes."""
    for output in manifest.outputs:
        where = f"output '{output.name}'"
        for value in output.values:
            check_value(value, where, textures)
            _check_drawn(value, where, written)
    classes = [output.name for output in manifest.outputs if output.purpose == CLASSES]
    if len(classes) > 1:
        raise BundleError(f"outputs '{classes[0]}' and '{classes[1]}' are both for '{CLASSES}'; at most one may be")


def check_probe(
    manifest: Manifest, textures: Mapping[str, Texture], written: set[str], sizes: Mapping[str, int]
) -> None:
    """Refuse a probe without exactly one entry for each layer and each output, or with missing records."""
    names = manifest.layers
    entries = Counter(layer.layer for layer in manifest.probe.layers)
    wrong = [name for name in (*names, *entries) if name not in names or entries[name] != 1]
    if wrong:
        raise BundleError(f"probe: layer '{wrong[0]}' is not drawn, or has not exactly one entry")
    for layer in manifest.probe.layers:
        where = f"probe: layer '{layer.layer}'"
        check_value(layer.value, where, textures)
        views = not isinstance(layer.value, FixedPoint)  # only views can be in an input texture
        _check_drawn(
            layer.value, where, {name for name in textures if views and textures[name].kind == INPUT} | written
        )
        if 8 * (layer.offset + layer.count) > sizes[manifest.probe.member]:
            raise BundleError(f"probe: the texels of layer '{layer.layer}' end beyond the member")
    if len(manifest.probe.outputs) != len(manifest.outputs):
        raise BundleError(
            f"probe: {len(manifest.probe.outputs)} outputs, where the model has {len(manifest.outputs)}; give one each"
        )
    for output, expected in zip(manifest.outputs, manifest.probe.outputs):
        count = probed_numbers(output)
        if len(expected.numbers) != count:
            raise BundleError(f"probe: {len(expected.numbers)} numbers of output '{output.name}', not {count}")


def probed_numbers(output: Output) -> int:
    """Return the number of values that the probe has for an output: all values of a single vector, otherwise 0."""
    value = output.values[0]
    return value.length if len(output.values) == 1 and isinstance(value, FixedPoint) else 0


def _check_drawn(value: Value, where: str, written: set[str]) -> None:
    undrawn = [name for name in textures_of(value) if name not in written]
    if undrawn:
        raise BundleError(f"{where}: nothing is drawn into texture '{undrawn[0]}', where its output should be")
