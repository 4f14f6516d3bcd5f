"""bundle.schema.json and the manifest reader refuse the same things.

Mutations are made of a small manifest that is cut down to one entry of every kind, so that each is quick.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ranged
import tiny

import glsl_infer
from glsl_infer import bundle
from glsl_infer.bundle import Bundle, manifest_json
from glsl_infer.bundle.manifest_check import check
from glsl_infer.errors import BundleError
from glsl_infer.lowering.weights_plan import WEIGHTS_MODES
from glsl_infer.program.layout import LAYOUTS

SCHEMA = json.loads((Path(glsl_infer.__file__).parent / "bundle/bundle.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

Place = tuple[Any, ...]
"""Keys and indices that lead to a value."""

FREE_KEYS = {"attrs", "weights", "uniforms", "members"}
"""Objects whose keys are not fixed."""


def as_json(made: Bundle) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(manifest_json.to_json(made.manifest)))
    return data


def shortened() -> dict[str, Any]:
    """The tiny manifest with fewer entries; its parts no longer fit together, but each is well formed.

    Its layers have one kind of value each: a feature map, fixed point, and a 16-bit feature map of another network.
    """
    data = tiny.tiny_manifest()
    layers = {layer["op"]: layer for layer in as_json(ranged.ranged_bundle())["model"]["layers"]}
    layers.update({layer["op"]: layer for layer in data["model"]["layers"]})
    data["model"]["layers"] = [layers[op] for op in ("conv2d", "dense_sum", "convolution_products")]
    for index in (0, 2):
        del data["model"]["layers"][index]["output"]["views"][1:]
    kinds = {texture["kind"]: texture for texture in data["textures"]}
    data["textures"] = [kinds["constant"], kinds["target"]]
    data["programs"] = [program for program in data["programs"] if program["name"] == "unit-dw"]
    data["passes"] = [one for one in data["passes"] if one["program"] == "unit-dw"][:1]
    data["probe"]["layers"] = data["probe"]["layers"][:1]
    data["members"] = {name: data["members"][name] for name in ("labels.txt", "shaders/prelude.glsl")}
    return data


def values(data: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value in a manifest with its place, outermost first."""
    yield place, data
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from values(value, (*place, key))


def put(data: Any, place: Place, value: Any) -> Any:
    """Return a copy with another value at a place; ``...`` removes it."""
    data = copy.deepcopy(data)
    holder = data
    for key in place[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return data


def refused_by_both(data: Any) -> None:
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(BundleError):
        manifest_json.from_json(data)


SMALL = shortened()
IMAGE = {
    **SMALL,
    "outputs": as_json(ranged.ranged_bundle("image"))["outputs"],
    "probe": {**SMALL["probe"], "logits": []},
}
PLACES = dict(values(SMALL))
OBJECTS = [place for place, value in PLACES.items() if isinstance(value, dict) and not FREE_KEYS & set(place[-1:])]
REQUIRED = [
    (*place, key) for place in OBJECTS for key in PLACES[place] if (place[:1], key) != (("textures",), "member")
]
IMAGE_PLACES = {place: value for place, value in values(IMAGE) if place[:1] == ("outputs",) and len(place) > 1}


def name(place: Place) -> str:
    return "/".join(map(str, place)) or "manifest"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_object_of_the_schema_is_closed() -> None:
    for place, value in values(SCHEMA):
        if isinstance(value, dict) and "properties" in value and "type" in value:
            assert value["additionalProperties"] is False, name(place)
            assert set(value["properties"]) - set(value["required"]) <= {"member", "clear"}, name(place)


BUNDLES = [
    *(tiny.tiny_bundle(weights, layout) for weights in WEIGHTS_MODES for layout in LAYOUTS),
    *(ranged.ranged_bundle(end, layout) for end in ranged.ENDS for layout in LAYOUTS),
]


@pytest.mark.parametrize("made", BUNDLES)
def test_a_bundle_is_valid(made: Bundle) -> None:
    data = as_json(made)
    VALIDATOR.validate(data)
    assert manifest_json.from_json(data) == made.manifest


@pytest.mark.parametrize("data", [SMALL, IMAGE], ids=["logits", "image"])
def test_the_shortened_one_is_valid(data: Any) -> None:
    VALIDATOR.validate(data)
    manifest_json.from_json(data)


@pytest.mark.parametrize("place", REQUIRED, ids=name)
def test_every_key_is_required(place: Place) -> None:
    refused_by_both(put(SMALL, place, ...))


@pytest.mark.parametrize("place", OBJECTS, ids=name)
def test_unknown_keys_are_refused(place: Place) -> None:
    refused_by_both(put(SMALL, (*place, "unknown"), 1))


def test_an_image_has_its_own_keys() -> None:
    for place in IMAGE_PLACES:
        if isinstance(place[-1], str):
            refused_by_both(put(IMAGE, place, ...))
    refused_by_both(put(IMAGE, ("outputs", 0, "unknown"), 1))
    refused_by_both(put(IMAGE, ("outputs", 0, "name"), "logits"))
    refused_by_both(put(SMALL, ("outputs", 0, "name"), "image"))
    refused_by_both(put(SMALL, ("outputs", 0, "name"), "heat map"))
    refused_by_both(put(SMALL, ("outputs", 0, "columns"), 1))
    fixed = SMALL["model"]["layers"][2]["output"]
    refused_by_both(put(IMAGE, ("outputs", 0), {"name": "image", **fixed}))
    refused_by_both(put(IMAGE, ("outputs", 0), {"name": "logits", **fixed}))


@pytest.mark.parametrize("place", IMAGE_PLACES, ids=name)
def test_wrong_types_in_an_image(place: Place) -> None:
    for wrong in WRONG.get(type(IMAGE_PLACES[place]), ["1", [1], None, True]):
        refused_by_both(put(IMAGE, place, wrong))


WRONG: dict[type, list[Any]] = {
    dict: [[], "x", None],
    list: [{}, "x", None],
    str: [5, [], None],
    bool: [0, "true", None],
}


@pytest.mark.parametrize("place", [place for place in PLACES if place and "attrs" not in place], ids=name)
def test_wrong_types_are_refused(place: Place) -> None:
    value = PLACES[place]
    if "uniforms" in place and place[0] == "passes" and place[-1] == 0:
        return  # whether this is a text or a number decides what the uniform is; see below
    for wrong in WRONG.get(type(value), ["1", [1], None, True]):
        refused_by_both(put(SMALL, place, wrong))


INTEGERS = [place for place, value in PLACES.items() if type(value) is int and "attrs" not in place]
ORIGINS = [place for place in INTEGERS if place[-3:-2] == ("quads",) and place[-1] >= 4]


@pytest.mark.parametrize("place", INTEGERS, ids=name)
def test_integers_have_a_range(place: Place) -> None:
    for wrong in (-10_000 if place in ORIGINS else -1, 1.5, 1 << 40):
        refused_by_both(put(SMALL, place, wrong))


RANGES = {
    ("version",): (1, 1),
    ("model", "layers", 0, "weights", "kernel", 0): (1, 1 << 20),
    ("model", "layers", 0, "output", "height"): (1, 8192),
    ("model", "layers", 0, "output", "width"): (1, 8192),
    ("model", "layers", 0, "output", "channels"): (1, 1 << 20),
    ("model", "layers", 0, "output", "gutter"): (0, 64),
    ("model", "layers", 0, "output", "views", 0, 1): (0, 8192),
    ("model", "layers", 2, "output", "height"): (1, 8192),
    ("model", "layers", 2, "output", "width"): (1, 8192),
    ("model", "layers", 2, "output", "channels"): (1, 1 << 20),
    ("model", "layers", 2, "output", "views", 0, 2): (0, 8192),
    ("model", "layers", 1, "output", "columns"): (0, 8192),
    ("model", "layers", 1, "output", "length"): (1, 1 << 20),
    ("input", "size"): (1, 8192),
    ("input", "x"): (0, 8192),
    ("limits", "texture_units"): (1, 32),
    ("limits", "texture_size"): (1, 8192),
    ("limits", "fragment_uniform_vectors"): (0, 4096),
    ("limits", "varying_vectors"): (1, 32),
    ("limits", "vertex_attributes"): (1, 32),
    ("textures", 0, "width"): (1, 8192),
    ("textures", 0, "height"): (1, 8192),
    ("textures", 1, "clear", 0): (0, 255),
    ("textures", 1, "clear", 3): (0, 255),
    ("programs", 0, "varyings"): (1, 7),
    ("programs", 0, "uniforms", "source_texel"): (1, 1 << 14),
    ("passes", 0, "sources", 0, 0): (0, 31),
    ("passes", 0, "quads", 0, 0): (0, 8192),
    ("passes", 0, "quads", 0, 4): (-8192, 8192),
    ("passes", 0, "uniforms", "weights", 1): (0, 1 << 28),
    ("outputs", 0, "length"): (1, 1 << 20),
    ("probe", "layers", 0, "offset"): (0, 1 << 28),
    ("probe", "layers", 0, "count"): (1, 1 << 20),
}


@pytest.mark.parametrize("place", RANGES, ids=name)
def test_the_ends_of_ranges(place: Place) -> None:
    low, high = RANGES[place]
    for right in (low, high):
        VALIDATOR.validate(put(SMALL, place, right))
        manifest_json.from_json(put(SMALL, place, right))
    for wrong in (low - 1, high + 1):
        refused_by_both(put(SMALL, place, wrong))


NUMBERS = [place for place, value in PLACES.items() if type(value) is float and "attrs" not in place]


@pytest.mark.parametrize("place", NUMBERS, ids=name)
def test_numbers_fit_a_float(place: Place) -> None:
    for wrong in (1e39, -1e39, float("inf"), 10**400):
        refused_by_both(put(SMALL, place, wrong))
    with pytest.raises(BundleError):
        manifest_json.from_json(put(SMALL, place, float("nan")))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("format",), "other"),
        (("format",), None),
        (("version",), 2),
        (("version",), "1"),
        (("model", "layers", 1, "output", "scale"), 0),
        (("model", "layers", 1, "output", "scale"), -1.0),
        (("model", "layers", 2, "output", "scale"), 0),
        (("model", "layers", 2, "output", "scale"), -1.0),
        (("model", "layers", 2, "output", "gutter"), 0),
        (("model", "layers", 2, "output", "scales"), [1.0]),
        (("model", "layers", 0, "output", "scale"), 1.0),
        (("outputs", 0, "scale"), 0.0),
        (("textures", 1, "clear"), [0, 0, 0]),
        (("textures", 1, "clear"), [0] * 5),
        (("textures", 1, "clear"), 0),
        (("textures", 0, "clear"), [0, 0, 0, 0]),
        (("textures", 1, "kind"), "input"),
        (("input", "preprocessing"), "stretched"),
        (("textures", 0, "kind"), "texture"),
        (("probe", "formula"), "x + y"),
        (("probe", "max_error"), -1.0),
        (("probe", "layers", 0, "max_error"), -1.0),
        (("probe", "layers", 0, "mean_error"), -0.1),
        (("model", "layers", 0, "output", "views", 0), ["stem", 0]),
        (("model", "layers", 0, "output", "views", 0), ["stem", 0, 0, 0]),
        (("passes", 0, "sources", 0), [0, 1.0]),
        (("passes", 0, "sources", 0), [0, 1.0, 1.0, 1.0]),
        (("passes", 0, "quads", 0), [0, 0, 1, 1]),
        (("passes", 0, "uniforms", "source_texel"), []),
        (("passes", 0, "uniforms", "source_texel"), [1.0] * 5),
        (("passes", 0, "uniforms", "source_texel"), [1.0, "x"]),
        (("passes", 0, "uniforms", "weights"), ["weights/stem.f32"]),
        (("passes", 0, "uniforms", "weights"), ["weights/stem.f32", 0, 4, 4]),
        (("passes", 0, "uniforms", "weights"), ["weights/stem.f32", 0, 6]),
        (("passes", 0, "uniforms", "no name"), [1.0]),
        (("programs", 0, "samplers", 0), "a[0]"),
        (("programs", 0, "samplers", 0), ""),
        (("programs", 0, "uniforms", "0a"), 1),
        (("model", "layers", 0, "attrs", "nested"), [[1]]),
        (("model", "layers", 0, "attrs", "object"), {}),
    ],
    ids=lambda value: name(value) if isinstance(value, tuple) else json.dumps(value),
)
def test_other_values_are_refused(place: Place, value: Any) -> None:
    refused_by_both(put(SMALL, place, value))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("textures",), []),
        (("programs",), []),
        (("passes",), []),
        (("outputs",), []),
        (("outputs",), 2 * tiny.tiny_manifest()["outputs"]),
        (("model", "layers"), []),
        (("model", "layers", 0, "output", "views"), []),
        (("passes", 0, "quads"), []),
        (("model", "layers", 1, "output", "scales"), []),
        (("model", "layers", 1, "output", "zeros"), []),
        (("model", "layers", 1, "output", "scales"), [0]),
        (("model", "layers", 1, "output", "scales"), [-0.0]),
        (("passes", 0, "quads", 0, 2), 0),
        (("passes", 0, "sources"), []),
        (("probe", "logits"), []),
        (("probe", "member"), "manifest.json"),
        (("textures", 0, "member"), "weights/none.f32"),
        (("programs", 0, "vertex"), "../quads1.vert"),
        (("members", "labels.txt"), ...),
        (("members", "shaders/prelude.glsl"), ...),
    ],
    ids=lambda value: name(value) if isinstance(value, tuple) else None,
)
def test_what_the_reader_refuses_only_when_it_fits_the_parts_together(place: Place, value: Any) -> None:
    data = put(tiny.tiny_manifest(), place, value)
    assert not VALIDATOR.is_valid(data)
    sizes = {member: len(content) for member, content in tiny.tiny_bundle().members.items()}
    with pytest.raises(BundleError):
        manifest = manifest_json.from_json(data)
        check(manifest, {member: sizes[member] for member in manifest.members})


def test_a_constant_texture_has_a_member_and_others_have_none() -> None:
    data = tiny.tiny_manifest()
    kinds = {texture["kind"]: index for index, texture in enumerate(data["textures"])}
    assert not VALIDATOR.is_valid(put(data, ("textures", kinds["constant"], "member"), ...))
    assert not VALIDATOR.is_valid(put(data, ("textures", kinds["target"], "member"), "weights/dense.rgba"))
    assert not VALIDATOR.is_valid(put(data, ("textures", kinds["input"], "member"), "weights/dense.rgba"))


def test_digests_and_member_names_have_a_pattern() -> None:
    for digest in ("", "0" * 63, "0" * 65, "G" + "0" * 63, "A" * 64, 5):
        assert not VALIDATOR.is_valid(put(SMALL, ("members", "labels.txt"), digest))
    for member in ("/etc/passwd", "shaders/../x", "shaders/a/b", "manifest.json", "weights/", "weights/.hidden"):
        assert not VALIDATOR.is_valid(put(SMALL, ("members", member), "0" * 64))


def test_the_schema_and_the_reader_agree_on_member_names() -> None:
    pattern = SCHEMA["$defs"]["member"]["pattern"]
    for member in (
        "labels.txt",
        "shaders/a.frag",
        "weights/a~2.f32",
        "weights/-_.x",
        "weights/é",
        "a/b",
        "weights/..",
        "",
    ):
        assert bool(re.search(pattern, member)) == bool(bundle.bundle._MEMBER_NAME.fullmatch(member)), member


def test_a_newer_version_is_refused_before_anything_else() -> None:
    with pytest.raises(BundleError, match=r"version 2.*reads up to 1.*pip install \."):
        manifest_json.from_json({"format": "glslnn", "version": 2, "entirely": "different"})
    with pytest.raises(BundleError, match="no glsl-infer model"):
        manifest_json.from_json({"format": "other", "version": 1})


@pytest.mark.parametrize("data", [None, [], "x", 5, {}])
def test_other_json_is_refused(data: Any) -> None:
    refused_by_both(data)


def test_messages_name_the_place() -> None:
    for place, value, message in (
        (("passes", 0, "quads", 0), [0] * 3, r"passes\[0\]\.quads\[0\]: 3 numbers"),
        (("limits", "texture_size"), 9999, r"limits: 'texture_size' is 9999, not an integer from 1 to 8192"),
        (("model", "layers", 1, "op"), 5, r"model\.layers\[1\]: 'op' is 5, not a string"),
        (("probe", "layers", 0, "extra"), 5, r"probe\.layers\[0\]: unknown key 'extra'"),
    ):
        with pytest.raises(BundleError, match=message):
            manifest_json.from_json(put(SMALL, place, value))
