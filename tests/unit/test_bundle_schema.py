"""bundle.schema.json and the manifest reader refuse the same changes.

The mutated manifest is small, with one entry of every kind, so that each check is quick.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bundle_data
import jsonschema
import pytest
import ranged
import tiny

import glsl_infer
from glsl_infer.bundle import Bundle, format_constants, manifest_json
from glsl_infer.bundle.manifest_check import check
from glsl_infer.errors import BundleError
from glsl_infer.lowering.weights_plan import WEIGHTS_MODES
from glsl_infer.program.layout import LAYOUTS

SCHEMA = json.loads((Path(glsl_infer.__file__).parent / "bundle/bundle.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

Place = tuple[Any, ...]
"""Keys and indices that lead to a value."""

SOMETIMES = {"member", "clear", "fit", "columns", "scales", "zeros", "operators"}
"""Optional keys."""

FREE_KEYS = {"members"}
"""Objects whose keys are not fixed."""


def as_json(bundle: Bundle) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(manifest_json.to_json(bundle.manifest)))
    return data


def shortened() -> tuple[dict[str, Any], bytes]:
    """Return the tiny manifest with fewer, well-formed entries that do not fit together, and passes.bin.

    The layers of its probe have one kind of value each: a feature map, fixed point, and a 16-bit map of another
    network.
    """
    data = tiny.tiny_manifest()
    del data["graph"]
    entries = {probe["layer"]: probe for probe in data["probe"]["layers"]}
    wide = {probe["layer"]: probe for probe in as_json(ranged.ranged_bundle())["probe"]["layers"]}["wide-products"]
    data["probe"]["layers"] = [entries["stem"], entries["dense"], wide]
    for index in (0, 2):
        del data["probe"]["layers"][index]["value"]["views"][1:]
    data["passes"] = [probe for probe in data["passes"] if probe["program"] == "unit-dw"][:1]
    (drawn,) = data["passes"]
    kinds = {texture["kind"]: texture for texture in data["textures"]}
    used = [texture for texture in data["textures"] if texture["name"] in (drawn["target"], *drawn["textures"])]
    data["textures"] = [kinds["constant"], *used]
    data["programs"] = [program for program in data["programs"] if program["name"] == "unit-dw"]
    names = ("graph.json", "labels.txt", "passes.bin", "shaders/prelude.glsl")
    data["members"] = {name: data["members"][name] for name in names}
    return bundle_data.manifest_data(data), bundle_data.table(data)


def values(data: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every value in a manifest with its location, outermost first."""
    yield path, data
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield from values(value, (*path, key))


def put(data: Any, path: Place, value: Any) -> Any:
    """Return a copy with another value at a location; ``...`` removes the value."""
    data = copy.deepcopy(data)
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return data


def refused_by_both(data: Any) -> None:
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(BundleError):
        manifest_json.from_json(data, TABLE)


SMALL, TABLE = shortened()
IMAGE = {
    **SMALL,
    "outputs": as_json(ranged.ranged_bundle("image"))["outputs"],
    "probe": {**SMALL["probe"], "outputs": [{"numbers": [], "max_error": 0.0}]},
}
PLACES = dict(values(SMALL))
OBJECTS = [path for path, value in PLACES.items() if isinstance(value, dict) and not FREE_KEYS & set(path[-1:])]
REQUIRED = [(*path, key) for path in OBJECTS for key in PLACES[path] if (path[:1], key) != (("textures",), "member")]
IMAGE_PLACES = {path: value for path, value in values(IMAGE) if path[:1] == ("outputs",) and len(path) > 1}


def name(path: Place) -> str:
    return "/".join(map(str, path)) or "manifest"


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_object_of_the_schema_is_closed() -> None:
    for path, value in values(SCHEMA):
        if isinstance(value, dict) and "properties" in value and "type" in value:
            assert value["additionalProperties"] is False, name(path)
            assert set(value["properties"]) - set(value["required"]) <= SOMETIMES, name(path)


BUNDLES = [
    *(tiny.tiny_bundle(weights, layout) for weights in WEIGHTS_MODES for layout in LAYOUTS),
    *(ranged.ranged_bundle(end, layout) for end in ranged.ENDS for layout in LAYOUTS),
]


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_bundle_is_valid(bundle: Bundle) -> None:
    data = as_json(bundle)
    VALIDATOR.validate(data)
    assert manifest_json.from_json(data, bundle.members["passes.bin"]) == bundle.manifest


@pytest.mark.parametrize("data", [SMALL, IMAGE], ids=["logits", "image"])
def test_the_shortened_one_is_valid(data: Any) -> None:
    VALIDATOR.validate(data)
    manifest_json.from_json(data, TABLE)


@pytest.mark.parametrize("path", REQUIRED, ids=name)
def test_every_key_is_required(path: Place) -> None:
    refused_by_both(put(SMALL, path, ...))


@pytest.mark.parametrize("path", OBJECTS, ids=name)
def test_unknown_keys_are_refused(path: Place) -> None:
    refused_by_both(put(SMALL, (*path, "unknown"), 1))


def test_an_image_has_its_own_keys() -> None:
    for path in IMAGE_PLACES:
        if isinstance(path[-1], str):
            refused_by_both(put(IMAGE, path, ...))
    refused_by_both(put(IMAGE, ("outputs", 0, "unknown"), 1))
    refused_by_both(put(SMALL, ("outputs", 0, "purpose"), "image"))
    refused_by_both(put(SMALL, ("outputs", 0, "purpose"), "heat map"))
    refused_by_both(put(SMALL, ("outputs", 0, "values", 0, "columns"), 1))
    refused_by_both(put(IMAGE, ("outputs", 0, "steps"), [{"step": "sigmoid"}]))
    refused_by_both(put(IMAGE, ("outputs", 0, "values"), IMAGE["outputs"][0]["values"] * 2))
    fixed_map, vector = (SMALL["probe"]["layers"][index]["value"] for index in (2, 1))
    for value in (fixed_map, vector):
        refused_by_both(put(SMALL, ("inputs", 0, "value"), value))
        refused_by_both(put(IMAGE, ("outputs", 0, "values", 0), value))


def test_numbers_have_no_fit_and_any_value_but_partial_sums() -> None:
    numbers = {**put(SMALL["inputs"][0], ("fit",), ...), "kind": "numbers"}
    fixed_map, vector = (SMALL["probe"]["layers"][index]["value"] for index in (2, 1))
    for value in (numbers["value"], fixed_map, vector):
        data = put(SMALL, ("inputs", 0), {**numbers, "value": value})
        VALIDATOR.validate(data)
        manifest_json.from_json(data, TABLE)
    refused_by_both(put(data, ("inputs", 0, "fit"), "stretch/area-average"))
    refused_by_both(put(data, ("inputs", 0, "value", "columns"), 2))


@pytest.mark.parametrize(
    "steps",
    [
        [{"step": "rows"}],
        [{"step": "rows", "columns": 0}],
        [{"step": "softmax", "columns": 3}],
        [{"step": "relu"}],
        [{"step": "softmax", "more": 1}],
        [{}],
        ["softmax"],
        {"step": "softmax"},
        [{"step": "softmax"}] * 17,
    ],
    ids=str,
)
def test_unknown_steps_are_refused(steps: Any) -> None:
    refused_by_both(put(SMALL, ("outputs", 0, "steps"), steps))


@pytest.mark.parametrize(
    ("purpose", "steps"),
    [("classes", [{"step": "argmax"}]), ("mask", []), ("values", [{"step": "rows", "columns": 2}])],
)
def test_rules_of_steps_that_only_the_reader_checks(purpose: str, steps: Any) -> None:
    data = put(put(SMALL, ("outputs", 0, "purpose"), purpose), ("outputs", 0, "steps"), steps)
    VALIDATOR.validate(data)
    with pytest.raises(BundleError, match=r"outputs\[0\]: ") as caught:
        manifest_json.from_json(data, TABLE)
    assert caught.value.rule == "outputs"


@pytest.mark.parametrize("path", IMAGE_PLACES, ids=name)
def test_wrong_types_in_an_image(path: Place) -> None:
    for wrong in WRONG_VALUES.get(type(IMAGE_PLACES[path]), ["1", [1], None, True]):
        refused_by_both(put(IMAGE, path, wrong))


WRONG_VALUES: dict[type, list[Any]] = {
    dict: [[], "x", None],
    list: [{}, "x", None],
    str: [5, [], None],
    bool: [0, "true", None],
}


@pytest.mark.parametrize("path", [path for path in PLACES if path], ids=name)
def test_wrong_types_are_refused(path: Place) -> None:
    value = PLACES[path]
    for wrong in WRONG_VALUES.get(type(value), ["1", [1], None, True]):
        refused_by_both(put(SMALL, path, wrong))


INTEGERS = [path for path, value in PLACES.items() if type(value) is int]


@pytest.mark.parametrize("path", INTEGERS, ids=name)
def test_integers_have_a_range(path: Place) -> None:
    for wrong in (-1, 1.5, 1 << 40):
        refused_by_both(put(SMALL, path, wrong))


RANGES = {
    ("version",): (2, 2),
    ("inputs", 0, "value", "height"): (1, 8192),
    ("inputs", 0, "value", "width"): (1, 8192),
    ("inputs", 0, "value", "views", 0, 1): (0, 8192),
    ("probe", "layers", 0, "value", "height"): (1, 8192),
    ("probe", "layers", 0, "value", "width"): (1, 8192),
    ("probe", "layers", 0, "value", "channels"): (1, 1 << 20),
    ("probe", "layers", 0, "value", "gutter"): (0, 64),
    ("probe", "layers", 0, "value", "views", 0, 1): (0, 8192),
    ("probe", "layers", 2, "value", "height"): (1, 8192),
    ("probe", "layers", 2, "value", "width"): (1, 8192),
    ("probe", "layers", 2, "value", "channels"): (1, 1 << 20),
    ("probe", "layers", 2, "value", "views", 0, 2): (0, 8192),
    ("probe", "layers", 1, "value", "columns"): (0, 8192),
    ("probe", "layers", 1, "value", "length"): (1, 1 << 20),
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
    ("outputs", 0, "values", 0, "length"): (1, 1 << 20),
    ("probe", "layers", 0, "offset"): (0, 1 << 28),
    ("probe", "layers", 0, "count"): (1, 1 << 20),
}
OF_THE_TABLE = {
    ("programs", 0, "uniforms", 0, 1): (1, 1 << 14),
    ("passes", "count"): (1, 1 << 16),
    ("passes", "quads"): (1, 1 << 18),
}
"""Counts that passes.bin must match. A count within its range causes another message."""


@pytest.mark.parametrize("path", RANGES, ids=name)
def test_values_at_the_bounds_are_accepted_and_beyond_refused(path: Place) -> None:
    low, high = RANGES[path]
    for right in (low, high):
        VALIDATOR.validate(put(SMALL, path, right))
        manifest_json.from_json(put(SMALL, path, right), TABLE)
    for wrong in (low - 1, high + 1):
        refused_by_both(put(SMALL, path, wrong))


@pytest.mark.parametrize("path", OF_THE_TABLE, ids=name)
def test_bounds_of_the_pass_table_are_checked(path: Place) -> None:
    low, high = OF_THE_TABLE[path]
    for right in (low, high):
        VALIDATOR.validate(put(SMALL, path, right))
        if right != PLACES[path]:
            with pytest.raises(BundleError, match=r"pass \d+: |passes\.bin: "):
                manifest_json.from_json(put(SMALL, path, right), TABLE)
    for wrong in (low - 1, high + 1):
        data = put(SMALL, path, wrong)
        assert not VALIDATOR.is_valid(data)
        with pytest.raises(BundleError, match=f"not an integer from {low} to {high}"):
            manifest_json.from_json(data, TABLE)


NUMBERS = [path for path, value in PLACES.items() if type(value) is float]


@pytest.mark.parametrize("path", NUMBERS, ids=name)
def test_numbers_fit_a_float(path: Place) -> None:
    for wrong in (1e39, -1e39, float("inf"), 10**400):
        refused_by_both(put(SMALL, path, wrong))
    with pytest.raises(BundleError):
        manifest_json.from_json(put(SMALL, path, float("nan")), TABLE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "other"),
        (("format",), None),
        (("version",), 1),
        (("version",), 3),
        (("version",), "2"),
        (("profile",), "es3"),
        (("profile",), None),
        (("inputs", 0, "kind"), "sound"),
        (("inputs", 0, "fit"), "stretched"),
        (("inputs", 0, "value", "views"), [["image", 0, 0], ["image", 0, 0]]),
        (("probe", "layers", 1, "value", "scale"), 0),
        (("probe", "layers", 1, "value", "scale"), -1.0),
        (("probe", "layers", 2, "value", "scale"), 0),
        (("probe", "layers", 2, "value", "scale"), -1.0),
        (("probe", "layers", 2, "value", "gutter"), 0),
        (("probe", "layers", 2, "value", "scales"), [1.0]),
        (("probe", "layers", 0, "value", "scale"), 1.0),
        (("outputs", 0, "values", 0, "scale"), 0.0),
        (("textures", 1, "clear"), [0, 0, 0]),
        (("textures", 1, "clear"), [0] * 5),
        (("textures", 1, "clear"), 0),
        (("textures", 0, "clear"), [0, 0, 0, 0]),
        (("inputs", 0, "value", "channels"), 2),
        (("inputs",), []),
        (("inputs",), SMALL["inputs"] * 17),
        (("outputs",), []),
        (("outputs",), SMALL["outputs"] * 17),
        (("outputs", 0, "values"), []),
        (("outputs", 0, "values"), SMALL["outputs"][0]["values"] * 65),
        (("probe", "outputs"), []),
        (("probe", "outputs", 0, "max_error"), -1.0),
        (("textures", 0, "kind"), "texture"),
        (("probe", "formula"), "x + y"),
        (("probe", "layers", 0, "max_error"), -1.0),
        (("probe", "layers", 0, "mean_error"), -0.1),
        (("probe", "layers", 0, "value", "views", 0), ["stem", 0]),
        (("probe", "layers", 0, "value", "views", 0), ["stem", 0, 0, 0]),
        (("programs", 0, "samplers", 0), "a[0]"),
        (("programs", 0, "samplers", 0), ""),
        (("programs", 0, "uniforms", 0), ["source_texel"]),
        (("programs", 0, "uniforms", 0), ["source_texel", 2, 2]),
        (("programs", 0, "uniforms", 0, 0), "0a"),
        (("programs", 0, "uniforms", 0, 0), "no name"),
        (("programs", 0, "uniforms"), [[f"u{index}", 1] for index in range(65)]),
        (("programs", 0, "uniforms"), {"source_texel": 2}),
        (("layers",), ["stem", "stem"]),
        (("layers",), [f"layer {index}" for index in range(2049)]),
        (("layers",), []),
        (("floats",), [SMALL["floats"][0]] * 2),
        (("floats",), [f"weights/{index}.f32" for index in range(16385)]),
        (("passes",), []),
        (("passes", "count"), "1"),
    ],
    ids=lambda value: name(value) if isinstance(value, tuple) else json.dumps(value),
)
def test_other_values_are_refused(path: Place, value: Any) -> None:
    refused_by_both(put(SMALL, path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("textures",), []),
        (("programs",), []),
        (("probe", "layers"), []),
        (("probe", "layers", 0, "value", "views"), []),
        (("probe", "layers", 0, "value", "scales"), []),
        (("probe", "layers", 0, "value", "zeros"), []),
        (("probe", "layers", 0, "value", "scales"), [0]),
        (("probe", "layers", 0, "value", "scales"), [-0.0]),
        (("floats",), ["weights/probe.bin", *SMALL["floats"]]),
        (("floats",), ["shaders/prelude.glsl", *SMALL["floats"]]),
        (("probe", "member"), "manifest.json"),
        (("textures", 0, "member"), "weights/none.f32"),
        (("programs", 0, "vertex"), "../quads1.vert"),
        (("members", "labels.txt"), ...),
        (("members", "shaders/prelude.glsl"), ...),
        (("members", "graph.json"), ...),
    ],
    ids=lambda value: name(value) if isinstance(value, tuple) else None,
)
def test_the_reader_refuses_inconsistent_entries(path: Place, value: Any) -> None:
    whole = tiny.tiny_manifest()
    data = put(bundle_data.manifest_data(whole), path, value)
    assert not VALIDATOR.is_valid(data)
    sizes = {member: len(content) for member, content in tiny.tiny_bundle().members.items()}
    with pytest.raises(BundleError):
        manifest = manifest_json.from_json(data, bundle_data.table(whole))
        check(manifest, {member: sizes[member] for member in manifest.members})


def test_only_constant_textures_have_members() -> None:
    data = bundle_data.manifest_data(tiny.tiny_manifest())
    VALIDATOR.validate(data)
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
        "graph.json",
        "passes.bin",
        "labels.txt",
        "shaders/a.frag",
        "weights/a~2.f32",
        "weights/-_.x",
        "weights/é",
        "a/b",
        "weights/..",
        "",
    ):
        assert bool(re.search(pattern, member)) == bool(re.fullmatch(format_constants.FILE_PATTERN, member)), member


def test_the_version_is_checked_first() -> None:
    with pytest.raises(BundleError, match=r"version 3.*reads up to 2.*pip install \."):
        manifest_json.from_json({"format": "glslnn", "version": 3, "entirely": "different"}, b"")
    with pytest.raises(BundleError, match=r"the model has format version 1, .* 2; export it again"):
        manifest_json.from_json({"format": "glslnn", "version": 1, "model": {}}, b"")
    with pytest.raises(BundleError, match="not a glsl-infer model"):
        manifest_json.from_json({"format": "other", "version": 2}, b"")


def test_another_profile_is_refused_by_its_name() -> None:
    for profile in ("es3", "x" * 500):
        with pytest.raises(
            BundleError, match=r"needs profile '(es3|x+)'; this runner has es2; update the runner"
        ) as caught:
            manifest_json.from_json({**SMALL, "profile": profile}, TABLE)
        assert len(str(caught.value)) < 120


@pytest.mark.parametrize("data", [None, [], "x", 5, {}])
def test_other_json_is_refused(data: Any) -> None:
    refused_by_both(data)


def test_messages_name_the_place() -> None:
    for path, value, message in (
        (("inputs", 0, "value", "views", 0), ["image", 0], r"inputs\[0\]\.value\.views\[0\]: expected"),
        (("passes", "count"), 0, r"passes: 'count' is 0, not an integer from 1 to 65536"),
        (("limits", "texture_size"), 9999, r"limits: 'texture_size' is 9999, not an integer from 1 to 8192"),
        (("probe", "layers", 1, "layer"), 5, r"probe\.layers\[1\]: 'layer' is 5, not a string"),
        (("probe", "layers", 0, "extra"), 5, r"probe\.layers\[0\]: unknown key 'extra'"),
    ):
        with pytest.raises(BundleError, match=message):
            manifest_json.from_json(put(SMALL, path, value), TABLE)
