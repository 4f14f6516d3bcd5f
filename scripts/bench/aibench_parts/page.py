"""The tables of docs/engineering/aibench.md, from docs/engineering/aibench.json."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from glsl_infer.tools.aibench import phones
from glsl_infer.tools.aibench.needs import PYTHON
from glsl_infer.tools.aibench.phones import score_of
from glsl_infer.tools.aibench.tests import LARGEST, TESTS, Test

BEGIN, END = "<!-- measured: written by scripts/bench/aibench.py -->", "<!-- end of measured -->"
MISSING = "?"
BUSY, BUSY_LOAD = "\\*", 4.0
"""Mark of busy times, and the load of other processes above which a time gets it."""

AGAIN = " (second run)"
"""Mark of first results whose programs came from the cache."""

SLOW = 70.0
"""Seconds of CPU above which an export is listed."""

BOARD_MB, SYSTEM_MB = 512, 160
"""Memory of a Raspberry Pi Zero, and the share used by the firmware (64) and by Linux without a desktop, in MB."""

Numbers = Mapping[str, Mapping[str, Mapping[str, Any]]]


def with_tables(text: str, numbers: Numbers) -> str:
    """Return the page's text with new tables."""
    before, remainder = text.split(BEGIN)
    _, after = remainder.split(END)
    blocks = [
        _machine(numbers),
        _runs(numbers),
        _last(numbers),
        _phones(numbers),
        _failures(numbers),
        _exports(numbers),
        _boards(numbers),
        _pictures(numbers),
        _missing(numbers),
    ]
    return f"{before}{BEGIN}\n" + "\n\n".join(block for block in blocks if block) + f"\n{END}{after}"


def _of(numbers: Numbers, test: Test, part: str) -> Mapping[str, Any]:
    """Return the results of a part of a test; an empty dict if it failed or was not measured."""
    entry = numbers.get(str(test.number), {}).get(part, {})
    return {} if "failed" in entry else entry


def _missing(numbers: Numbers) -> str:
    numbered = [str(test.number) for test in TESTS if "run" not in numbers.get(str(test.number), {})]
    return f"Not measured yet: test {', '.join(numbered)}." if numbered else ""


def _machine(numbers: Numbers) -> str:
    machines = [_of(numbers, test, "run")["machine"] for test in TESTS if _of(numbers, test, "run")]
    names = dict.fromkeys(str(machine.get("renderer", "")) for machine in machines)
    return f"On {'; '.join(names)}:" if names else ""


def _runs(numbers: Numbers) -> str:
    rows = []
    for test in TESTS:
        if test.number == LARGEST:
            continue
        run, litert = _of(numbers, test, "run"), _of(numbers, test, "litert")
        outputs = _of(numbers, test, "validate").get("outputs", [])
        if not (run or litert or outputs):
            continue
        worst = min(outputs, key=lambda end: float(end["cosine"]), default={})
        rows.append(
            [
                f"{test.number} {test.network}",
                _format(run.get("ms"), 1) + _busy(run),
                _format(run.get("first_ms"), 1, 1000.0) + (AGAIN if run.get("restored") else ""),
                f"{test.reference:g}",
                _format(litert.get("ms"), 1),
                _format(run["ms"] / litert["ms"] if run and litert else None, 1),
                _format(worst.get("cosine"), 5),
                f"{worst['reference_cosine']:.5f}" if "reference_cosine" in worst else "",
                _format(run.get("memory_bytes"), 0, 1e6),
            ]
        )
    if not rows:
        return ""
    heads = ("test", "ms a picture", "first result, s", "a Pixel 2, ms", "LiteRT, one thread, ms", "times as long",
             "cosine", "reference's", "memory, MB")  # fmt: skip
    marked = any(cell.endswith(BUSY) for row in rows for cell in row)
    notes = [f"{BUSY}: beside other work."] if marked else []
    again = [run for test in TESTS if (run := _of(numbers, test, "run")).get("restored") and "compiled" in run]
    if again:
        compiled, restored = (sum(run[key] for run in again) for key in ("compiled", "restored"))
        notes.append(f"Second runs ({len(again)} tests) compiled {compiled} of {compiled + restored} programs.")
    exported_again = []  # bundles exported again after the run
    for test in TESTS:
        ran, exported = (_of(numbers, test, part).get("passes") for part in ("run", "made"))
        if None not in (ran, exported) and ran != exported:
            exported_again.append(f"{test.number}: {ran:,}")
    if exported_again:
        notes.append(f"Draws when these ran: {', '.join(exported_again)}.")
    return "\n\n".join([_table(heads, rows), " ".join(notes)]).rstrip()


def _busy(run: Mapping[str, Any]) -> str:
    """Return a mark if other processes disturbed a time, as seen from the load before it or as noted by hand."""
    return BUSY if run.get("busy") or run.get("load", 0.0) > BUSY_LOAD else ""


def _last(numbers: Numbers) -> str:
    lines = []
    last = next(test for test in TESTS if test.number == LARGEST)
    run = _of(numbers, last, "run")
    if run:
        lines.append(
            f"Test 9: {run['megapixels']:g} megapixels in {run['seconds']:.1f} s, with "
            f"{run['memory_bytes'] / 1e6:.0f} MB; {run['stopped']}.{_busy(run)}"
        )
    done = {test.number: _of(numbers, test, "run") for test in TESTS}
    if all(done.values()):
        results = _results(numbers)
        marks = "".join({mark for entry in done.values() if (mark := _busy(entry))})
        lines.append(f"Score: {score_of(results):.0f}.{marks}")
        if all("whole_seconds" in entry for entry in done.values()):
            minutes = sum(entry["whole_seconds"] for entry in done.values()) / 60.0
            lines.append(f"All nine took {minutes:.1f} minutes.{marks}")
    return " ".join(lines)


def _results(numbers: Numbers) -> dict[int, float]:
    """Return the result of every test with a run, in milliseconds or megapixels."""
    done = {test.number: _of(numbers, test, "run") for test in TESTS}
    return {test: run["ms"] if "ms" in run else run["megapixels"] for test, run in done.items() if run}


def _phones(numbers: Numbers) -> str:
    """Return the table of the paper's phones with this machine's row in bold."""
    results = _results(numbers)
    if len(results) < len(TESTS):
        return ""
    phone_rows = phones.read()
    mine = {
        "phone": "**two cores, llvmpipe**",
        **{str(test): f"{result:.4g}" if test == LARGEST else f"{result:.0f}" for test, result in results.items()},
        "score": f"{score_of(results):.0f}",
        "paper": phones.MISSING,
    }
    rows = sorted([*phone_rows, mine], key=lambda row: -float(row["score"]))
    off = [abs(float(row["score"]) / float(row["paper"]) - 1.0) for row in phone_rows]
    return (
        "The phones of the paper's table 2: ms a picture in tests 1 to 8, megapixels in test 9. *Score* is by the "
        "formula above, *paper* is the published score. For these phones the formula is "
        f"{100 * median(off):.0f} % off in the median and {100 * max(off):.0f} % at most. It gives slow phones too "
        "much.\n\n" + _table(phones.SHOWN, [[row[column] for column in phones.SHOWN] for row in rows])
    )


def with_score(text: str, numbers: Numbers) -> str:
    """Return README's text with the score of docs/engineering/aibench.json, or unchanged if a test is missing."""
    score = re.search(r"Score: (\d+)", _last(numbers))
    return re.sub(r"\bscore \d+ on", f"score {score[1]} on", text) if score else text


def _failures(numbers: Numbers) -> str:
    lines = [
        f"- Test {test}, {part}: {entry['failed']}"
        for test, parts in sorted(numbers.items())
        for part, entry in sorted(parts.items())
        if "failed" in entry
    ]
    return "\n".join(["What failed:", "", *lines]) if lines else ""


def _exports(numbers: Numbers) -> str:
    costs = {test.number: _of(numbers, test, "made").get("export") for test in TESTS}
    listed = [
        f"test {test} {cost['cpu_seconds']:.0f}, {cost['memory_bytes'] / 1e9:.1f}"
        for test, cost in costs.items()
        if cost and cost["cpu_seconds"] > SLOW
    ]
    return f"Export, s of CPU and GB: {'; '.join(listed)}." if listed else ""


def _boards(numbers: Numbers) -> str:
    rows = []
    for test in TESTS:
        exported, cost = _of(numbers, test, "made"), _of(numbers, test, "vc4")
        if test.number == LARGEST or not exported:
            continue
        zero = cost.get("estimates", {}).get("Pi Zero W", {})
        drawn = exported["texture_bytes"] - exported.get("weight_texture_bytes", 0)
        needed = exported["member_bytes"] / 1e6 + drawn / 1e6 + PYTHON / 1e6
        rows.append(
            [
                f"{test.number} {test.network}",
                f"{exported['passes']:,}",
                f"{exported['programs']:,}",
                _format(zero.get("gpu"), 2, 1000.0),
                f"{zero['total'] / 1000.0:.2f} ({zero['low'] / 1000.0:.2f} to {zero['high'] / 1000.0:.2f})"
                if zero
                else MISSING,
                str(cost["fewest_threads"]) if cost else MISSING,
                f"{exported['file_bytes'] / 1e6:.1f}",
                f"{exported['texture_bytes'] / 1e6:.1f}",
                f"{needed:.0f}" + ("" if needed <= BOARD_MB - SYSTEM_MB else ": does not fit"),
            ]
        )
    if not rows:
        return ""
    heads = ("test", "draws", "programs", "Pi Zero W computes, s", "a picture, s", "threads", "file, MB",
             "textures, MB", "needs, MB")  # fmt: skip
    return (
        "VideoCore IV, by [the estimate](videocore.md#the-estimate). A test needs the unpacked bundle, textures "
        f"that it draws, {PYTHON / 1e6:.0f} MB for Python; a Pi Zero has {BOARD_MB - SYSTEM_MB} of {BOARD_MB} MB for "
        f"it:\n\n" + _table(heads, rows)
    )


def _pictures(numbers: Numbers) -> str:
    rows, names = [], []
    for test in TESTS:
        entry = _of(numbers, test, "pictures")
        if entry:
            rows.append(
                [
                    f"{test.number} {test.network}",
                    f"{entry['before']:.1f}",
                    f"{entry['filter']:.1f} ({entry['filter_name']})",
                    f"{entry['after']:.1f}",
                ]
            )
            names.append(f"![{test.task}](aibench/{test.network}.jpg)")
    if not rows:
        return ""
    heads = ("test", "before", "a plain filter", "after")
    photographs = max(_of(numbers, test, "pictures").get("photographs", 0) for test in TESTS)
    return f"PSNR in dB of {photographs} photographs; below, before, by the filter, after, truth:\n\n" + "\n\n".join(
        [_table(heads, rows), *names]
    )


def _format(value: float | None, digits: int, unit: float = 1.0) -> str:
    return MISSING if value is None else f"{value / unit:,.{digits}f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
