"""The output of export and info, with fakes for Keras and the driver."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, refused
from tiny import LABELS, tiny_graph, tiny_picture

from glsl_infer.cli import info, main
from glsl_infer.cli.export_text import summary
from glsl_infer.compiler import optimize
from glsl_infer.compiler.build import Options, _CountedImages, build
from glsl_infer.compiler.ranges.eight_bits import RangeChoice
from glsl_infer.compiler.ranges.fixed_point import ScaleChoice
from glsl_infer.compiler.ranges.sensitivity import Sensitivity, Spent
from glsl_infer.compiler.ranges.unseen import OutputError, UnseenError
from glsl_infer.compiler.ranges.wide import WideLayer
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.program import MemoryUse, WeightsChoice
from glsl_infer.tools.export_report import ExportReport, LayerReport, PartReport
from glsl_infer.tools.videocore.foresight import Foresight
from glsl_infer.tools.videocore.verify import LayerCheck, Verification


def report() -> ExportReport:
    """Return a report with every kind of line."""
    layers = (
        LayerReport("conv", "conv2d", (63, 63, 32), "baked", 8, 8, 1, (256, 128), 16.031, 0.289),
        LayerReport("each", "conv2d", (63, 63, 32), "baked", 8, 8, 8, (63, 63)),
        LayerReport("pool", "global_average_pool", (32,), "-", 1, 1, 1, (16, 1)),
    )
    choice = ScaleChoice("pool", 1.0, None, 1.0, 0.004, "bound")
    ranges = (RangeChoice("sigmoid", 0.0, 1.0, 1.0, "function"), RangeChoice("relu", 0.0, 5.5, 0.25, "percentile 99.9"))
    wide = (WideLayer("broad", 12, 2, 20),)
    totals = {"passes": 9, "jobs": 2, "programs": 9, "texture_bytes": 131136, "file_bytes": 30000}
    totals |= {"activation_bytes": 65536, "slice_bytes": 130048}
    memory = (MemoryUse("naive", 131072, 3, False), MemoryUse("by-size", 65536, 1, True))
    costs = {"baked": 3950.4, "uniform": None, "texture": 1234.0}
    weights = (WeightsChoice("conv", "baked", 8, 3969, 75, costs, "an array would be too long"),)
    return ExportReport(layers, ranges, wide, (choice,), ("layer 'pool': coarse",), totals, memory, weights, classes=3)


@pytest.fixture
def argv(export_arguments: dict[str, Path]) -> list[str]:
    """Return the words of an export."""
    model, out, labels = map(str, export_arguments.values())
    return ["export", model, "-o", out, "--labels", labels]


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def export(*args: Any, **options: Any) -> ExportReport:
        options.pop("progress")("a step")
        calls.append((args, options))
        return report()

    monkeypatch.setattr("glsl_infer.tools.export.export", export)
    return calls


def test_export_explains_where_weights_are(capsys: Capture, exported: list[Any], argv: list[str]) -> None:
    assert main(argv) == 0
    assert "an array would be too long" not in capsys.readouterr().out
    assert main([*argv, "--explain"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.endswith("an array would be too long"))
    assert line.split()[:8] == ["conv", "8", "3969", "75", "3950", "-", "1234", "baked"]


def test_export_prints_the_result_of_videocores_compiler(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    layers = (LayerCheck("conv", 8, 8, 2, 13, 421), LayerCheck("each", 8, 5, 2, 14, 300), LayerCheck("pool", 1, 0))
    checked = Verification("VC4 V3D 2.1", "20 seconds were over", layers)
    calls = []

    def export(*_: Any, **options: Any) -> ExportReport:
        calls.append(options["verify_seconds"])
        return replace(report(), videocore=checked)

    monkeypatch.setattr("glsl_infer.tools.export.export", export)
    assert main([*argv, "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines[lines.index(next(line for line in lines if "on VideoCore" in line)) + 1 :]]
    assert rows[0] == ["conv", "8", "8", "2", "13", "421", "verified"]
    assert rows[1] == ["each", "8", "5", "2", "14", "300", "predicted", "to", "compile"]
    assert rows[2] == ["pool", "1", "0", "-", "-", "-", "predicted", "to", "compile"]
    assert (
        "VideoCore IV: 1 of 3 layers verified by its compiler, 2 predicted to compile (20 seconds were over)" in lines
    )
    assert main([*argv, "--verify", "0"]) == 0
    assert calls == [20.0, 0.0]
    capsys.readouterr()
    assert "--verify -1" in refused(capsys, [*argv, "--verify", "-1"])


def test_export_prints_a_report(
    capsys: Capture, exported: list[Any], export_arguments: dict[str, Path], picture: Path, tmp_path: Path
) -> None:
    model, out, labels = export_arguments.values()
    argv = ["export", model, "-o", out, "--labels", labels, "--weights", "baked"]
    argv += ["--calibrate", tmp_path, "--calibrate", picture]
    argv += ["--layout", "planar", "--memory", "by-size", "--percentile", "99.9", "--input-range", "-1,1"]
    argv += ["--fit", "a=stretch", "--purpose", "b=values", "--draw-cost", "45"]
    assert main([str(argument) for argument in [*argv, "--explain"]]) == 0
    options = Options(weights="baked", layout="planar", memory="by-size", percentile=99.9, draw_cost=45.0)
    io_options = IoOptions(ranges={"": (-1.0, 1.0)}, fits={"a": "stretch"}, purposes={"b": "values"})
    assert exported == [
        (
            (model, out, labels),
            {
                "options": options,
                "io_options": io_options,
                "calibration": [picture, picture],
                "verify_seconds": 20.0,
                "earlier_problems": [],
                "ranges": None,
            },
        )
    ]
    output = capsys.readouterr()
    assert output.err == "warning: layer 'pool': coarse\n"
    tables = [table for table in output.out.split("\n\n") if not table.startswith("us a frame")]
    rows = {line.split()[0]: line.split() for table in tables for line in table.splitlines() if line}
    assert rows["conv"] == ["conv", "conv2d", "63x63x32", "baked", "8", "8", "16.03", "0.29", "256x128"]
    assert rows["each"] == ["each", "conv2d", "63x63x32", "baked", "8", "8", "-", "-", "8", "of", "63x63"]
    assert rows["relu"] == ["relu", "0", "5.5", "0.25", "percentile", "99.9"]
    assert "sigmoid" not in rows, "a range that is known without images is not listed"
    assert rows["broad"] == ["broad", "12", "2", "20"]
    assert rows["pool"] == ["pool", "1", "-", "1", "0.004", "bound"]
    assert rows["naive"] == ["naive", "0.131", "3"]
    assert rows["by-size"] == ["by-size", "0.066", "1", "used", "here"]
    assert rows["slices"][:3] == ["slices", "alone", "0.130"]
    summary = f"{out}: 9 passes in 2 jobs, 9 programs, 0.13 MB of textures, 0.03 MB on disk"
    assert output.out.splitlines()[-3] == summary
    assert main([str(word) for word in argv]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == output.out.splitlines()[-3:] and lines[-1].startswith(f"next: glsl-infer classify {out} IMAGE; ")


@pytest.mark.parametrize(
    ("inputs", "command"),
    [
        ({"image": "picture"}, "classify {out} IMAGE"),
        ({"sound": "numbers"}, "run {out} FILE.npy"),
        ({"image": "picture", "the speed": "numbers"}, "run {out} --input image=FILE --input 'the speed=FILE'"),
    ],
)
def test_the_next_command_fits_the_inputs(
    inputs: dict[str, str], command: str, capsys: Capture, argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glsl_infer.tools.export.export", lambda *_, **__: replace(report(), inputs=inputs))
    assert main(argv) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"next: glsl-infer {command.format(out=argv[3])}; ")


def test_the_longest_summary_has_ten_lines() -> None:
    unseen = UnseenError((OutputError("logits", 0.1, 0.9, 0.08, 0.05, 10.0),), (), 4, True)
    spent = Spent((Sensitivity("conv", 0.1, 1.0, 16),), 0.1, 0.05, 0.01, None)
    full = replace(
        report(),
        unseen=(unseen, unseen),
        spent=spent,
        videocore=Verification("VC4", "", (LayerCheck("conv", 8, 8),)),
        parts=(PartReport("cpu", ("a",), "1 linear", 0, 0),),
        board=Foresight(1.0, 0.5, 9, 2, 9, 0.0, ()),
    )
    lines = summary(full, Path("m.glslnn"), command="glsl-infer run m.glslnn IMAGE", advice="fewer programs")
    assert 7 <= len(lines) <= 10 and not any("\n" in line for line in lines)
    assert "output 'logits' differs" in lines[1] and lines[-1].startswith("next: ")


def test_export_as_json(capsys: Capture, exported: list[Any], argv: list[str]) -> None:
    assert main([*argv, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["totals"]["passes"] == 9
    assert data["layers"][0]["texture"] == [256, 128]
    assert data["scales"][0]["layer"] == "pool"
    assert [range["layer"] for range in data["ranges"]] == ["sigmoid", "relu"]
    assert data["memory"][1] == {"method": "by-size", "texture_bytes": 65536, "textures": 1, "chosen": True}
    assert data["wide"] == [{"layer": "broad", "slices": 12, "blocks": 2, "passes": 20, "reason": ""}]
    assert exported[0][1] == {
        "options": Options(),
        "io_options": IoOptions(),
        "calibration": [],
        "verify_seconds": 20.0,
        "earlier_problems": [],
        "ranges": None,
    }


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("--weights-for first=baked --weights-for=a=b=texture", {"weights_for": {"first": "baked", "a=b": "texture"}}),
        (
            "--precision 8 --precision-for a=b=16 --precision-for=c=8",
            {"precision": "8", "precision_for": {"a=b": 16, "c": 8}},
        ),
        ("--tolerance 0.01 --budget 2.5", {"tolerance": 0.01, "budget": 2.5}),
    ],
)
def test_options_of_the_compiler(words: str, options: dict[str, Any], exported: list[Any], argv: list[str]) -> None:
    """The name of a layer can have an equals sign."""
    assert main([*argv, *words.split()]) == 0
    assert exported[0][1]["options"] == Options(**options)


def test_calibration_images_are_spread_over_the_folder(exported: list[Any], argv: list[str], tmp_path: Path) -> None:
    files = [tmp_path / "pictures" / f"{name}{index:03}.png" for name in "abc" for index in range(100)]
    files[0].parent.mkdir()
    for path in files:
        path.write_bytes(b"not read in this test")
    assert main([*argv, "--calibrate", str(files[0].parent)]) == 0
    chosen = exported[0][1]["calibration"]
    assert len(chosen) == len(set(chosen)) == 64
    assert chosen == sorted(chosen)
    assert {sum(path.name.startswith(name) for path in chosen) for name in "abc"} == {21, 22}


def test_progress_is_for_terminals(
    capsys: Capture, exported: list[Any], argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(argv) == 0
    quiet = capsys.readouterr()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(argv) == 0
    printed = capsys.readouterr()
    assert printed.out == quiet.out
    plain = printed.err.replace("\x1b[33m", "").replace("\x1b[0m", "")  # the label of a warning is yellow
    assert plain == f"\r\x1b[Kexport: a step\r\x1b[K{quiet.err}"
    assert "step" not in quiet.err


def test_every_step_of_an_export_is_logged(tmp_path: Path) -> None:
    messages: list[str] = []
    build(tiny_graph(), LABELS, calibration=[tiny_picture(1), tiny_picture(2)], progress=messages.append)
    assert messages[:2] == ["calibrating: 1 of 2", "calibrating: 2 of 2"]
    layers = len(optimize.optimize(tiny_graph()).nodes)
    for step in ("memory", "shaders", "probe"):
        assert sum(line.startswith(f"{step}: layer ") for line in messages) >= layers - 1
    last = [line for line in messages if line.startswith("probe")][-1].split(",")[0].split()
    assert last[2] == last[4], "the last layer is the last that was announced"


def test_images_keep_their_indices_in_progress_messages() -> None:
    messages: list[str] = []
    pictures = _CountedImages([tiny_picture(seed) for seed in range(4)], messages.append)
    assert len([*pictures[2:]]) == 2 and pictures[3] is not None
    assert messages == ["calibrating: 3 of 4", "calibrating: 4 of 4"]


DRIVER = {
    **dict.fromkeys(("vendor", "version", "shading_language"), "a driver"),
    "context": "surfaceless",
    "contexts": {
        "surfaceless": {"works": True, "how": "surfaceless EGL", "renderer": "a renderer"},
        "device": {"works": False, "reason": "no devices", "advice": "get one"},
        "glfw": {"works": False, "reason": "no screen", "advice": ""},
    },
    "renderer": "a renderer (of several words)",
    "limits": {"MAX_TEXTURE_SIZE": 2048},
    "precision": {"mediump": {"range_low": 14, "range_high": 15, "mantissa_bits": 10}},
    "store_rounds_up_from": 0.5,
    "sum_rounds_up_from": 0.5,
}


def test_info_prints_the_driver_of_the_chosen_context(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(info, "collect", lambda context: calls.append(context) or DRIVER)
    assert main(["info", "--context", "device"]) == 0
    assert main(["info"]) == 0
    assert calls == ["device", "auto"]
    lines = capsys.readouterr().out.splitlines()
    for words in (
        "contexts surfaceless works: surfaceless EGL, a renderer",
        "device fails: no devices",
        "get one",
        "glfw fails: no screen",
        "context surfaceless",
        "renderer a renderer (of several words)",
        "MAX_TEXTURE_SIZE 2048",
        "mediump float 10 bits of mantissa, 2^-14 to 2^15",
    ):
        assert [" ".join(line.split()) for line in lines].count(words) == 2
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == DRIVER


@pytest.mark.parametrize(("times", "limited"), [(None, True), (1.1, True), (1.9, False)])
def test_the_usual_limit_of_work_is_named_unless_the_search_went_beyond(times: float | None, limited: bool) -> None:
    spent = Spent((Sensitivity("conv", 0.1, 1.0, 16),), 0.1, 0.05, 0.01, None, 0.125, times)
    lines = summary(
        replace(report(), spent=spent), Path("m.glslnn"), command="glsl-infer run m.glslnn IMAGE", advice=""
    )
    (line,) = (line for line in lines if line.startswith("precision:"))
    assert "not reached" in line and ("within 12 % more work" in line) == limited
