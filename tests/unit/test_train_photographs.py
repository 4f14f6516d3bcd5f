"""Photographs for glsl-infer train: folders, refusals, warnings and the contact sheet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.tools.train import make
from glsl_infer.tools.train.photographs import contact_sheet, find, variations


def test_photographs_that_cannot_be_used_are_all_named(tmp_path: Path) -> None:
    for name in ("cat", "dog", "None of these"):
        (tmp_path / name).mkdir()
    (tmp_path / "cat" / "bad.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError) as caught:
        find(tmp_path)
    text = str(caught.value)
    assert "3 problems" in text
    assert re.search(r"cat: 0 readable images; a class needs 5, better 30; .*bad\.jpg: .*; left out\n", text)
    assert "rename this folder to 'none'" in text


def test_warnings_about_photographs_are_printed_before_the_training(tmp_path: Path) -> None:
    """A folder of data sets instead of classes is trainable, but seldom intended."""
    for name in ("train/cat", "train/dog", "val/cat", "val/dog"):
        (tmp_path / name).mkdir(parents=True)
        for index in range(5):
            Image.new("RGB", (8, 8)).save(tmp_path / name / f"{index}.png")
    warnings: list[str] = []
    with pytest.raises(InputError, match=r"none\.glslnn"):
        make.train(
            tmp_path,
            tmp_path / "out.glslnn",
            start=tmp_path / "none.glslnn",
            progress=lambda _: None,
            warn=warnings.append,
        )
    nested = tmp_path / "train"
    assert warnings == [
        f"{nested}: the folders cat, dog together are the class 'train'; if each is a class, give {nested}",
        "'train' has 10 photographs; 30 make a better model",
        "'val' has 10 photographs; 30 make a better model",
    ]
    (tmp_path / "val/cat/0.png").rename(tmp_path / "val/0.png")
    assert find(tmp_path).warnings == tuple(warnings[1:])


def test_a_contact_sheet_has_rows_of_each_class(tmp_path: Path) -> None:
    for label, colour in (("cat", "red"), ("none", "blue")):
        (tmp_path / label).mkdir()
        for index in range(5):
            Image.new("RGB", (40, 30), colour).save(tmp_path / label / f"{index}.png")
    (tmp_path / "cat/2026").mkdir()  # as all commands do, photographs are searched for in folders below, too
    (tmp_path / "cat/4.png").rename(tmp_path / "cat/2026/4.png")
    Image.new("RGB", (40, 30)).save(tmp_path / "loose.png")
    result = find(tmp_path)
    assert result.warnings[0] == f"{tmp_path}: 1 image is left out, because it is not in the folder of a class"
    assert (result.classes, result.truth) == (("cat",), (0,) * 5 + (-1,) * 5)
    sheet = contact_sheet(result, side=8)
    assert sheet.size == (80, 8 + 1 + 8)
    assert [sheet.getpixel((0, y)) for y in (0, 8, 16)] == [(255, 0, 0), (255, 255, 255), (0, 0, 255)]
    long = contact_sheet(result, side=8, columns=2)
    assert long.size == (16, 3 * 8 + 1 + 3 * 8)
    assert [long.getpixel((9, y)) for y in (12, 20, 30)] == [(255, 0, 0), (255, 255, 255), (0, 0, 255)]
    views = list(variations(Image.new("RGB", (40, 30), "red"), 4, 0))
    assert len(views) == 4
    assert views[0].size == (40, 30)
