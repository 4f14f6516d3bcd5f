"""glsl-infer report, doctor and inspect on this machine: files, pages, layers, and failing parts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import bundle_data
import numpy as np
import onnx
import pytest
import tiny
from bundle_files import members_of, rehashed, zipped
from command_line import Capture, refused, run_python
from parted import parted_bundle
from PIL import Image
from several import several_bundle
from tiny import tiny_bundle, tiny_picture, write_tiny

from glsl_infer.bundle import manifest_json
from glsl_infer.cli import main
from glsl_infer.compiler import amplification
from glsl_infer.graph import reference
from glsl_infer.program.texels import in_steps
from glsl_infer.tools.inspect import inspection, layer_pictures
from glsl_infer.tools.inspect.bundle_page import bundle_page
from glsl_infer.tools.inspect.diagram import HEIGHT, WIDTH, Box, arrange
from glsl_infer.tools.inspect.onnx_view import DOMAIN, onnx_view
from glsl_infer.tools.report import saved
from glsl_infer.tools.report.page import page


@pytest.mark.exhaustive
def test_report_has_driver_checks_and_model(tmp_path: Path, capsys: Capture) -> None:
    model, output = write_tiny(tmp_path), tmp_path / "report.json"
    assert (
        main(["report", str(model), "-o", str(output), "--runs", "2", "--minutes", "0.02", "--note", "a <desk>"]) == 0
    )
    printed = capsys.readouterr()
    assert f"wrote {output} (to send)" in printed.out
    report = saved.read(output)
    assert report["driver"]["renderer"] in printed.out
    assert {"python", "memory", "driver"} <= {check["check"] for check in report["checks"]}
    (model_report,) = report["models"]
    assert model_report["selfcheck"]["passed"] is True
    times = saved.frame_ms(model_report)
    assert times is not None
    assert 0 < times["p5"] <= times["median"] <= times["p95"]
    assert report["sustained"]["runs"] > 0
    assert model_report["counters"] == {} or any(value is not None for value in model_report["counters"].values())
    written = output.with_suffix(".html").read_text("utf-8")
    assert written == page(report)
    assert "a &lt;desk&gt;" in written
    assert str(tmp_path) not in output.read_text("utf-8")  # a folder's name may contain a user's


def test_a_model_that_fails_is_in_the_report(tmp_path: Path, capsys: Capture) -> None:
    broken, output = tmp_path / "broken.glslnn", tmp_path / "report.json"
    broken.write_bytes(b"PK\x03\x04 cut off")
    assert main(["report", str(broken), "-o", str(output), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (model_report,) = report["models"]
    for section in ("selfcheck", "benchmark", "counters"):
        assert "not a glsl-infer model" in model_report[section]["failed"]
    assert "not a glsl-infer model" in output.with_suffix(".html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.glslnn"], "no such file: gone.glslnn"),
        (["-o", "report.txt"], "name the file *.json"),
        (["-o", "gone/report.json"], "no such folder"),
        (["--minutes", "0"], "--minutes 0"),
        (["--runs", "0"], "--runs 0"),
    ],
)
def test_contradictory_options_are_refused(
    arguments: list[str], words: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, ["report", *arguments])
    assert not list(tmp_path.iterdir())


NO_NUMPY = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] == "numpy" else find(name, *more)
"""


def run_apart(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "glsl_infer", "doctor", *arguments, **environment)


def test_this_machine_is_right(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", str(write_tiny(tmp_path))]) == 0
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines() if line and not line.startswith(" ")]
    names = [words[1] for words in lines if words[0] in ("ok", "warning", "problem")]
    assert {"board", "system", "memory", "cache", "python", "libraries", "driver", "layers"} <= set(names)
    assert not {"camera", "config.txt", "power"} & set(names)
    assert "layers of tiny are computed correctly" in printed.out
    assert (
        printed.out.splitlines()[-1] == "no problems found" or "glsl-infer works here" in printed.out.splitlines()[-1]
    )


def test_json_has_all_figures_and_names_no_folder(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", "--json", str(write_tiny(tmp_path))]) == 0
    text = capsys.readouterr().out
    answer = json.loads(text)
    assert answer["format"] == "glsl-infer doctor" and answer["passed"] is True
    checks = {check["check"]: check for check in answer["checks"]}
    assert checks["memory"]["figures"]["available"] > 0
    assert checks["python"]["figures"]["packages"].keys() >= {"numpy", "PIL", "OpenGL"}
    assert checks["layers"]["figures"]["passed"] is True and checks["layers"]["figures"]["layers"]
    assert answer["driver"]["limits"]["GL_MAX_TEXTURE_SIZE"] >= 64
    assert str(tmp_path) not in text


def test_a_report_without_layers_needs_no_model(capsys: Capture) -> None:
    assert main(["doctor", "--no-selfcheck", "--json"]) == 0
    assert "layers" not in {check["check"] for check in json.loads(capsys.readouterr().out)["checks"]}


def test_models_that_cannot_be_used(tmp_path: Path, capsys: Capture) -> None:
    assert "no such file" in refused(capsys, ["doctor", tmp_path / "gone.glslnn"])
    (tmp_path / "damaged.glslnn").write_bytes(b"PK\x03\x04 cut off")
    assert main(["doctor", str(tmp_path / "damaged.glslnn")]) == 1
    assert f"problem  layers      {tmp_path / 'damaged.glslnn'}: " in capsys.readouterr().out


@pytest.mark.usefixtures("no_screen")
def test_without_a_driver_all_else_is_checked() -> None:
    done = run_apart(__EGL_VENDOR_LIBRARY_FILENAMES="/nonexistent.json")
    assert done.returncode == 1, done.stderr
    assert "problem  driver      no OpenGL ES 2.0 context: " in done.stdout
    assert "libgl1-mesa-dri" in done.stdout
    assert "warning  layers" in done.stdout and "ok       python" in done.stdout
    assert re.match(r"[1-9]\d* problem", done.stdout.splitlines()[-1])


def test_without_numpy_all_else_is_checked(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_NUMPY)
    done = run_apart(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert done.returncode == 1, done.stderr
    assert "problem  python      NumPy is not installed" in done.stdout
    assert re.search(r"^\w+ +memory ", done.stdout, re.MULTILINE)
    assert re.search(r"^\w+ +libraries ", done.stdout, re.MULTILINE)
    assert re.match(r"([2-9]|\d\d) problems", done.stdout.splitlines()[-1])


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    Image.fromarray(tiny_picture(3)).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def test_the_numbers_are_those_of_the_bundle(tmp_path: Path, capsys: Capture) -> None:
    path = write_tiny(tmp_path)
    assert main(["inspect", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    manifest, network = tiny_bundle().manifest, tiny_bundle().network
    assert report["file"] == {"path": str(path), "bytes": path.stat().st_size}
    assert report["totals"]["passes"] == len(manifest.passes) == sum(layer["passes"] for layer in report["layers"])
    assert report["totals"]["jobs"] == sum(draw["clear"] for draw in report["passes"])
    assert report["memory"]["total"] == sum(texture["bytes"] for texture in report["textures"])
    assert report["members"]["total"] == sum(map(len, tiny_bundle().members.values()))
    assert [layer["layer"] for layer in report["layers"]] == [layer.name for layer in network.layers]
    stem = next(layer for layer in report["layers"] if layer["layer"] == "stem")
    assert (stem["op"], stem["shape"], stem["stored"]) == ("conv2d", [5, 5, 6], "8 bit, 2 slices")
    gains = {layer["layer"]: layer["gain"] for layer in report["layers"] if layer["gain"] is not None}
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


def test_each_layer_is_written_as_an_image_of_its_values(tmp_path: Path, photo: Path, capsys: Capture) -> None:
    path, out = write_tiny(tmp_path), tmp_path / "layers"
    assert main(["inspect", str(path), "--layers", str(photo), "--out", str(out), "--json"]) == 0
    pictures = json.loads(capsys.readouterr().out)["pictures"]
    assert sorted(map(str, out.iterdir())) == pictures
    bundle = tiny_bundle()
    exact = dict(reference.layers(bundle, tiny_picture(3)))
    assert len(pictures) == len(exact)
    drawn = np.asarray(Image.open(next(path for path in pictures if path.endswith("-stem.png"))))
    factor = drawn.shape[1] // (5 + layer_pictures.GAP + 5)  # 6 channels, two in a row
    first = drawn[::factor, ::factor][:5, :5].astype(int)
    stored = in_steps(exact["stem"], bundle.values["stem"])[..., 0]
    assert np.abs(first - stored).max() <= 1


def test_names_of_layers_cannot_leave_the_folder() -> None:
    for name in ("../../etc/passwd", "a/b", "..", "C:\\x", "\n", "ü" * 300):
        file_name = layer_pictures.file_name(7, name)
        assert Path(file_name).name == file_name
        assert file_name.startswith("007-")
        assert len(file_name) < 100


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
    images = list((tmp_path / f"{path.stem}-layers").iterdir())
    assert len(images) == len(dict(reference.layers(tiny_bundle(), tiny_picture(3))))
    assert f"{len(images)} images of layers" in capsys.readouterr().out


def test_unusable_output_folders_are_refused(tmp_path: Path, photo: Path, capsys: Capture) -> None:
    path = write_tiny(tmp_path)
    assert "--images IMAGE" in refused(capsys, ["inspect", path, "--out", tmp_path])
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    assert f"--out {blocked}" in refused(capsys, ["inspect", path, "--layers", photo, "--out", blocked])
    assert blocked.read_text() == "mine"


BUNDLES = {"whole": tiny.tiny_bundle, "parts": parted_bundle, "several": lambda: several_bundle("several")}
HOSTILE = "unit-pw</text><script>alert(1)</script>\"'&\x1b\u202e"


class Page(HTMLParser):
    """The tags of a page, its ids and internal links, and all attributes that could lead elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        assert not {"src", "srcset", "onload", "onclick", "style"} & values.keys()
        self.ids += [value for key, value in attrs if key == "id" and value]
        self.links += [value for key, value in attrs if key == "href" and value]


@pytest.mark.parametrize("name", BUNDLES)
def test_a_page_has_a_box_for_each_layer_and_output_and_no_request(name: str) -> None:
    bundle = BUNDLES[name]()
    text = bundle_page(bundle)
    page = Page(text)
    assert page.tags.count("rect") - text.count("class=bar") == len(bundle.graph.nodes) + len(bundle.graph.outputs)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?:|url\(|@import", text)
    for node in bundle.graph.nodes:
        assert node.name in text


@pytest.mark.parametrize("name", BUNDLES)
def test_the_view_is_an_onnx_file_with_every_layer(name: str) -> None:
    bundle = BUNDLES[name]()
    data = onnx_view(bundle)
    assert data == onnx_view(bundle)
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    inputs = {graph_value.name for graph_value in model.graph.input}
    drawn = {node.name: node for node in model.graph.node}
    for node in bundle.graph.nodes:
        if node.operator.is_input:
            assert node.name in inputs
            continue
        assert (drawn[node.name].op_type, drawn[node.name].domain) == (node.op, DOMAIN)
        assert list(drawn[node.name].input)[: len(node.inputs)] == list(node.inputs)
    assert len(model.graph.output) == len(bundle.graph.outputs)
    shapes = {
        value.name: tuple(size.dim_value for size in value.type.tensor_type.shape.dim)
        for value in (*model.graph.value_info, *model.graph.input, *model.graph.output)
    }
    assert all(shapes[name] == shape for name, shape in bundle.graph.shapes.items() if name in shapes)
    assert len(set(bundle.graph.shapes) & set(shapes)) >= len(bundle.graph.nodes) - 1


def test_the_view_has_passes_ranges_and_weights() -> None:
    bundle = tiny.tiny_bundle()
    model = onnx.load_from_string(onnx_view(bundle))
    stem = next(node for node in model.graph.node if node.name == "stem")
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in stem.attribute}
    passes = [draw for draw in bundle.manifest.passes if draw.layer == "stem"]
    low, high = bundle.values["stem"].range.ends(6)
    assert (attributes["gpu_passes"], attributes["strides"]) == (len(passes), [2, 2])
    assert (attributes["range_low"], attributes["range_high"]) == pytest.approx((low.min(), high.max()))
    kernel = next(tensor for tensor in model.graph.initializer if tensor.name == "stem/kernel")
    assert np.array_equal(onnx.numpy_helper.to_array(kernel), bundle.graph.by_name["stem"].weights["kernel"])


def _hostile(folder: Path) -> Path:
    bundle = tiny.tiny_bundle()
    members = {**bundle.members, "manifest.json": json.dumps(manifest_json.to_json(bundle.manifest)).encode()}
    text = json.dumps(bundle_data.combined_data(members)).replace('"unit-pw"', json.dumps(HOSTILE))
    return zipped(folder / "hostile.glslnn", bundle_data.members_from(json.loads(text), members))


def test_names_in_files_are_escaped(tmp_path: Path, capsys: Capture) -> None:
    page, view = tmp_path / "out.html", tmp_path / "out.onnx"
    assert main(["inspect", str(_hostile(tmp_path)), "--html", str(page), "--onnx-view", str(view)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "<script" not in text and "&lt;script&gt;" in text
    assert not re.search("[\x1b\u202e]", text)
    assert "script" not in Page(text).tags
    model = onnx.load(view)
    onnx.checker.check_model(model)
    assert HOSTILE in {node.name for node in model.graph.node}


def test_a_page_has_the_needs_of_a_pis_gpu_or_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("VC4_PREFIX", str(tmp_path))
    page = tmp_path / "out.html"
    path = tiny.write_tiny(tmp_path)
    assert main(["inspect", str(path), "--html", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [str(page)]
    text = page.read_text("utf-8")
    assert "The cost of the shaders is left out" in text and "drawn pixels" in text


REFUSED = {
    "another name": (["--html", "out.glslnn"], "name the file *.html"),
    "another name of the view": (["--onnx-view", "out.html"], "name the file *.onnx"),
    "no folder": (["--html", "nowhere/out.html"], "no such folder"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_options_are_refused(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    options, message = REFUSED[case]
    path = tiny.write_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, ["inspect", path, *options])


def test_without_onnx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnx"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    path = tiny.write_tiny(tmp_path)
    assert "pip install onnx" in refused(capsys, ["inspect", path, "--onnx-view", tmp_path / "out.onnx"])
    assert not (tmp_path / "out.onnx").exists()


def test_boxes_never_overlap_and_are_below_their_inputs() -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 9, 60):
        names = [f"n{index}" for index in range(size)]
        boxes = [
            Box(name, tuple(rng.choice(names[:index], min(index, int(rng.integers(0, 4))))), name, (), "shader")
            for index, name in enumerate(names)
        ]
        placed = arrange(boxes)
        at = {box.name: point for box, point in placed.boxes}
        points = list(at.values())
        assert all(WIDTH / 2 <= x <= placed.width - WIDTH / 2 and y + HEIGHT <= placed.height for x, y in points)
        for index, (x, y) in enumerate(points):
            assert all(y != other_y or abs(x - other_x) >= WIDTH for other_x, other_y in points[:index])
        assert all(at[name][1] + HEIGHT < at[box.name][1] for box in boxes for name in box.inputs)
        assert len(placed.lines) == sum(len(set(box.inputs)) for box in boxes)
