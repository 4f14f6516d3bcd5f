"""A bundle's vertex shaders equal the format's texts; others are refused when the file is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from bundle_files import HOSTILE_VERTEX_SHADERS, hostile_vertex_shader, refusal

from glsl_infer.bundle.program_check import check_vertex_shaders
from glsl_infer.program import templates

GOOD = tiny.tiny_bundle()
FOUR = next(program for program in GOOD.manifest.programs if program.varyings == 4)


@pytest.mark.parametrize("kind", HOSTILE_VERTEX_SHADERS)
def test_another_text_is_refused(tmp_path: Path, good: bytes, kind: str) -> None:
    message = refusal(hostile_vertex_shader(tmp_path, good, kind))
    assert f"'{FOUR.vertex}' is not the vertex shader of this format for 4 varyings; export" in message


def test_the_text_for_another_number_of_varyings_is_refused(tmp_path: Path, good: bytes) -> None:
    path = hostile_vertex_shader(tmp_path, good, lambda _: templates.vertex_shader(5).encode())
    assert "is not the vertex shader of this format for 4 varyings" in refusal(path)


def test_the_engine_s_own_are_accepted() -> None:
    check_vertex_shaders(GOOD.manifest.programs, GOOD.members)
