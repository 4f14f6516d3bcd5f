"""A stored verdict counts only if other users cannot have written it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from glsl_infer.runtime.verdicts import Verdict

KEY, OTHER = "a" * 64, "b" * 64


def _verdict(folder: Path, key: str = KEY) -> Verdict:
    verdict = Verdict(folder, key, ".passed", "test 1")
    verdict.keep()
    return verdict


def test_a_verdict_that_was_kept_counts(tmp_path: Path) -> None:
    assert _verdict(tmp_path / "new").passed()


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_has_no_verdicts(tmp_path: Path, mode: int) -> None:
    verdict = _verdict(tmp_path)
    tmp_path.chmod(mode)
    assert not verdict.passed()


def test_a_verdict_is_of_one_key(tmp_path: Path) -> None:
    _verdict(tmp_path)
    (tmp_path / f"{KEY}.passed").rename(tmp_path / f"{OTHER}.passed")
    assert not Verdict(tmp_path, OTHER, ".passed", "test 1").passed()
