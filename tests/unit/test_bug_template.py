"""The bug-report form: GitHub accepts it, and its questions separate driver faults from engine faults."""

from __future__ import annotations

import argparse
import importlib
import shlex
from typing import Any

import yaml
from pages import ROOT

from glsl_infer.cli import COMMANDS

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
