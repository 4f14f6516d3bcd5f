#!/usr/bin/env python3
"""Write docs/engineering/boards.md, and the estimates in the tables of README.md and speed-on-a-pi.md.

python scripts/docs/boards/table.py             # boards.md from boards/*.json; estimates from ``estimates``
python scripts/docs/boards/table.py --check     # ends with 1 where a page is another
python scripts/docs/boards/table.py --predict   # boards/predicted.json anew, for models/; needs the vc4 driver
scripts/docs/boards/add REPORT.json [NAME]      # one report more, and the page
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.support.files import write_text
from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.get import catalogue
from glsl_infer.tools.report import saved

ROOT = Path(__file__).resolve().parents[3]
BOARDS = ROOT / "boards"
PREDICTED = "predicted.json"
PAGE = ROOT / "docs/engineering/boards.md"
NETWORKS = ROOT / "docs/engineering/videocore.md"
GUIDE, README = ROOT / "docs/guide/speed-on-a-pi.md", ROOT / "README.md"
MODELS = ROOT / "models"

_LEFT_OUT = ("extensions", "contexts")
"""Long entries of a driver's report that no table uses."""

_GUIDE_COLUMNS = 5

_HEAD = """\
# Boards

Measurements that users sent, made with one command:

    glsl-infer report                       # a minute or two; writes glsl-infer-report.json and a page to read
    glsl-infer report --minutes 10          # also: does it stay as fast when it gets warm?

A report contains the driver, the self-check of every shipped model, and the time of a frame. It contains no
names of users, hosts or folders. [The app](../guide/android.md) makes reports too: *Model*, *Report on this
device*. Please attach the JSON file to an issue. `scripts/docs/boards/add FILE.json` adds it to `boards/` and to
this table.

## Milliseconds of a frame

The median of all frames, from a picture in memory to the result. *Self-check* counts the models whose layers
are all correct.
"""

_PREDICTION = """
## Estimates

There is no report from a VideoCore IV yet. These are [estimates](videocore.md#the-estimate) in milliseconds,
from the instructions, draws and jobs that Mesa's compiler and driver count.
"""


def add(path: Path, name: str | None) -> Path:
    """Store a report in boards/, replacing one of the same name, and return its path.

    Raises:
        InputError: the file is not a report, or the name cannot be a file name.
    """
    report = saved.read(path)
    name = name or slug(f"{report['machine']['cpu']} {report['driver'].get('renderer', '')}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        raise InputError(f"'{name}' as the name of a board; use small letters, digits, dots and hyphens")
    report["driver"] = {key: value for key, value in report["driver"].items() if key not in _LEFT_OUT}
    report["checks"] = [check for check in report.get("checks", []) if check.get("status") != "ok"]
    for model in report["models"]:
        check = model["selfcheck"]
        check["layers"] = [layer for layer in check.get("layers", []) if not layer.get("passed")]
        check.pop("driver", None)
        model["benchmark"].pop("machine", None)
    target = BOARDS / f"{name}.json"
    write_text(target, json.dumps(report, indent=1) + "\n")
    return target


def slug(text: str) -> str:
    """Return a file name of small letters, digits and hyphens."""
    words = re.sub(r"\([^)]*\)", " ", text.lower())
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:60] or "board"


def predict() -> None:
    """Write boards/predicted.json: the estimate of every shipped model on every board with an estimate.

    Raises:
        InputError: the vc4 driver is not installed.
    """
    from glsl_infer.tools import videocore
    from glsl_infer.tools.videocore import estimate

    driver = videocore.find()
    times_of: dict[str, dict[str, Any]] = {board.name: {} for board in estimate.BOARDS}
    for path in sorted(MODELS.glob("*.glslnn")):
        report = videocore.report(*videocore.measure(path, driver), path.name)
        for board in estimate.BOARDS:
            times = estimate.estimate(report, board)
            times_of[board.name][path.stem] = {key: round(value, 1) for key, value in vars(times).items()}
    write_text(BOARDS / PREDICTED, json.dumps(times_of, indent=1) + "\n")


def page() -> str:
    """Return docs/engineering/boards.md.

    Raises:
        InputError: a file in boards/ is damaged.
    """
    reports = {path: saved.read(path) for path in sorted(BOARDS.glob("*.json")) if path.name != PREDICTED}
    models = sorted(path.stem for path in MODELS.glob("*.glslnn"))
    lines = [
        _HEAD,
        *_table(["board", "driver", "self-check", *models], [_row(report, models) for report in reports.values()]),
    ]
    lines.append(_PREDICTION)
    predicted = json.loads((BOARDS / PREDICTED).read_text("utf-8"))
    rows = [
        [board, *(_estimate(times[model]) if model in times else "-" for model in models)]
        for board, times in predicted.items()
    ]
    lines += _table(["board", *models], rows)
    return "\n".join(lines) + "\n"


def estimates() -> dict[str, int]:
    """Return the milliseconds of a frame on a Pi Zero W, by name.

    Names are those of the shipped models (boards/predicted.json), of tasks and models for ``glsl-infer get``, and of
    the networks of videocore.md, without their size.
    """
    stored = json.loads((BOARDS / PREDICTED).read_text("utf-8"))["Pi Zero W"]
    networks = re.findall(r"^\| (\w[^|,]*), \d+ \|.*\| ([\d,]+) \|$", NETWORKS.read_text("utf-8"), re.MULTILINE)
    return {
        **{name: int(milliseconds.replace(",", "")) for name, milliseconds in networks},
        **{name: round(times["total"]) for name, times in stored.items()},
        **{name: model.zero_ms for model in catalogue.read().values() for name in model.tasks or (model.name,)},
    }


def guide(text: str, milliseconds: Mapping[str, int]) -> str:
    """Return speed-on-a-pi.md with the times of its table replaced.

    Raises:
        InputError: a row has no estimate.
    """
    lines = text.split("\n")
    for index, line in enumerate(lines):
        cells = line.split(" | ")
        if len(cells) == _GUIDE_COLUMNS and cells[3][:1].isdigit():
            name = cells[1].strip("`")
            if name not in milliseconds:
                raise InputError(f"{GUIDE.relative_to(ROOT)}: no estimate of '{name}'; leave the row out")
            for column, value in ((3, milliseconds[name]), (4, 1000 // milliseconds[name])):
                cells[column] = re.sub(r"^\d+", str(value), cells[column])
            lines[index] = " | ".join(cells)
    return "\n".join(lines)


def readme(text: str, milliseconds: Mapping[str, int]) -> str:
    """Return README.md with the times of the shipped models replaced."""
    for path in MODELS.glob("*.glslnn"):
        row = re.compile(rf"^(\| \[{re.escape(path.stem)}\].*\| )\d+( ms)", re.MULTILINE)
        text = row.sub(rf"\g<1>{milliseconds[path.stem]}\g<2>", text)
    return text


def _row(report: dict[str, Any], models: list[str]) -> list[str]:
    by_name = {model["model"]: model for model in report["models"]}
    right = sum(model["selfcheck"].get("passed") is True for model in report["models"])
    cells = []
    for name in models:
        times = saved.frame_ms(by_name[name]) if name in by_name else None
        cells.append("-" if times is None else f"{times['median']:.3g}")
    note = f"; {report['note']}" if report["note"] else ""
    driver = report["driver"]
    board = f"{report['machine']['cpu']}, {report['machine'].get('cores', '-')} cores{note}"
    return [board, f"{driver.get('renderer', '-')}, {driver.get('version', '-')}", f"{right} of {len(by_name)}", *cells]


def _estimate(times: dict[str, float]) -> str:
    return f"{times['total']:.0f} ({times['low']:.0f} to {times['high']:.0f})"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    first, *lines = (" | ".join(map(_cell, row)) for row in (head, *rows))
    return [first, f"|{'---|' * len(head)}", *lines]


def _cell(text: str) -> str:
    """Return untrusted text of a report as a table cell: one line, without Markdown or HTML syntax."""
    return re.sub(
        r"[\[\]`*_]", lambda sign: f"&#{ord(sign[0])};", html.escape(one_line(text)[:200], quote=False)
    ).replace("|", "/")


def main() -> int:
    """Run the command of the arguments; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--add", nargs="+", metavar=("REPORT.json", "NAME"), help="store a report first")
    parser.add_argument("--predict", action="store_true", help="estimate the shipped models anew first")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a page is out of date")
    args = parser.parse_args()
    try:
        if args.add:
            if len(args.add) > 2:
                raise InputError("--add takes a report and a name")
            print(add(Path(args.add[0]), args.add[1] if len(args.add) > 1 else None).relative_to(ROOT))
        if args.predict:
            predict()
        milliseconds = estimates()
        pages = {
            PAGE: page(),
            GUIDE: guide(GUIDE.read_text("utf-8"), milliseconds),
            README: readme(README.read_text("utf-8"), milliseconds),
        }
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    changed = [path for path, text in pages.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in changed:
        if args.check:
            print(f"{path.relative_to(ROOT)} is out of date: python scripts/docs/boards/table.py", file=sys.stderr)
        else:
            write_text(path, pages[path])
            print(path.relative_to(ROOT))
    return int(args.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
