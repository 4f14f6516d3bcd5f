#!/usr/bin/env python3
"""Add the findings of campaigns to docs/engineering/reliability.json, and write them into reliability.md as a table.

    python scripts/bench/reliability/campaign_page.py [--take campaign.json --on "16 cores"]

--take adds a run of `campaign.py` or `shaders_browser.py` to the file. Without it, only the page is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DATA, PAGE = ROOT / "docs/engineering/reliability.json", ROOT / "docs/engineering/reliability.md"
BEGIN, END = "<!-- campaign: scripts/bench/reliability/campaign_page.py -->", "<!-- end -->"
NAMES = {
    "bundle": "bundles",
    "tflite": "`.tflite` files",
    "onnx": "`.onnx` files",
    "llvmpipe": "shaders, llvmpipe",
    "softpipe": "shaders, softpipe",
    "swiftshader": "shaders, SwiftShader",
    "nvidia": "shaders, NVIDIA",
    "sessions": "sessions",
}


def taken(data: dict[str, Any], on: str) -> list[dict[str, Any]]:
    """Return the rows of a run."""
    of = data.get("of", {"swiftshader": data})
    rows = []
    for kind, entry in of.items():
        if not entry["files"]:
            continue
        memory = entry.get("most_bytes", entry.get("memory", 0)) >> 20
        findings = [finding.rpartition("/")[2] for finding in entry["findings"]]
        refused = entry["verdicts"].get("refused", 0)
        rows.append({"kind": kind, "on": on, "files": entry["files"], "refused": refused,
                     "slowest_s": entry["slowest_s"], "memory_mib": memory, "findings": findings})  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the page's table: a row for each kind, all runs together."""
    lines = ["| what | tried | slowest | memory | findings |", "|---|---|---|---|---|"]
    for kind, name in NAMES.items():
        mine = [row for row in rows if row["kind"] == kind]
        if mine:
            found = sum(len(row["findings"]) for row in mine)
            slowest = max(row["slowest_s"] for row in mine)
            memory = max(row["memory_mib"] for row in mine)
            cells = [name, f"{sum(row['files'] for row in mine):,}", f"{slowest:.1f} s" if slowest else ""]
            lines.append("| " + " | ".join([*cells, f"{memory} MiB" if memory else "", str(found)]) + " |")
    return "\n".join(lines)


def written(page: str, rows: list[dict[str, Any]]) -> str:
    """Return the page with a new table."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.partition(END)[2]}"


def main() -> int:
    """Add a run, if given, and write the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", type=Path)
    parser.add_argument("--on", default="this machine")
    args = parser.parse_args()
    rows = json.loads(DATA.read_text("utf-8")) if DATA.exists() else []
    if args.take is not None:
        rows += taken(json.loads(args.take.read_text("utf-8")), args.on)
        DATA.write_text("[\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), rows), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
