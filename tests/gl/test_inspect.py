"""glsl-infer inspect: the layers of a model, and their maps as images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bundle_files import members_of, rehashed, zipped
from command_line import Capture, refused
from PIL import Image
from tiny import tiny_bundle, tiny_picture, write_tiny

from glsl_infer.cli import main
from glsl_infer.compiler import amplification
from glsl_infer.graph import reference
from glsl_infer.program.texels import in_steps
from glsl_infer.tools.inspect import inspection, layer_pictures


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    Image.fromarray(tiny_picture(3)).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def test_the_numbers_are_those_of_the_bundle(tmp_path: Path, capsys: Capture) -> None:
    path = write_tiny(tmp_path)
    assert main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    manifest, network = tiny_bundle().manifest, tiny_bundle().network
    assert found["file"] == {"path": str(path), "bytes": path.stat().st_size}
    assert found["totals"]["passes"] == len(manifest.passes) == sum(one["passes"] for one in found["layers"])
    assert found["totals"]["jobs"] == sum(one["clear"] for one in found["passes"])
    assert found["memory"]["total"] == sum(one["bytes"] for one in found["textures"])
    assert found["members"]["total"] == sum(map(len, tiny_bundle().members.values()))
    assert [one["layer"] for one in found["layers"]] == [layer.name for layer in network.layers]
    stem = next(one for one in found["layers"] if one["layer"] == "stem")
    assert (stem["op"], stem["shape"], stem["stored"]) == ("conv2d", [5, 5, 6], "8 bit, 2 slices")
    gains = {one["layer"]: one["gain"] for one in found["layers"] if one["gain"] is not None}
    assert gains == pytest.approx(amplification.gains(tiny_bundle().graph, tiny_bundle().values))
    assert list(gains) == ["stem", "expand", "unit-pw", "unit-dw"]


def test_weights_that_are_not_finite_are_refused(tmp_path: Path, capsys: Capture) -> None:
    members = members_of(write_tiny(tmp_path).read_bytes(), tmp_path)
    hostile = np.full(len(members["weights/stem.f32"]) // 4, np.nan, "<f4").tobytes()
    path = zipped(tmp_path / "hostile.glslnn", rehashed(members, {"weights/stem.f32": hostile}))
    assert main(["inspect", str(path), "--json"]) == 2
    assert "weights/stem.f32" in capsys.readouterr().err


def test_the_table_names_every_layer_and_with_passes_every_pass(tmp_path: Path, capsys: Capture) -> None:
    path = write_tiny(tmp_path)
    assert main(["inspect", str(path)]) == 0
    short = capsys.readouterr().out
    for layer in tiny_bundle().network.layers:
        assert f"\n{layer.name} " in short
    assert main(["inspect", str(path), "--passes"]) == 0
    more = capsys.readouterr().out.removeprefix(short).splitlines()
    assert sum("->" in line for line in more[2:]) == len(tiny_bundle().manifest.passes)


def test_each_layer_becomes_a_picture_of_what_it_computed(tmp_path: Path, photo: Path, capsys: Capture) -> None:
    path, out = write_tiny(tmp_path), tmp_path / "layers"
    assert main(["inspect", str(path), "--layers", str(photo), "--out", str(out), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["pictures"]
    assert sorted(map(str, out.iterdir())) == written
    bundle = tiny_bundle()
    exact = dict(reference.layers(bundle, tiny_picture(3)))
    assert len(written) == len(exact)
    drawn = np.asarray(Image.open(next(one for one in written if one.endswith("-stem.png"))))
    factor = drawn.shape[1] // (5 + layer_pictures.GAP + 5)  # 6 channels, two in a row
    first = drawn[::factor, ::factor][:5, :5].astype(int)
    stored = in_steps(exact["stem"], bundle.values["stem"])[..., 0]
    assert np.abs(first - stored).max() <= 1


def test_names_of_layers_cannot_leave_the_folder() -> None:
    for name in ("../../etc/passwd", "a/b", "..", "C:\\x", "\n", "ü" * 300):
        made = layer_pictures.file_name(7, name)
        assert Path(made).name == made
        assert made.startswith("007-")
        assert len(made) < 100


def test_a_constant_layer_can_be_drawn() -> None:
    value = tiny_bundle().values["dense"]
    assert (layer_pictures.draw(np.zeros(3, np.float32), value)[0, 0]) == 0


def test_a_bundle_in_memory_has_no_file() -> None:
    assert inspection.inspect(tiny_bundle())["file"] == {"path": None, "bytes": None}


def test_layers_go_to_a_folder_of_the_models_name(
    tmp_path: Path, photo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", str(path), "--layers", str(photo)]) == 0
    written = list((tmp_path / f"{path.stem}-layers").iterdir())
    assert len(written) == len(dict(reference.layers(tiny_bundle(), tiny_picture(3))))
    assert f"{len(written)} pictures of layers" in capsys.readouterr().out


def test_where_layers_cannot_go(tmp_path: Path, photo: Path, capsys: Capture) -> None:
    path = write_tiny(tmp_path)
    assert "--layers IMAGE" in refused(capsys, ["inspect", path, "--out", tmp_path])
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    assert f"--out {blocked}" in refused(capsys, ["inspect", path, "--layers", photo, "--out", blocked])
    assert blocked.read_text() == "mine"
