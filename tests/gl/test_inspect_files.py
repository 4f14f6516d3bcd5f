"""glsl-infer inspect --html and --onnx-view: the contents of the files, in which foreign names are only text."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import bundle_data
import numpy as np
import onnx
import pytest
import tiny
from bundle_files import zipped
from command_line import Capture, refused
from parted import parted_bundle
from several import several_bundle

from glsl_infer.bundle import manifest_json
from glsl_infer.cli import main
from glsl_infer.tools.inspect.bundle_page import bundle_page
from glsl_infer.tools.inspect.diagram import HEIGHT, WIDTH, Box, arrange
from glsl_infer.tools.inspect.onnx_view import DOMAIN, onnx_view

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
        given = dict(attrs)
        assert not {"src", "srcset", "onload", "onclick", "style"} & given.keys()
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
    given = {entry.name for entry in model.graph.input}
    drawn = {node.name: node for node in model.graph.node}
    for node in bundle.graph.nodes:
        if node.operator.is_input:
            assert node.name in given
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
    known = {one.name: onnx.helper.get_attribute_value(one) for one in stem.attribute}
    passes = [entry for entry in bundle.manifest.passes if entry.layer == "stem"]
    low, high = bundle.values["stem"].range.ends(6)
    assert (known["gpu_passes"], known["strides"]) == (len(passes), [2, 2])
    assert (known["range_low"], known["range_high"]) == pytest.approx((low.min(), high.max()))
    kernel = next(one for one in model.graph.initializer if one.name == "stem/kernel")
    assert np.array_equal(onnx.numpy_helper.to_array(kernel), bundle.graph.by_name["stem"].weights["kernel"])


def _hostile(folder: Path) -> Path:
    made = tiny.tiny_bundle()
    members = {**made.members, "manifest.json": json.dumps(manifest_json.to_json(made.manifest)).encode()}
    text = json.dumps(bundle_data.whole(members)).replace('"unit-pw"', json.dumps(HOSTILE))
    return zipped(folder / "hostile.glslnn", bundle_data.members_from(json.loads(text), members))


def test_names_of_strangers_are_only_text(tmp_path: Path, capsys: Capture) -> None:
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


def test_a_page_tells_what_the_gpu_of_a_pi_needs_or_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("VC4_PREFIX", str(tmp_path))
    page = tmp_path / "out.html"
    path = tiny.write_tiny(tmp_path)
    assert main(["inspect", str(path), "--html", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [str(page)]
    text = page.read_text("utf-8")
    assert "What shaders cost is left out" in text and "drawn pixels" in text


REFUSED = {
    "another name": (["--html", "out.glslnn"], "name the file *.html"),
    "another name of the view": (["--onnx-view", "out.html"], "name the file *.onnx"),
    "no folder": (["--html", "nowhere/out.html"], "no such folder"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    options, said = REFUSED[case]
    path = tiny.write_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, ["inspect", path, *options])


def test_without_onnx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnx"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    path = tiny.write_tiny(tmp_path)
    assert "pip install onnx" in refused(capsys, ["inspect", path, "--onnx-view", tmp_path / "out.onnx"])
    assert not (tmp_path / "out.onnx").exists()


def test_boxes_never_overlap_and_stand_below_what_they_read() -> None:
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
