#!/usr/bin/env python3
"""Compare the cost of the models in models/ on a VideoCore IV with the stored, accepted cost.

    python scripts/vc4/budget.py            # the differences, layer by layer; ends with 1 where there are any
    python scripts/vc4/budget.py --write    # prints them and stores the new numbers in tests/vc4/budget*.json

tests/vc4/test_budget.py fails on any difference, for better or worse: a commit that changes shaders must include their
new cost. Each version of Mesa found by ``glsl-infer vc4`` compiles, and has a separate file.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glsl_infer.cli.progress import bar
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.support.files import cannot_be_written, write_text
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver, Report
from glsl_infer.tools.videocore.driver import RELEASES

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/vc4/budget.json"
"""The cost with Mesa 22; ``stored`` returns the file of another version."""

MODELS = ROOT / "models"

LAYER = ("passes", "jobs", "instructions", "cycles", "threads", "total")
"""Stored fields of a layer; see ``report.Row``. The total is instructions times pixels."""

Numbers = dict[str, Any]


def stored(mesa: str) -> Path:
    """Return the file of a version of Mesa."""
    return STORED if mesa == "22" else STORED.with_name(f"budget-{mesa}.json")


def models() -> list[Path]:
    """Return the shipped bundles."""
    return sorted(MODELS.glob("*.glslnn"))


def measured(path: Path, driver: Driver) -> Report:
    """Return the report on a bundle.

    Raises:
        InputError, RunError: the driver does not work, or refuses a shader.
    """
    return vc4.report(*vc4.measure(path, driver), path.name)


def stored_fields(report: Report) -> Numbers:
    """Return the stored fields of a report."""
    return {
        "jobs": report.totals["jobs"],
        "loads": report.totals["loads"],
        "programs": report.totals["programs"],
        "total": report.total,
        "layers": {row.layer: {name: getattr(row, name) for name in LAYER} for row in report.rows},
    }


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[str]:
    """Return a line for each layer of a bundle that differs, and one for differing sums; empty if all are equal."""
    if before is None:
        return [f"new: {after['total'] / 1e6:.2f} million instructions times pixels a frame"]
    lines = []
    old, new = before["layers"], after["layers"]
    for layer in dict.fromkeys([*old, *new]):
        if layer not in new:
            lines.append(f"{layer}: is gone")
        elif layer not in old:
            lines.append(f"{layer}: new, {new[layer]['total'] / 1e6:.2f} million")
        elif old[layer] != new[layer]:
            lines.append(f"{layer}: {_changes(old[layer], new[layer], LAYER)}")
    sums = ("total", "jobs", "loads", "programs")
    if any(before[name] != after[name] for name in sums):
        lines.append(f"frame: {_changes(before, after, sums)}")
    return lines


def _changes(before: Mapping[str, int], after: Mapping[str, int], names: Sequence[str]) -> str:
    parts = []
    for name in names:
        if before[name] == after[name]:
            continue
        if name == "total":
            change = f" ({after[name] / before[name] - 1.0:+.1%})" if before[name] else ""
            parts.append(f"{before[name] / 1e6:.2f} -> {after[name] / 1e6:.2f} million{change}")
        else:
            parts.append(f"{name} {before[name]} -> {after[name]}")
    return ", ".join(parts)


def read(path: Path) -> Numbers:
    """Return the stored costs by bundle.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        budget: Numbers = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; python scripts/vc4/budget.py --write measures and stores"
        ) from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); python scripts/vc4/budget.py --write writes it again") from None
    return budget


def write(path: Path, counted: Numbers) -> None:
    """Store costs, a line for each layer; the old file stays until the new one is complete.

    Raises:
        InputError: the file cannot be written.
    """
    text = re.sub(r"\{[^{}]*\}", lambda match: re.sub(r"\s+", " ", match[0]), json.dumps(counted, indent=1))
    try:
        write_text(path, f"{text}\n")
    except OSError as error:
        raise cannot_be_written(path, error) from None


def main() -> int:
    """Compare and, if requested, store; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare the models' cost with the budget.", allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="store the new numbers")
    parser.add_argument("--driver", type=Path, metavar="DIR", help="folder of Mesa's vc4 driver and shim")
    parser.add_argument("--mesa", choices=RELEASES, help="default: each that is there")
    parser.add_argument("--json", action="store_true", help="print the new numbers as JSON, by version of Mesa")
    args = parser.parse_args()
    by_mesa: dict[str, dict[str, Numbers]] = {}
    differ = False
    try:
        for driver in vc4.find_all(args.driver, args.mesa):
            file = stored(driver.mesa)
            before = {} if args.write and not file.exists() else read(file)
            shown = bar(models(), "models", f"Mesa {driver.version}")
            counted = {path.stem: stored_fields(measured(path, driver)) for path in shown}
            changed = {name: differences(before.get(name), new) for name, new in counted.items()}
            changed |= {name: ["is gone"] for name in before if name not in counted}
            for name, lines in changed.items():
                for line in lines:
                    print(f"Mesa {driver.version}, {name}: {line}", file=sys.stderr if args.json else sys.stdout)
            differ = differ or any(changed.values())
            by_mesa[driver.version] = counted
            if args.write:
                write(file, counted)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.json:
        print(json.dumps(by_mesa, indent=1))
    return int(differ and not args.write)


if __name__ == "__main__":
    sys.exit(main())
