"""docs/bundle-format.md is enough to write a runner: one written from it gives the same bytes as the engine's."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import graphs
import numpy as np
import pytest
import tiny
from plain_runner import PlainRunner, decode

from glsl_infer import Session, lowering, optimize
from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import SelfCheckError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.prepare import prepare


@pytest.mark.parametrize("weights", ["auto", "baked", "uniform"])
def test_same_bytes_as_the_engine(tmp_path: Path, weights: str) -> None:
    path = tiny.write_tiny(tmp_path, weights=weights)
    pictures = [tiny.tiny_picture(1), tiny.tiny_picture(2)]
    with Session(path) as session:
        wanted = []
        targets = [texture.name for texture in session.bundle.manifest.textures if texture.kind == "target"]
        for picture in pictures:
            logits = session.run(picture)
            wanted.append((logits, {name: session.read_texture(name).tobytes() for name in targets}))
    assert wanted[0][1] != wanted[1][1]
    with Context() as context:
        runner = PlainRunner(path, context.gl, context.device_lines)
        for picture, (logits, textures) in zip(pictures, wanted):
            drawn = list(runner.layers(picture.tobytes()))
            assert drawn == ["stem", "expand", "unit-pw", "unit-dw", "pool", "dense-products", "dense"]
            assert {name: runner.read(name) for name in textures} == textures
            assert np.array_equal(np.asarray(runner.logits(), np.float32), logits)
        context.gl.check("in the plain runner")


def test_the_probe_passes(tmp_path: Path) -> None:
    with Context() as context:
        assert failed_layers(PlainRunner(tiny.write_tiny(tmp_path), context.gl, context.device_lines)) == []


def test_the_probe_finds_what_is_wrong(tmp_path: Path) -> None:
    with Context() as context:
        runner = PlainRunner(tiny.write_tiny(tmp_path), context.gl, context.device_lines)
        runner.members["weights/unit-dw.f32"] = bytes(len(runner.members["weights/unit-dw.f32"]))
        failed = failed_layers(runner)
        assert failed[0] == "unit-dw"
        assert failed[-1] == "logits"


def test_the_runner_uses_nothing_of_ours_but_the_gl_functions() -> None:
    text = Path(__file__).with_name("plain_runner.py").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "import" in line and "glsl_infer" in line] == [
        "from glsl_infer.gl import constants as GL",
        "from glsl_infer.gl.api import Api",
    ]


def test_values_beyond_an_odd_length_are_not_compared(tmp_path: Path) -> None:
    """Five hidden values take three texels; the sixth is whatever the activation makes of nothing."""
    rng = np.random.default_rng(4)
    nodes = (
        graphs.input_node(tiny.SIZE),
        graphs.conv_node(rng, "stem", ("image",), 3, 7, kernel=(3, 3)),
        graphs.pool_node("pool", "stem"),
        graphs.dense_node(rng, "hidden", "pool", 7, 5, activation=graphs.PLS),
        graphs.dense_node(rng, "dense", "hidden", 5, 3),
    )
    prepared = prepare(optimize.optimize(Graph("odd", nodes, "dense"))).graph
    bundles.write(bundles.make(lowering.to_program(prepared), tiny.LABELS), tmp_path / "odd.glslnn")
    with Session(tmp_path / "odd.glslnn") as session:
        session.selfcheck()
    with Context() as context:
        assert failed_layers(PlainRunner(tmp_path / "odd.glslnn", context.gl, context.device_lines)) == []


def test_the_engine_compares_the_logits_too() -> None:
    bundle = tiny.tiny_bundle()
    logits = (*bundle.manifest.probe.logits[:2], 9.0)
    manifest = replace(bundle.manifest, probe=replace(bundle.manifest.probe, logits=logits))
    with Session(Bundle(manifest, bundle.members)) as session, pytest.raises(SelfCheckError, match="logits"):
        session.selfcheck()


def probe_picture(size: int) -> bytes:
    """The probe's picture."""
    return bytes(
        ((3 * x * x + 5 * y * y + 7 * x * y) // 8 + 89 * c) % 256
        for y in range(size)
        for x in range(size)
        for c in range(3)
    )


def failed_layers(runner: PlainRunner) -> list[str]:
    """Run the probe; return the layers that are further off than tolerated, ``logits`` if the result is."""
    manifest = runner.manifest
    probe, outputs = manifest["probe"], {layer["name"]: layer["output"] for layer in manifest["model"]["layers"]}
    records = list(struct.iter_unpack("<HH4s", runner.members[probe["member"]]))
    entries = {entry["layer"]: entry for entry in probe["layers"]}
    failed = []
    for name in runner.layers(probe_picture(manifest["input"]["size"])):
        output, entry, differences = outputs[name], entries[name], []
        texels: dict[str, bytes] = {}
        for k, (x, y, expected) in enumerate(records[entry["offset"] : entry["offset"] + entry["count"]]):
            texture = output["texture"] if "texture" in output else output["views"][k % len(output["views"])][0]
            at = 4 * (y * runner.sizes[texture][0] + x)
            given = texels.setdefault(texture, texels.get(texture) or runner.read(texture))[at : at + 4]
            if "views" in output:
                differences += [abs(a - b) for a, b in zip(given, expected)]
            else:
                last = output["length"] - 2 * (y if output["columns"] else x)
                differences += [abs(a - b) for a, b in list(zip(decode(given), decode(expected)))[:last]]
        if max(differences) > entry["max_error"] or sum(differences) / len(differences) > entry["mean_error"]:
            failed.append(name)
    off = max(abs(a - b) for a, b in zip(runner.logits(), probe["logits"]))
    return failed if off <= probe["max_error"] else [*failed, "logits"]
