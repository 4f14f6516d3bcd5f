"""passes.bin: packed passes are read back, and each defect is refused with the pass's index."""

from __future__ import annotations

import json
import random
import struct

import bundle_data
import numpy as np
import pytest
import ranged
import tiny

from glsl_infer.bundle import Bundle, manifest_json, pass_table
from glsl_infer.bundle.pass_table import Names, as_stored, float_members, pack, unpack
from glsl_infer.errors import BundleError
from glsl_infer.program import Pass, Quad, ShaderProgram, Slice, Source, Texture, UniformValue

FLOATS = ("weights/a.f32", "weights/b.f32", "weights/c.f32")
NAMES = Names(
    tuple(f"layer {index}" for index in range(300)),
    (
        ShaderProgram("none", "v", "f", ("a",), 1, {}),
        ShaderProgram("each", "v", "f", ("a",), 1, {"first": 1, "four": 4, "many": 70}),
        ShaderProgram("last", "v", "f", ("a",), 7, {"pair": 2}),
    ),
    tuple(Texture(f"texture {index}", 1, 1, "target") for index in range(400)),
    FLOATS,
)


def random_passes(seed: int) -> tuple[Pass, ...]:
    """Return passes with every feature of the format, including the bounds of its ranges."""
    rng = random.Random(seed)

    def number() -> float:
        return float(np.float32(rng.choice((0.0, -0.0, 1.0, 8192.0, -8192.0, 1e-45, rng.uniform(-2, 2)))))

    def uniform(length: int) -> UniformValue:
        if rng.random() < 0.5:
            return Slice(rng.choice(FLOATS), rng.choice((0, (1 << 32) - 1, rng.randrange(1 << 32))), length)
        return tuple(number() for _ in range(length))

    def quad(sources: int) -> Quad:
        corner = [rng.choice((0, 8192, rng.randrange(8193))) for _ in range(4)]
        offsets = tuple(
            (rng.choice((-8192, 8192, rng.randint(-8192, 8192))), rng.randint(-9, 9)) for _ in range(sources)
        )
        return Quad(corner[0], corner[1], corner[2], corner[3], offsets)

    passes = []
    for _ in range(rng.randint(1, 6)):
        program, count = rng.choice(NAMES.programs), rng.randint(1, 14)
        passes.append(
            Pass(
                rng.choice(NAMES.layers),
                program.name,
                rng.choice(NAMES.textures).name,
                rng.random() < 0.5,
                tuple(rng.choice(NAMES.textures).name for _ in range(rng.choice((0, 1, 32, 255)))),
                tuple(Source(rng.randint(0, 31), number(), number()) for _ in range(count)),
                tuple(quad(count) for _ in range(rng.choice((1, 2, 40)))),
                {name: uniform(length) for name, length in program.uniforms.items()},
            )
        )
    return tuple(passes)


def quads_of(passes: tuple[Pass, ...]) -> int:
    return sum(len(draw.quads) for draw in passes)


@pytest.mark.parametrize("seed", range(60))
def test_packed_passes_are_read_back(seed: int) -> None:
    passes = random_passes(seed)
    table = pack(passes, NAMES)
    assert unpack(table, len(passes), quads_of(passes), NAMES) == passes
    assert pack(unpack(table, len(passes), quads_of(passes), NAMES), NAMES) == table


@pytest.mark.parametrize("seed", range(60, 100))
def test_random_bytes_are_refused_or_passes(seed: int) -> None:
    """The reader raises only a one-line BundleError, and the passes that it accepts match the bytes."""
    rng, passes = random.Random(seed), random_passes(seed)
    table = bytearray(pack(passes, NAMES))
    for _ in range(rng.randint(1, 4)):
        table[rng.randrange(len(table))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    try:
        result = unpack(bytes(table), len(passes), quads_of(passes), NAMES)
    except BundleError as error:
        assert "\n" not in str(error) and ("pass " in str(error) or "passes.bin" in str(error))
    else:
        assert pack(result, NAMES) == bytes(table)


@pytest.mark.parametrize(
    "bundle",
    [tiny.tiny_bundle(weights) for weights in ("baked", "uniform", "texture")]
    + [ranged.ranged_bundle(end) for end in ranged.ENDS],
)
def test_the_documented_layout_is_the_one_that_is_written(bundle: Bundle) -> None:
    """``bundle_data`` reads and writes the same bytes, and shares no code with the engine."""
    manifest = json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))
    passes = bundle_data.unpacked_passes(manifest, bundle.members["passes.bin"])
    assert bundle_data.table({**manifest, "passes": passes}) == bundle.members["passes.bin"]
    for documented, ours in zip(passes, bundle.manifest.passes):
        assert (documented["layer"], documented["target"], documented["clear"]) == (ours.layer, ours.target, ours.clear)
        assert documented["sources"] == [list(vars(source).values()) for source in ours.sources]
        assert documented["uniforms"].keys() == ours.uniforms.keys()


def test_the_bytes_of_one_pass() -> None:
    """The bytes are written out by hand from the specification."""
    program = NAMES.programs[2]
    draw = Pass(
        "layer 258",
        program.name,
        "texture 3",
        True,
        ("texture 1", "texture 256"),
        (Source(1, 2.0, 0.5), Source(0, 1.0, 1.0)),
        (Quad(1, 2, 3, 4, ((-1, 5), (6, -7))),),
        {"pair": (0.25, -1.0)},
    )
    record = struct.pack("<HHHBB", 258, 2, 3, 1, 2) + struct.pack("<HH", 1, 256)
    record += struct.pack("<BBffBff", 2, 1, 2.0, 0.5, 0, 1.0, 1.0)
    record += struct.pack("<I4H4h", 1, 1, 2, 3, 4, -1, 5, 6, -7)
    assert pack([draw], NAMES) == record + struct.pack("<Bff", 0, 0.25, -1.0)
    sliced = Pass(**{**vars(draw), "uniforms": {"pair": Slice(FLOATS[1], 70_000, 2)}})
    assert pack([sliced], NAMES) == record + struct.pack("<BHI", 1, 1, 70_000)
    assert float_members([draw, sliced]) == (FLOATS[1],)


# Defects ------------------------------------------------------------------------------------------


def fields_of(passes: tuple[Pass, ...]) -> dict[str, int]:
    """Return the offsets of the fields of the second pass, for tests that overwrite one."""
    at = len(pack(passes[:1], NAMES))
    draw = passes[1]
    places = {"layer": at, "program": at + 2, "target": at + 4, "clear": at + 6, "texture count": at + 7}
    at += 8
    places["texture"] = at
    at += 2 * len(draw.textures)
    places["source count"] = at
    places["unit"], places["stride x"], places["stride y"] = at + 1, at + 2, at + 6
    at += 1 + 9 * len(draw.sources)
    places["quad count"] = at
    places.update({name: at + 4 + 2 * index for index, name in enumerate(("x", "y", "width", "height", "ox", "oy"))})
    at += 4 + len(draw.quads) * 2 * (4 + 2 * len(draw.sources))
    places["first kind"], places["first number"] = at, at + 1
    at += 5
    places["second kind"], places["second member"] = at, at + 1
    return places


def plain_pass(layer: str) -> Pass:
    """Return a pass with a value of each kind."""
    return Pass(
        layer,
        "each",
        "texture 0",
        True,
        ("texture 1",),
        (Source(0, 1.0, 1.0), Source(0, 2.0, 2.0)),
        (Quad(0, 0, 1, 1, ((0, 0), (1, 1))), Quad(1, 1, 2, 2, ((0, 0), (1, 1)))),
        {"first": (1.0,), "four": Slice(FLOATS[2], 4, 4), "many": (0.5,) * 70},
    )


PASSES = (plain_pass("layer 0"), plain_pass("layer 1"), plain_pass("layer 2"))
TABLE = pack(PASSES, NAMES)
AT = fields_of(PASSES)


def word(value: int) -> bytes:
    return struct.pack("<H", value)


def offset(value: int) -> bytes:
    return struct.pack("<h", value)


def single(value: float) -> bytes:
    return struct.pack("<f", value)


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "layer": ("layer", word(300), "layer 300 of 300"),
    "last layer": ("layer", word(0xFFFF), "layer 65535 of 300"),
    "program": ("program", word(3), "program 3 of 3"),
    "target": ("target", word(400), "texture 400 of 400"),
    "texture": ("texture", word(400), "texture 400 of 400"),
    "clear": ("clear", b"\2", "'clear' is 2, not 0 or 1"),
    "no sources": ("source count", b"\0", "0 sources; 1 to 14 are possible"),
    "15 sources": ("source count", b"\x0f", "15 sources; 1 to 14 are possible"),
    "unit": ("unit", b"\x20", "texture unit 32; 0 to 31 are possible"),
    "NaN": ("stride x", single(float("nan")), "a number that is not finite, or too large"),
    "infinite": ("stride y", single(float("inf")), "a number that is not finite, or too large"),
    "infinitely small": ("stride y", single(float("-inf")), "a number that is not finite, or too large"),
    "NaN with bits": ("stride x", b"\1\0\x80\x7f", "a number that is not finite, or too large"),
    "no quads": ("quad count", bytes(4), "0 quads, where the manifest leaves 4"),
    "more quads than the manifest says": ("quad count", struct.pack("<I", 5), "5 quads, where the manifest leaves 4"),
    "4 billion quads": ("quad count", b"\xff" * 4, "4294967295 quads, where the manifest leaves 4"),
    "x": ("x", word(8193), "a quad beyond 8192 texels"),
    "y": ("y", word(0x8000), "a quad beyond 8192 texels"),
    "width": ("width", word(0xFFFF), "a quad beyond 8192 texels"),
    "height": ("height", word(0x7FFF), "a quad beyond 8192 texels"),
    "ox": ("ox", offset(-8193), "a quad beyond 8192 texels"),
    "ox at the end": ("ox", offset(-32768), "a quad beyond 8192 texels"),
    "oy": ("oy", offset(8193), "a quad beyond 8192 texels"),
    "kind": ("first kind", b"\2", "a uniform of kind 2; 0 and 1 are possible"),
    "NaN in a uniform": ("first number", single(float("nan")), "a number that is not finite, or too large"),
    "member": ("second member", word(3), "member 3 of 3 with floats"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_defect_is_refused_with_the_index_of_the_pass(name: str) -> None:
    field, replacement, message = BROKEN[name]
    table = TABLE[: AT[field]] + replacement + TABLE[AT[field] + len(replacement) :]
    assert len(table) == len(TABLE) and table != TABLE
    with pytest.raises(BundleError) as caught:
        unpack(table, 3, 6, NAMES)
    assert str(caught.value) == f"pass 1: {message}"


@pytest.mark.parametrize(
    "field, replacement", [("x", word(8192)), ("height", word(8192)), ("ox", offset(-8192)), ("oy", offset(8192))]
)
def test_values_at_the_bounds_are_accepted(field: str, replacement: bytes) -> None:
    assert len(unpack(TABLE[: AT[field]] + replacement + TABLE[AT[field] + 2 :], 3, 6, NAMES)) == 3


def test_every_truncation_is_refused() -> None:
    sizes = [len(pack(PASSES[:count], NAMES)) for count in range(4)]
    for length in range(len(TABLE)):
        index = next(index for index in range(3) if length < sizes[index + 1])
        with pytest.raises(BundleError, match=rf"^pass {index}: passes\.bin ends within it$"):
            unpack(TABLE[:length], 3, 6, NAMES)


@pytest.mark.parametrize("more", [b"\0", b"\0\0\0", TABLE, bytes(1000)])
def test_bytes_left_over_are_refused(more: bytes) -> None:
    with pytest.raises(BundleError, match=rf"^passes\.bin: {len(more)} bytes are left over after pass 2$"):
        unpack(TABLE + more, 3, 6, NAMES)


@pytest.mark.parametrize(
    "count, quads, message",
    [
        (2, 6, r"passes\.bin: 4 quads in 2 passes, but 6 in the manifest"),
        (2, 4, r"passes\.bin: \d+ bytes are left over after pass 1"),
        (4, 6, r"pass 3: passes\.bin ends within it"),
        (3, 7, r"passes\.bin: 6 quads in 3 passes, but 7 in the manifest"),
        (3, 5, r"pass 2: 2 quads, where the manifest leaves 1"),
        (3, 1, r"pass 0: 2 quads, where the manifest leaves 1"),
        (65537, 6, "65537 passes with 6 quads; a model has at most 65536 and 262144"),
        (3, 262145, "3 passes with 262145 quads; a model has at most 65536 and 262144"),
    ],
)
def test_wrong_counts_are_refused(count: int, quads: int, message: str) -> None:
    with pytest.raises(BundleError, match=f"^{message}$"):
        unpack(TABLE, count, quads, NAMES)


def test_an_empty_table_with_huge_counts_takes_no_memory() -> None:
    with pytest.raises(BundleError, match="pass 0"):
        unpack(b"", pass_table.MAX_PASSES, pass_table.MAX_QUADS, NAMES)
    head = struct.pack("<HHHBBBBffI", 0, 0, 0, 1, 0, 1, 0, 1.0, 1.0, pass_table.MAX_QUADS)
    with pytest.raises(BundleError, match="pass 0"):
        unpack(head, 1, pass_table.MAX_QUADS, NAMES)


def test_numbers_are_rounded_to_32_bits() -> None:
    draw = PASSES[0]
    double = Pass(**{**vars(draw), "sources": (Source(0, 0.1, 1 / 3),), "uniforms": {"first": (0.1,)}})
    stored = as_stored(double)
    assert stored.sources == (Source(0, float(np.float32(0.1)), float(np.float32(1 / 3))),)
    assert stored.uniforms == {"first": (float(np.float32(0.1)),)}
    assert as_stored(stored) == stored
    assert as_stored(draw).uniforms["four"] == Slice(FLOATS[2], 4, 4)


# In a file ----------------------------------------------------------------------------------------


def test_another_layer_without_a_pass_is_refused() -> None:
    data = tiny.tiny_manifest()
    manifest = bundle_data.manifest_data(data)
    manifest["layers"].append("idle")
    with pytest.raises(BundleError, match="'idle'"):
        manifest_json.from_json(manifest, bundle_data.table(data))
