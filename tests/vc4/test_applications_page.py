"""Rows of docs/engineering/applications.json are replaced when they are counted again."""

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


def test_a_file_is_taken_where_all_readers_read_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.glslnn" for name in "abc"]
    verdicts = {"Python": ["ok 1", "ok 2", "no"], "Java": ["ok 1", "ok 3", "no"]}
    assert applications.disagreements(paths, {"Python": ["ok 1", "ok 2", "ok -3"]}) == []
    assert applications.disagreements(paths, verdicts) == [
        "b.glslnn: Python: ok 2; Java: ok 3",
        "c.glslnn: Python: no; Java: no",
    ]


def test_the_page_has_each_network_once() -> None:
    names = [row["network"] for row in json.loads(applications.PAGE.read_text("utf-8"))]
    assert sorted(names) == sorted(applications.NETWORKS)
