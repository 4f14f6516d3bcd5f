"""The pages beside the shipped models say what is true of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import ROOT

from glsl_infer.support.resources import DEFAULT_MODEL_NAME

MODEL_PAGES = sorted((ROOT / "models").glob("*.md"))


@pytest.mark.parametrize("page", MODEL_PAGES, ids=lambda page: page.stem)
def test_one_model_alone_is_the_default(page: Path) -> None:

    text = " ".join(page.read_text("utf-8").split())
    assert ("default of `classify`" in text) == (page.stem == DEFAULT_MODEL_NAME.partition(".")[0])
