"""Pages match the code: generated references, settings, promises with tests, names of scripts and operators."""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import accuracy
import api_reference
import command_reference
import import_graph
import pytest
import yaml
from operator_table import videocore
from operator_table.names import FORMATS, NAMES, PARTS_OF_OTHERS
from operator_table.page import with_names
from pages import ROOT

from glsl_infer import cpu, ops
from glsl_infer.cli import COMMANDS
from glsl_infer.errors import InputError
from glsl_infer.ops.operator import CopyOperator, ViewOperator
from glsl_infer.support.settings import Settings, group_in, hints_of
from training.recipe import Recipe


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs/reference/command-line.md").read_text("utf-8")
    assert text == command_reference.page(), "run: python scripts/docs/command_reference.py"
    assert all(f"\n## glsl-infer {name}\n" in text for name in COMMANDS)


def test_the_command_line_and_the_importers_are_left_out() -> None:
    names = api_reference.modules()
    assert {"glsl_infer", "glsl_infer.bundle.bundle"} <= set(names)
    assert not [name for name in names if name.split(".")[1:2] in (["cli"], ["importers"], ["__main__"])]


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="b.html#there"></a><a href="c.html"></a>'
        '<a href="https://example.org/x#y"></a><script>`<a href="${url}">`</script>'
    )
    (tmp_path / "b.html").write_text('<p id="elsewhere">')
    assert api_reference.broken_links(tmp_path) == ["a.html: b.html#there", "a.html: c.html"]


def test_other_folders_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    monkeypatch.setattr(sys, "argv", ["api_reference.py", str(tmp_path)])
    assert api_reference.main() == 2
    output = capsys.readouterr()
    assert output.out == "" and str(tmp_path) in output.err
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


DEFAULTS = (ROOT / "recipes/defaults.yaml").read_text("utf-8")


def settings(group: Settings) -> Iterator[tuple[str, object]]:
    """Yield the names and values of a group's settings, with nested groups in place."""
    for name, hint in hints_of(type(group)).items():
        value = getattr(group, name)
        if group_in(hint):
            yield from settings(value[0] if isinstance(value, tuple) else value)
        else:
            yield name, value


def test_defaults_yaml_has_every_setting_with_its_default() -> None:
    lines = re.findall(r"^[ -]*(\w+): ([^#\n]+) # \S.*$", DEFAULTS, re.MULTILINE)
    rows = [(name, str(list(value) if isinstance(value, tuple) else value)) for name, value in settings(Recipe())]
    assert [(name, value.replace("true", "True").replace("false", "False")) for name, value in lines] == rows
    assert Recipe.parse(DEFAULTS, "defaults.yaml") == Recipe()


def test_the_example_is_a_recipe() -> None:
    section = (ROOT / "docs/guide/train-x22.md").read_text("utf-8").partition("\n## Recipes\n")[2]
    lines = section.partition("    seed: 1\n")
    example = "seed: 1\n" + lines[2].partition("\n\n")[0].replace("\n    ", "\n").removeprefix("    ")
    assert Recipe.parse(example, "example").epochs == 300


PAGE = (ROOT / "docs/reference/security.md").read_text("utf-8")
TABLES = re.findall(r"(?m)^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
PROMISES = [line.strip("| ").split(" | ") for table in TABLES for line in table.splitlines()]


def test_all_tables_are_found() -> None:
    assert len(TABLES) == PAGE.count("| promise |") == 6


@pytest.mark.parametrize(("promise", "tests"), PROMISES)
def test_a_promise_has_a_test(promise: str, tests: str) -> None:
    functions: set[str] = set()
    names = re.findall(r"`((?:tests|scripts)/[a-z0-9_/]+\.py|test_\w+)`", tests)
    assert names and len(names) == tests.count("`") // 2
    for name in names:
        if name.endswith(".py"):
            tree = ast.parse((ROOT / name).read_text("utf-8"))
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        else:
            assert name in functions, f"{name} is not a test of that file"


STORED = ROOT / "docs/engineering/accuracy"


def test_a_section_without_numbers_is_named(tmp_path: Path) -> None:
    shutil.copytree(STORED, tmp_path / "numbers")
    (tmp_path / "numbers/drivers.json").unlink()
    with pytest.raises(InputError, match="--only"):
        accuracy.stored(tmp_path / "numbers")


def test_sections_are_chosen_by_name() -> None:
    assert accuracy.sections_of("drivers,layers") == ["drivers", "layers"]
    with pytest.raises(argparse.ArgumentTypeError, match="no section frames"):
        accuracy.sections_of("layers,frames")


def test_the_page_is_written_from_the_stored_results() -> None:
    text = (ROOT / "docs/engineering/accuracy.md").read_text("utf-8")
    assert accuracy.page(accuracy.stored(STORED), text) == text


def test_arrows_that_others_imply_are_left_out() -> None:
    edges = {"top": frozenset({"middle", "low"}), "middle": frozenset({"low"}), "low": frozenset()}
    assert import_graph.shortest(edges) == {**edges, "top": {"middle"}}


def test_imports_upwards_and_forbidden_ones_are_marked() -> None:
    edges = {"cli": frozenset({"gl", "graph"}), "gl": frozenset({"cli"}), "graph": frozenset()}
    text = import_graph.section([["cli"], ["gl"], ["graph"]], edges, {("cli", "graph")})
    assert "cli-->gl" in text
    assert "gl -. to be removed .-> cli" in text
    assert "cli -. to be removed .-> graph" in text


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no section of rooms"):
        import_graph.page_with("# Design\n", "rooms")


FORM: dict[str, Any] = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text("utf-8"))
FIELDS = {field["id"]: field for field in FORM["body"] if field["type"] != "markdown"}


def test_the_form_has_the_fields_of_github() -> None:
    assert {"name", "description", "body"} <= set(FORM)
    for field in FORM["body"]:
        assert field["type"] in ("markdown", "textarea", "input")
        assert field["attributes"]["value" if field["type"] == "markdown" else "label"]
    assert len(FIELDS) == len(FORM["body"]) - 1, "ids are unique"


def test_the_bug_template_asks_for_doctors_report() -> None:
    command = "glsl-infer doctor --json"
    assert FIELDS["doctor"]["attributes"]["label"] == command
    assert FIELDS["doctor"]["validations"]["required"] is True
    _, module, *arguments = shlex.split(command)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    assert module in COMMANDS
    importlib.import_module(f"glsl_infer.cli.{module}").add_arguments(parser)
    parser.parse_args(arguments)  # exits if the arguments are invalid


COMMON_ATTRIBUTES = {"scales", "zeros", "bits", "scale"}
"""Attributes of many operators, which the page describes once, before its list of operators."""


def test_every_operator_is_in_the_matrix() -> None:
    named = {name for line in NAMES for name in line.each}
    assert named | set(PARTS_OF_OTHERS) == {*ops.names(), *cpu.KERNELS}, "see scripts/docs/operator_table/names.py"
    assert not named & set(PARTS_OF_OTHERS)


def test_the_page_has_every_operator_of_a_file() -> None:
    text = (ROOT / "docs/reference/operators.md").read_text("utf-8")
    assert with_names(text) == text, "run: python scripts/docs/operators.py --names"
    section = text.partition("\n## TensorFlow Lite and ONNX\n")[2].partition("\nMade of these")[0]
    assert not {name for names in FORMATS.values() for name in names} - set(re.findall(r"\w+", section))


@pytest.mark.parametrize("title", FORMATS)
def test_the_matrix_has_no_other_names(title: str) -> None:
    cells = ", ".join(line.tflite if title == "TensorFlow Lite" else line.onnx for line in NAMES)
    names = {name.partition(":")[0] for name in cells.split(", ") if name}
    assert names - FORMATS[title] <= {"smoothed", "cropped"}  # kinds of Resize


def test_places_and_exactness() -> None:
    places = {line.operators: (line.runs(), line.exactness()) for line in NAMES}
    assert places["conv2d"] == ("shader", "0.52")
    assert places["max_pool"] == ("shader", "bytes")
    assert places["reshape, batch_norm, rescaling, identity, softmax, local_response_norm"] == ("folded", "-")
    assert places["non_max_suppression, class_suppression, detections"] == ("CPU", "float32")


def test_every_shader_has_its_instructions_on_a_videocore() -> None:
    measured = videocore.stored()
    shaders = {name for line in NAMES if line.runs() == "shader" for name in line.each if ops.get(name).has_shader}
    views = {name for name in shaders if isinstance(ops.get(name), ViewOperator)}  # without a pass
    internal = {name for name in PARTS_OF_OTHERS if not name.startswith("input") and name != "channel_view"}
    missing = (shaders | internal) - views - set(measured)
    assert not missing, "scripts/vc4/build.sh builds VideoCore IV's driver; then run scripts/docs/operators.py"
    staged_names = {name for line in NAMES for name in line.each if name in ops.names() and ops.get(name).staged}
    assert staged_names == set(videocore.STAGES), "the page has no floor of these"
    assert all(row["instructions"] >= row["floor"] for row in measured.values())
    assert {row["threads"] for row in measured.values()} == {2}


def test_the_graph_format_lists_every_operator_of_a_bundle() -> None:
    text = (ROOT / "docs/reference/graph-format.md").read_text("utf-8")
    section = text.partition("\n## Operators\n")[2].partition("\n*Kept*")[0]
    lines = {item.split("`")[1]: item for item in re.split(r"\n(?=\* `)", section)[1:]}
    drawn = {name: ops.get(name) for name in ops.names() if ops.get(name).has_shader or ops.get(name).is_input}
    assert set(lines) == set(drawn)
    for name, operator in drawn.items():
        line = lines[name]
        assert not [key for key in operator.attrs if key not in COMMON_ATTRIBUTES and f"`{key}`" not in line], name
        assert isinstance(operator, CopyOperator) == line.rstrip().endswith("(kept)"), name
        assert isinstance(operator, ViewOperator) == ("no pass" in line), name
