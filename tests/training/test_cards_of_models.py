"""Every generated card in models/ matches the current output of training/model_card.py."""

from pathlib import Path

import pytest

from training.cards.sources import CardFiles
from training.model_card import MODELS, problems

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("words", sorted((MODELS / "cards").glob("*.yaml")), ids=lambda path: path.stem)
def test_up_to_date(words: Path):
    assert list(problems(CardFiles(MODELS, words.stem))) == []
