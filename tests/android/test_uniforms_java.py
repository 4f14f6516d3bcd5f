"""The Java runner reports the same errors in shaders as the Python runner, in the same words."""

from __future__ import annotations

from pathlib import Path

import tiny
from bundle_files import rehashed, zipped
from hostile_shaders import HEAD, REFUSED, TAKEN
from jvm import Jvm

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError

SHADER = tiny.tiny_bundle().manifest.programs[0].fragment


def test_the_same_verdicts(runner: Jvm, tmp_path: Path) -> None:
    members, paths, expected = tiny.tiny_members(), [], []
    texts = [members[SHADER].decode(), *(HEAD + text for text in (*REFUSED.values(), *TAKEN.values()))]
    for index, text in enumerate(texts):
        path = tmp_path / f"{index}.glslnn"
        paths.append(zipped(path, rehashed(members, {SHADER: text.encode()})))
        try:
            bundles.read(path)
            expected.append("")
        except BundleError as error:
            expected.append(str(error).removeprefix(f"{path}: "))
    assert runner.verdicts(paths) == expected
    assert expected[0] == ""
    assert sum(text.endswith("(rule: shaders)") for text in expected) == len(REFUSED)
    assert sum(text.endswith("(rule: uniforms)") for text in expected) == len(TAKEN)  # they declare other uniforms
