"""Programs that differ only in shared coordinates become one; others stay unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.program import Pass, Quad, ShaderProgram, Source
from glsl_infer.runtime.drivers.llvmpipe.own_coordinates import merged

IN_A_COLUMN = """    t = texture2D(source, vec2(coord0.x, coord0.y));
    s = texture2D(source, vec2(coord0.x, WAIT(coord0.w)));
"""
IN_A_ROW = """    t = texture2D(source, vec2(coord0.x, coord0.y));
    s = texture2D(source, vec2(coord0.z, WAIT(coord0.y)));
"""
OWN = """    t = texture2D(source, vec2(coord0.x, coord0.y));
    s = texture2D(source, vec2(coord0.z, WAIT(coord0.w)));
"""
STEPS = (Source(0, 1.0, 1.0), Source(0, 1.0, 1.0))


def bundle(*texts: str, origins: tuple[tuple[tuple[int, int], ...], ...], steps: tuple[Source, ...] = STEPS) -> Bundle:
    """Return a bundle of a pass for each program, which reads two sources at ``origins``."""
    bundle = tiny_bundle()
    texture = bundle.manifest.textures[0].name
    programs = [ShaderProgram(f"p{k}", "v", f"f{k}", ("source",), 1, {"weights": 8}) for k in range(len(texts))]
    passes = [
        Pass("layer", f"p{k}", "t", True, (texture,), steps, (Quad(0, 0, 2, 2, origin),), {})
        for k, origin in enumerate(origins)
    ]
    manifest = replace(bundle.manifest, programs=tuple(programs), passes=tuple(passes))
    return replace(bundle, manifest=manifest, members={f"f{k}": text.encode() for k, text in enumerate(texts)})


COLUMN, ROW = ((3, 4), (3, 8)), ((3, 4), (7, 4))


def test_two_patterns_share_a_program() -> None:
    result = merged(bundle(IN_A_COLUMN, IN_A_ROW, origins=(COLUMN, ROW)))
    assert [program.name for program in result.manifest.programs] == ["p0"]
    assert [draw.program for draw in result.manifest.passes] == ["p0", "p0"]
    assert result.members["f0"].decode() == OWN


def test_a_single_program_keeps_common_coordinates() -> None:
    network_bundle = bundle(
        IN_A_COLUMN, "    t = texture2D(source, vec2(coord0.x, coord0.y));\n", origins=(COLUMN, ROW)
    )
    result = merged(network_bundle)
    assert result.manifest == network_bundle.manifest
    assert result.members == network_bundle.members


@pytest.mark.parametrize(
    "origins, steps",
    [
        ((((3, 4), (5, 8)), ROW), STEPS),  # not in a column
        ((COLUMN, ((3, 4), (7, 5))), STEPS),
        ((COLUMN, ROW), (STEPS[0], Source(0, 2.0, 1.0))),
        ((COLUMN, ROW), (STEPS[0], Source(0, 1.0, 0.5))),
    ],
)
def test_coordinates_of_different_sources_are_not_merged(
    origins: tuple[tuple[tuple[int, int], ...], ...], steps: tuple[Source, ...]
) -> None:
    network_bundle = bundle(IN_A_COLUMN, IN_A_ROW, origins=origins, steps=steps)
    assert merged(network_bundle).manifest == network_bundle.manifest


@pytest.mark.parametrize(
    "other",
    [
        IN_A_ROW + "    t = texture2D(source, vec2(x0_1, coord0.y));\n",  # further taps of a kernel
        IN_A_ROW.replace("coord0.z", "coord1.z"),  # a component without a source
        IN_A_ROW.replace("t =", "u ="),
    ],
)
def test_a_text_of_another_kind_stays(other: str) -> None:
    network_bundle = bundle(IN_A_COLUMN, other, origins=(COLUMN, ROW))
    assert merged(network_bundle).manifest == network_bundle.manifest


def test_programs_of_other_uniforms_stay() -> None:
    network_bundle = bundle(IN_A_COLUMN, IN_A_ROW, origins=(COLUMN, ROW))
    first, second = network_bundle.manifest.programs
    network_bundle = replace(
        network_bundle,
        manifest=replace(network_bundle.manifest, programs=(first, replace(second, uniforms={"weights": 4}))),
    )
    assert merged(network_bundle).manifest == network_bundle.manifest
