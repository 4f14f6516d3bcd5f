"""List the labels of a classifier, one per line."""

from __future__ import annotations

import argparse
import json

from glsl_infer.cli import arguments
from glsl_infer.cli.terminal_text import print_lines
from glsl_infer.errors import InputError

EXAMPLES = (
    "glsl-infer labels",
    "glsl-infer labels model.glslnn",
    "glsl-infer labels model.glslnn --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add_only_model(parser)
    arguments.add_json(parser, "Print one JSON list.")


def run(args: argparse.Namespace) -> int:
    """Print the labels."""
    from glsl_infer.bundle import read
    from glsl_infer.support.resources import default_model

    model = args.model or default_model()
    labels = read(model).labels
    if not labels:
        raise InputError(
            f"{model}: has no labels, because it is not a classifier; glsl-infer inspect {model} describes it"
        )
    if args.json:
        print(json.dumps(labels, indent=1, ensure_ascii=False))
    else:
        print_lines(labels)
    return 0
