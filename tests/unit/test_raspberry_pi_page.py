"""docs/raspberry-pi.md shows how to measure a board. That its commands are right is for test_doc_commands."""

from __future__ import annotations

from pages import ROOT, commands


def test_the_benchmark_is_among_them() -> None:
    shown = [one.words[:2] for one in commands(ROOT / "docs/raspberry-pi.md") if not one.inline]
    assert shown.count(("glsl-infer", "benchmark")) >= 3


def test_a_board_is_set_up_from_the_checkout_to_the_service() -> None:
    page = (ROOT / "docs/raspberry-pi.md").read_text("utf-8")
    wanted = ("git archive", "glsl-infer doctor", "camera --source picamera2", "deploy deployment.yml", "/install.sh")
    places = [page.index(words) for words in wanted]
    assert places == sorted(places)
    assert "REPOSITORY" not in page  # nobody can type that
