"""``manifest.csv`` of a data set, as scripts/get-data writes it: of it, the coarse label of every label."""

from __future__ import annotations

import csv
from pathlib import Path

from glsl_infer.errors import InputError
from training.class_folders import a_few


def coarse_labels(folder: Path, labels: tuple[str, ...], *, whole: bool = True) -> dict[str, str] | None:
    """Return the coarse label of each label, or None without a manifest or without that column in it.

    Args:
        folder: of the data set.
        labels: those asked for.
        whole: the manifest must have them all; else one that it lacks is its own coarse label, as those of another
            data set are in a model that was trained on both.

    Raises:
        InputError: the manifest cannot be read, a label has no coarse label, or has two.
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
                label, wider = row["label"], row["coarse_label"]
                if not wider:
                    raise InputError(f"{path}:{rows.line_num}: has no coarse_label")
                if coarse.setdefault(label, wider) != wider:
                    raise InputError(
                        f"{path}:{rows.line_num}: {label} belongs to {wider} here and to {coarse[label]} before"
                    )
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; correct or remove it") from None
    except (OSError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    missing = [label for label in labels if label not in coarse]
    if missing and whole:
        raise InputError(f"{path}: has no line for {a_few(missing)}; correct or remove it")
    return {label: coarse.get(label, label) for label in labels}
