"""Rows of docs/applications.json that were counted again go where the old ones were."""

from __future__ import annotations

import json
from pathlib import Path

import applications


def test_rows_counted_again_take_their_place(tmp_path: Path) -> None:
    page = tmp_path / "rows.json"
    one, other, new = ({"network": name, "passes": 1} for name in ("Xception", "VGG16", "MobileNet"))
    assert applications.kept([one], page) == [one]
    page.write_text(json.dumps([one, other]), "utf-8")
    again = {**one, "passes": 2}
    assert applications.kept([new, again], page) == [again, other, new]


def test_the_page_has_each_network_once() -> None:
    names = [row["network"] for row in json.loads(applications.PAGE.read_text("utf-8"))]
    assert sorted(names) == sorted(applications.NETWORKS)
