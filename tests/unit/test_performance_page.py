"""docs/performance.md names every row that ``glsl-infer benchmark`` prints, and every option."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from glsl_infer.cli import benchmark, benchmark_text

PAGE = (Path(__file__).resolve().parents[2] / "docs/performance.md").read_text("utf-8")


def test_every_row_is_explained() -> None:
    first_cells = {line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")}
    printed = {*benchmark_text._START.values(), *(name.strip() for name in benchmark_text._STEPS.values())}
    assert printed - first_cells == set()


def test_every_option_in_the_page_is_one() -> None:
    parser = argparse.ArgumentParser()
    benchmark.add_arguments(parser)
    commands = re.findall(r"^ {4}(glsl-infer benchmark.*)$", PAGE, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        words = re.split(" [#>] ", command)[0].split()[2:]
        parser.parse_args(words)  # exits where it cannot
