"""Fixtures: the emulated boards, each set up once."""

from __future__ import annotations

import pytest
from board import Arm


@pytest.fixture(scope="session", params=["bookworm-armel", "trixie-armhf"])
def arm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Arm:
    return Arm(request.param, tmp_path_factory.mktemp("arm"))
