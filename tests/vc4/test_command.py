"""``glsl-infer vc4``: the table, the other formats, several bundles, and bad arguments."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import parted
import pytest
import tiny
from command_line import Capture, refused
from planted_modules import executed, plant

from glsl_infer import bundle as bundles
from glsl_infer.cli import main
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore import Driver, measure, report
from glsl_infer.tools.videocore.why import PURPOSES, explain


@pytest.fixture
def model(driver: Driver, tmp_path: Path) -> Path:
    return tiny.write_tiny(tmp_path)


def test_a_line_for_each_layer_and_the_totals(model: Path, capsys: Capture, each_driver: Driver) -> None:
    code = main(["vc4", str(model), "--mesa", each_driver.mesa, "--shaders"])
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == f"{model}: VC4 V3D 2.1, OpenGL ES 2.0 Mesa {each_driver.version}"
    cells = {line.split()[0]: line.split() for line in lines[2:] if line}
    drawn = list(dict.fromkeys(draw.layer for draw in bundles.read(model).manifest.passes))
    assert [name for name in cells if name in drawn] == drawn
    assert cells["total"][1] == str(len(bundles.read(model).manifest.passes))
    assert {len(cells[layer]) for layer in drawn} == {len(cells["layer"]) - 2}, "two heads are of two words"
    assert sum("estimate for" in line for line in lines) == 2
    assert code == ("error: " in printed.err)


def test_json_and_csv_agree(model: Path, drivers: tuple[Driver, ...], capsys: Capture) -> None:
    """The JSON and CSV output have the same rows, for all compilers."""
    main(["vc4", "--json", str(model)])
    bundles = json.loads(capsys.readouterr().out)["bundles"]
    main(["vc4", "--csv", str(model)])
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    versions = [driver.version for driver in drivers]
    assert [bundle["mesa"] for bundle in bundles] == list(dict.fromkeys(row["mesa"] for row in table)) == versions
    for bundle in bundles:
        rows = [row for row in table if row["mesa"] == bundle["mesa"]]
        assert [row["layer"] for row in rows] == [layer["layer"] for layer in bundle["layers"]]
        for row, layer in zip(rows, bundle["layers"]):
            assert int(row["total"]) == layer["total"]
            assert row["floor_per_fetch"] == ("" if layer["floor_per_fetch"] is None else str(layer["floor_per_fetch"]))
        assert bundle["totals"]["total"] == sum(int(row["total"]) for row in rows)
        assert [estimate["clock_mhz"] for estimate in bundle["estimates"]] == [250.0, 300.0]


def test_two_models_are_side_by_side(model: Path, driver: Driver, tmp_path: Path, capsys: Capture) -> None:
    other = tiny.write_tiny(tmp_path, "planar.glslnn", layout="planar")
    main(["vc4", str(model), str(other), "--mesa", driver.mesa, "--shaders"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["layer", "tiny", "planar", "change"]
    expand = next(line.split() for line in lines if line.startswith("expand "))
    assert abs(float(expand[-1].rstrip("%"))) < 3.0  # the layouts may order their fetches differently
    assert any(line.startswith("planar: ") and " 0 loads " in line for line in lines)


def test_a_summary_advises_the_author(
    model: Path, drivers: tuple[Driver, ...], tmp_path: Path, capsys: Capture
) -> None:
    main(["vc4", str(model)])
    lines = capsys.readouterr().out.splitlines()
    assert 4 <= len(lines) <= 10 and lines[0].startswith(f"{model}: ")
    assert all(f"(Mesa {driver.version})" in lines[0] for driver in drivers)
    assert any("to make it faster, " in line for line in lines) and lines[-1].startswith("--shaders prints")
    main(["vc4", str(model), "--csv", str(tmp_path / "layers.csv")])
    table = (tmp_path / "layers.csv").read_text("utf-8")
    main(["vc4", str(model), "--csv"])
    assert capsys.readouterr().out == table and table.startswith("file,mesa,layer,")
    assert "--shaders and --json cannot be used together" in refused(capsys, ["vc4", model, "--shaders", "--json"])


def test_disassembly_of_a_layer(model: Path, drivers: tuple[Driver, ...], capsys: Capture) -> None:
    assert main(["vc4", str(model), "--disassemble", "unit-pw"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if line.startswith("; ")]
    assert heads == [f"; {model}: layer 'unit-pw', program 'unit-pw', Mesa {driver.version}" for driver in drivers]
    assert sum("load_tmu0" in line for line in lines) == 8 * len(drivers)
    message = refused(capsys, ["vc4", model, "--disassemble", "unit"])
    assert "no layer 'unit' that draws (did you mean unit-pw?); there are: stem, expand, " in message


def test_a_layer_is_explained(model: Path, each_driver: Driver, capsys: Capture) -> None:
    """The purposes add up to the layer's instructions, and a 1x1 convolution has one instruction for each product."""
    bundle, measured = measure(model, each_driver, disassembly=True)
    result = report(bundle, measured, str(model))
    for row in result.rows:
        why = explain(bundle, measured, result, row.layer)
        assert sum(share.total for share in why.parts.values()) == row.total, row.layer
        assert {share.floor is None for share in why.parts.values()} == {row.products is None}, row.layer
    options = ["--mesa", each_driver.mesa]
    assert main(["vc4", str(model), "--why", "unit-pw", *options, "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)["bundles"]
    assert data["total"] == sum(data[name]["total"] for name in PURPOSES)
    assert data["products"]["total"] == data["products"]["floor"]
    assert main(["vc4", str(model), "--why", "unit-pw", *options]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith(f"{model}, Mesa {each_driver.version}: layer 'unit-pw' (conv2d, ")
    assert [line.split()[0] for line in lines] == list(PURPOSES)
    products, of, least = lines[0].split()[1:4]
    assert of == "of" and 1.0 <= float(products) / float(least) < 1.02
    assert "no layer 'unit' that draws (did you mean unit-pw?)" in refused(capsys, ["vc4", model, "--why", "unit"])
    assert "--shaders and --why cannot be used together" in refused(capsys, ["vc4", model, "--shaders", "--why", "x"])


def test_a_plot_is_a_picture(model: Path, tmp_path: Path, capsys: Capture) -> None:
    main(["vc4", str(model), "--plot", str(tmp_path / "plot.png")])
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    for bad, words in ((tmp_path / "plot.txt", "name the file *.png"), (tmp_path / "no/plot.png", "no such folder")):
        capsys.readouterr()
        assert words in refused(capsys, ["vc4", model, "--plot", bad])


def test_bad_arguments_are_refused(model: Path, tmp_path: Path, capsys: Capture) -> None:
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["vc4", str(model), "--mesa", "23"])
    assert "invalid choice: '23' (choose from" in capsys.readouterr().err
    assert "no such file" in refused(capsys, ["vc4", tmp_path / "none.glslnn"])
    assert "--draw-share 2; give a share from 0 to 1" in refused(capsys, ["vc4", model, "--draw-share", "2"])
    assert "no VideoCore IV driver there (--driver)" in refused(capsys, ["vc4", model, "--driver", tmp_path])


def test_files_of_the_current_folder_are_not_executed(
    model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plant(tmp_path))
    assert main(["vc4", str(model)]) == 0
    assert executed(tmp_path) == []


def test_another_driver_is_refused_by_name(model: Path) -> None:
    command = module_command("glsl_infer.tools.videocore.harness", model)
    environment = {**os.environ, "EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the OpenGL driver is 'llvmpipe")
    assert done.stderr.count("\n") == 1


def test_a_driver_that_cannot_be_loaded_is_explained(model: Path, tmp_path: Path, capsys: Capture) -> None:
    from glsl_infer.tools.videocore.driver import FILES

    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("not a library")
    message = refused(capsys, ["vc4", model, "--driver", tmp_path])
    assert "sudo apt install libdrm2 libexpat1 zlib1g" in message


def test_the_gpu_parts_of_a_model_are_counted_together(driver: Driver, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "parted.glslnn"
    bundle = parted.parted_bundle()
    bundles.write(bundle, path)
    assert main(["vc4", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)["bundles"][0]
    passes = [draw for part in bundle.gpu_parts for draw in part.manifest.passes]
    assert [layer["layer"] for layer in report["layers"]] == list(dict.fromkeys(draw.layer for draw in passes))
    assert report["totals"]["passes"] == len(passes)
    assert "the operators on the CPU (tensor_reshape, linear, attention, tensor_norm, tensor_softmax" in printed.err
    assert main(["vc4", str(path), "--disassemble", "b"]) == 0
    assert capsys.readouterr().out.startswith(f"; {path}: layer 'b'")
    assert "--time needs a model that the GPU computes alone" in refused(capsys, ["vc4", path, "--time"])
