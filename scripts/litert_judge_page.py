"""The page of scripts/litert_judge.py, docs/engineering/litert-judge.md, and the bounds that it tells."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

KINDS = ("float", "float16", "int8")


NETWORKS = 200


IN_ALL_KINDS = 80
"""So many networks become a file of each kind; the others one file each, of the kinds by turns."""


MOST_FLOAT = {"float": 1e-4, "float16": 1e-3}
"""Of float16 files functions are taken for what they were meant to be before their constants were rounded."""


MOST_DRAWN = 1.2


SLACK = 0.05
"""In 1/255 of an output's largest number: what every result may be off besides, for a driver rounds ties its way."""


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# Random networks beside LiteRT",
        "",
        f"Written by `python scripts/litert_judge.py`: {NETWORKS} random Keras networks (`tests/keras_networks.py`),",
        f"through TensorFlow's converter, the first {IN_ALL_KINDS} to a file of each kind, the others to one;",
        f"imported, exported and drawn beside LiteRT: {len(rows)} files.",
        "",
        "*Float*: the imported graph computed in 32-bit floats, its largest difference from LiteRT in parts of the",
        f"output's largest number; more than {MOST_FLOAT['float']:g} ({MOST_FLOAT['float16']:g} for float16, whose",
        "rounded constants of functions are taken for what they were) is a failure. *Exact* and *drawn*: what 8 bits",
        "change, by the exact reference and as drawn: root mean square of the centred difference from LiteRT, in 1/255",
        f"of the output's largest number. More than {MOST_DRAWN:g} times exact, and {SLACK:g}, is a failure.",
        "",
        "files | passed | excluded | refused | failed | float, worst | exact, median | drawn | partly on the CPU",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        of_kind = [row for row in rows if row["kind"] == kind]
        ran = [row for row in of_kind if "failed" in row]
        excluded, refused = (sum(key in row for row in of_kind) for key in ("excluded", "refused"))
        failed = sum(row["failed"] for row in ran)
        exact, drawn = (float(np.median([row[key] for row in ran])) if ran else 0.0 for key in ("exact", "drawn"))
        worst = f"{max((row['float'] for row in ran), default=0.0):.1e}" if kind in MOST_FLOAT else ""
        parts = sum(row["parts"] > 0 for row in ran)
        cells = (kind, len(ran) - failed, excluded, refused, failed, worst, f"{exact:.2f}", f"{drawn:.2f}", parts)
        lines.append(" | ".join(map(str, cells)))
    for key, title in (("excluded", "Excluded"), ("refused", "Refused"), ("failed", "Failed")):
        told = [row for row in rows if row.get(key)]
        if told:
            lines += ["", f"## {title}", ""]
        if key == "failed":
            lines += [f"- network {row['seed']}, {row['kind']}: float {row['float']:.1e}, exact {row['exact']:.2f}, "
                      f"drawn {row['drawn']:.2f}" for row in told]  # fmt: skip
            continue
        reasons = Counter(row[key] for row in told)
        for reason, count in reasons.most_common():
            which = [f"{row['seed']} {row['kind']}" for row in told if row[key] == reason]
            lines.append(f"- {count} of {which[0]}{', ...' if count > 1 else ''}: {reason}")
    return "\n".join(lines) + "\n"
