"""The contact sheet: original images in the first column, their variations in the others."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from varied import NOTHING, pictures

from glsl_infer.errors import InputError
from training.preview import COLUMNS, ROWS, contact_sheet
from training.recipe import Recipe

SIDE = 12


def cells(path):
    with Image.open(path) as opened:
        sheet = np.asarray(opened)
    rows = sheet.shape[0] // SIDE
    return sheet.reshape(rows, SIDE, COLUMNS, SIDE, 3).swapaxes(1, 2)


def test_sheet(tmp_path):
    pixels = pictures(20, SIDE)
    contact_sheet(tmp_path / "new" / "sheet.png", pixels, Recipe(augmentation=replace(NOTHING, flip=0.5)), SIDE)
    found = cells(tmp_path / "new" / "sheet.png")
    assert len(found) == ROWS
    numbers = []
    for row in found:
        (number,) = [i for i, one in enumerate(pixels) if np.array_equal(row[0], one)]
        numbers.append(number)
        for cell in row[1:]:
            assert np.array_equal(cell, pixels[number]) or np.array_equal(cell, pixels[number][:, ::-1])
    assert len(set(numbers)) == ROWS
    flipped = [not np.array_equal(cell, row[0]) for row in found for cell in row[1:]]
    assert 0.2 < np.mean(flipped) < 0.8


def test_few_pictures_make_a_short_sheet(tmp_path):
    contact_sheet(tmp_path / "sheet.png", pictures(2, SIDE), Recipe(), SIDE)
    assert len(cells(tmp_path / "sheet.png")) == 2


def test_a_suffix_of_no_picture_leaves_the_file_alone(tmp_path):
    (tmp_path / "notes.doc").write_text("mine")
    with pytest.raises(InputError, match=r"notes.doc: no picture format"):
        contact_sheet(tmp_path / "notes.doc", pictures(2, SIDE), Recipe(), SIDE)
    assert (tmp_path / "notes.doc").read_text() == "mine"
