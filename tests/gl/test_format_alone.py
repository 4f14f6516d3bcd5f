"""docs/bundle-format.md is enough to write a runner: one written from it gives the same bytes as the engine's."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import tiny
from plain_runner import PlainRunner, decode

from glsl_infer import Session
from glsl_infer.gl.context import Context


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
        runner = PlainRunner(path, context.gl)
        for picture, (logits, textures) in zip(pictures, wanted):
            drawn = list(runner.layers(picture.tobytes()))
            assert drawn == ["stem", "expand", "unit-pw", "unit-dw", "pool", "dense-products", "dense"]
            assert {name: runner.read(name) for name in textures} == textures
            assert np.array_equal(np.asarray(runner.logits(), np.float32), logits)
        context.gl.check("in the plain runner")


def test_the_probe_passes(tmp_path: Path) -> None:
    with Context() as context:
        assert failed_layers(PlainRunner(tiny.write_tiny(tmp_path), context.gl)) == []


def test_the_probe_finds_what_is_wrong(tmp_path: Path) -> None:
    with Context() as context:
        runner = PlainRunner(tiny.write_tiny(tmp_path), context.gl)
        runner.members["weights/unit-dw.f32"] = bytes(len(runner.members["weights/unit-dw.f32"]))
        failed = failed_layers(runner)
        assert failed[0] == "unit-dw"
        assert failed[-1] == "logits"


def test_the_runner_is_minimal() -> None:
    text = Path(__file__).with_name("plain_runner.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert [line for line in text.splitlines() if "import" in line and "glsl_infer" in line] == [
        "from glsl_infer.gl.api import GL, Api"
    ]


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
