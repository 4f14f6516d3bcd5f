"""Bundles of parts: written files are read again, and inconsistent ones are refused."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import parted
import pytest
from conformance_parts import members
from conformance_zip import zipped
from graphs import conv_node, input_node
from test_bundle_schema import SCHEMA

from glsl_infer import bundle as bundles
from glsl_infer.bundle import MANIFEST
from glsl_infer.bundle.parts import CpuPart, operator_problem
from glsl_infer.compiler.delegate import build
from glsl_infer.errors import BundleError, InputError
from glsl_infer.graph import Graph, Node

Data = dict[str, Any]


def written(folder: Path, change: Callable[[Data], object], extra: dict[str, bytes] | None = None) -> Path:
    """Write a file with a changed manifest, and extra members with their digests."""
    data: Data = json.loads(members()[MANIFEST])
    data["members"].update({name: hashlib.sha256(more).hexdigest() for name, more in (extra or {}).items()})
    change(data)
    path = folder / "m.glslnn"
    path.write_bytes(zipped({**members(), **(extra or {}), MANIFEST: json.dumps(data).encode()}))
    return path


def operators(data: Data) -> list[Data]:
    entries: list[Data] = data["parts"][1]["operators"]
    return entries


def unchanged(data: Data) -> None:
    """Leave the data unchanged."""


def test_written_bundles_are_read_back(tmp_path: Path) -> None:
    bundle = parted.parted_bundle()
    bundles.write(bundle, tmp_path / "a.glslnn", read_back=True)
    read = bundles.read(tmp_path / "a.glslnn")
    assert read.manifest == bundle.manifest and read.members == bundle.members and len(read.parts) == 3
    bundles.write(read, tmp_path / "b.glslnn")
    assert (tmp_path / "a.glslnn").read_bytes() == (tmp_path / "b.glslnn").read_bytes()
    assert isinstance(read.parts[1], CpuPart) and read.parts[1].inputs == ("a",)
    assert [node.name for node in read.graph.nodes if node.op.startswith("upload")] == ["peak@2"]
    with pytest.raises(InputError, match="some of them on the CPU"):
        read.require_one_part("this test")


def test_attributes_younger_than_bundles_may_be_missing(tmp_path: Path) -> None:
    body = [
        input_node(5),
        conv_node(np.random.default_rng(1), "a", ("image",), 3, 4),
        Node("part", "tensor_slice", ("a",), {"begin": (1, 0, 0), "size": (2, 5, 4), "strides": ()}),
        Node("sum", "tensor_reduce", ("part",), {"reduction": "sum", "axes": (0, 1), "keep": False}),
    ]
    bundle = build(Graph("m", body, "sum"), ("a", "b", "c", "d")).bundle
    bundles.write(bundle, tmp_path / "m.glslnn", read_back=True)
    (part,) = (part for part in bundle.parts if isinstance(part, CpuPart))
    assert part.nodes[0].attrs["strides"] == ()
    with zipfile.ZipFile(tmp_path / "m.glslnn") as file:
        assert b"strides" not in file.read(MANIFEST).split(b"tensor_slice")[1]


def test_the_schema_describes_bundles_of_parts() -> None:
    data = json.loads(members()[MANIFEST])
    schema = {**SCHEMA["$defs"]["parted"], "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(data)
    data["parts"][0]["operators"] = []
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(data))


REFUSED: dict[str, tuple[Callable[[Data], object], str, str]] = {
    "an operator with a shader": (
        lambda data: operators(data)[1].update(op="max_pool"),
        "'max_pool' is not an operator of a CPU part",
        "parts",
    ),
    "a moved input": (
        lambda data: operators(data)[1].update(op="cpu:input"),
        "'cpu:input' is not an operator",
        "parts",
    ),
    "moved twice": (lambda data: operators(data)[1].update(op="cpu:cpu:add"), "is not an operator", "parts"),
    "an attribute less": (
        lambda data: operators(data)[2]["attrs"].pop("heads"),
        "attribute 'heads' is missing",
        "parts",
    ),
    "one more": (lambda data: operators(data)[2]["attrs"].update(x=1), "attribute 'x' is unknown", "parts"),
    "heads": (lambda data: operators(data)[2]["attrs"].update(heads=3), "attention of 3 heads on shapes", "parts"),
    "a text for a number": (lambda data: operators(data)[2]["attrs"].update(heads="x"), r"operator 'mixed'", "parts"),
    "an output without a producer": (
        lambda data: data["parts"][1].update(outputs=["x"]),
        "which nothing before it",
        "parts",
    ),
    "a name twice": (lambda data: operators(data)[1].update(name="rows"), "two tensors are called 'rows'", "parts"),
    "unknown key": (lambda data: data.update(surprise=1), "unknown key 'surprise'", "keys"),
    "one part": (lambda data: data.update(parts=data["parts"][:1]), "'parts' is a list of 1, not of 2 to 64", "parts"),
    "a kind": (lambda data: data["parts"][0].update(kind="npu"), "not one of gpu, cpu", "parts"),
    "another fit": (
        lambda data: data["inputs"][0].update(fit="stretch/area-average"),
        r"its input 'image' is picture \(11, 11, 3\)",
        "parts",
    ),
    "another size": (lambda data: data["inputs"][0].update(shape=[9, 9, 3]), "not picture", "parts"),
    "channels": (lambda data: data["inputs"][0].update(shape=[9, 9, 2]), "a picture of shape", "inputs"),
    "a scale of 0": (lambda data: data["inputs"][0].update(scales=[0]), r"inputs\[0\].scales\[0\] is 0", "inputs"),
    "no tensor": (lambda data: data["outputs"][0].update(tensors=["x"]), "output 'dense': reads 'x'", "parts"),
    "an image": (lambda data: data["outputs"][0].update(purpose="image"), "an 'image' is one 8-bit", "outputs"),
    "labels": (lambda data: data["outputs"][0].update(purpose="values"), "3 labels for 0 classes", "labels"),
    "a profile": (lambda data: data.update(profile="es2"), "not allowed in a model: member 'parts/", "container"),
    "a digest": (lambda data: data["members"].pop("parts/0/labels.txt"), "is not in the manifest", "container"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_damaged_bundles_of_parts_are_refused(tmp_path: Path, name: str) -> None:
    change, message, rule = REFUSED[name]
    with pytest.raises(BundleError, match=message) as caught:
        bundles.read(written(tmp_path, change))
    assert caught.value.rule == rule and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "extra, message",
    [
        ("parts/1/weights/other.f32", "member 'weights/other.f32' is not one of a CPU part"),
        ("parts/9/labels.txt", "is of no part; there are 3"),
        ("parts/100/labels.txt", "not allowed in a model"),
        ("parts/0/parts/0/labels.txt", "not allowed in a model"),
        ("graph.json", "not allowed in a model"),
    ],
)
def test_members_of_no_part(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        bundles.read(written(tmp_path, unchanged, {extra: b"\0\0\0\0"}))


def test_a_damaged_gpu_part_is_named(tmp_path: Path) -> None:
    data = json.loads(members()["parts/2/manifest.json"])
    data["limits"]["texture_units"] += 1
    changed = json.dumps(data).encode()
    with pytest.raises(BundleError, match=r"parts\[2\]: limits are") as caught:
        bundles.read(written(tmp_path, unchanged, {"parts/2/manifest.json": changed}))
    assert caught.value.rule == "limits"


def test_a_few_kilobytes_fill_no_memory(tmp_path: Path) -> None:
    """Each tensor is within its own limit, but two thousand of them would take 512 GB."""
    assert len(bundles.read(written(tmp_path, lambda data: parted.filling(data, 8))).parts) == 3
    with pytest.raises(BundleError, match="numbers in its tensors; a CPU part has at most 536870912"):
        bundles.read(written(tmp_path, lambda data: parted.filling(data, 2000)))


@pytest.mark.parametrize("settings", ["", "[]", "{", "[" * 100_000, 5, '{"a": 1, "a": 2}'])
def test_settings_of_a_custom_operator_are_an_object(settings: object) -> None:
    node = Node("n", "custom", ("a",), {"calls": "mine:own", "shape": (1,), "settings": settings})
    assert operator_problem(node) == "'settings' is not an object in JSON"
