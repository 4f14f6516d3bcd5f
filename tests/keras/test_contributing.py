"""CONTRIBUTING.md, "Add an operator in one file": its converter imports the operator from Keras."""

from __future__ import annotations

from pathlib import Path

import pytest
from contributing import copy_with_operator, require_tests_pass


@pytest.mark.exhaustive
def test_the_converter_works(tmp_path: Path) -> None:
    require_tests_pass(copy_with_operator(tmp_path / "copy"), "tests/keras/test_import_reflection_padding.py")
