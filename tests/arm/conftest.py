"""The emulated board, set up once."""

from __future__ import annotations

import pytest
from board import Arm


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Arm:
    return Arm(tmp_path_factory.mktemp("arm"))
