"""Coarse labels from the ``manifest.csv`` of a data set, which scripts/get-data writes."""

from __future__ import annotations

import csv
from pathlib import Path

from glsl_infer.errors import InputError
from training.class_folders import a_few


def coarse_labels(folder: Path, labels: tuple[str, ...], *, complete: bool = True) -> dict[str, str] | None:
    """Return the coarse label of each label; None without a manifest or its column ``coarse_label``.

    Args:
        folder: folder of the data set.
        labels: labels to look up.
        complete: refuse labels missing in the manifest. Otherwise they are their own coarse labels, as needed for
            models trained on several data sets.

    Raises:
        InputError: the manifest cannot be read, or a label has no coarse label, or has two.
    """
    path = folder / "manifest.csv"
    if not path.is_file():
        return None
    coarse: dict[str, str] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if not {"label", "coarse_label"} <= set(rows.fieldnames or ()):
                return None
            for row in rows:
                label, coarse_label = row["label"], row["coarse_label"]
                if not coarse_label:
                    raise InputError(f"{path}:{rows.line_num}: has no coarse_label")
                if coarse.setdefault(label, coarse_label) != coarse_label:
                    raise InputError(
                        f"{path}:{rows.line_num}: {label} belongs to {coarse_label} here and to {coarse[label]} before"
                    )
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; correct or remove it") from None
    except (OSError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    missing = [label for label in labels if label not in coarse]
    if missing and complete:
        raise InputError(f"{path}: has no line for {a_few(missing)}; correct or remove it")
    return {label: coarse.get(label, label) for label in labels}
