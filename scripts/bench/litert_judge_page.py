"""The page of scripts/bench/litert_judge.py, docs/engineering/litert-judge.md, and the bounds stated there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

KINDS = ("float", "float16", "int8")


NETWORKS = 200


IN_ALL_KINDS = 80
"""Number of networks converted to every kind of file; each other network becomes one file, of the kinds in turn."""


MOST_FLOAT = {"float": 1e-4, "float16": 1e-3}
"""Largest float error; larger for float16, because functions are recognised despite their rounded constants."""


MOST_DRAWN = 1.2


SLACK = 0.05
"""Additional tolerance of every result, in 1/255 of an output's largest value: drivers round ties differently."""


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# LiteRT judge",
        "",
        "How far exported `.tflite` files differ from LiteRT. `python scripts/bench/litert_judge.py` makes",
        f"{NETWORKS} random Keras networks (`tests/keras_networks.py`), converts them with TensorFlow (the first",
        f"{IN_ALL_KINDS} to a file of each kind, the others to one), exports and draws all {len(rows)} files,",
        "and writes this page.",
        "",
        "- *Float* is the largest difference between LiteRT and the imported graph in 32-bit floats, as a share of",
        f"  the largest value of the output. More than {MOST_FLOAT['float']:g} is a failure",
        f"  ({MOST_FLOAT['float16']:g} for float16, where rounded constants of functions are replaced by the",
        "  original ones).",
        "- *Exact* and *drawn* are the effect of 8 bits, in the exact reference and on the GPU: the root mean square",
        "  of the centred difference from LiteRT, in 1/255 of the largest value of the output. *Drawn* is a",
        f"  failure if it is more than {MOST_DRAWN:g} times *exact* plus {SLACK:g}.",
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
