"""Bundles with a fragment shader that a VideoCore IV cannot draw, or only slowly."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import tiny

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle

LAYER = "expand"
"""The layer of the tiny network with a replaced shader. In uniform mode it has its own program."""


def write(folder: Path, body: str) -> Path:
    """Write the tiny network with ``body`` as main() of that layer; ``t`` is its texture, ``at`` a coordinate."""
    bundle = tiny.tiny_bundle(weights="uniform")
    (program,) = {drawn.program for drawn in bundle.manifest.passes if drawn.layer == LAYER}
    entry = next(pair for pair in bundle.manifest.programs if pair.name == program)
    source = bundle.members[entry.fragment].decode()
    sampler = entry.samplers[0]
    body = re.sub(r"\bt\b", sampler, body)
    text = "\n".join(
        [
            f"uniform sampler2D {sampler};",
            *(_declaration(source, name, count) for name, count in entry.uniforms.items()),
            "varying vec4 coord0;",
            f"void main() {{ vec2 at = coord0.xy; {body} }}",
            "",
        ]
    )
    assert f"sampler2D {sampler};" in source and "varying vec4 coord0" in source
    path = folder / "replaced.glslnn"
    bundles.write(_with_member(bundle, entry.fragment, text.encode()), path)
    return path


def _declaration(source: str, name: str, count: int) -> str:
    """Return the shader's declaration of a uniform, which passes set even if it is not used."""
    match = re.search(rf"uniform (\w+) {name}(\[)?", source)
    assert match is not None
    length = count // int(match[1].removeprefix("vec").replace("float", "1"))
    return f"uniform {match[1]} {name}{f'[{length}]' if match[2] else ''};"


def _with_member(bundle: Bundle, name: str, data: bytes) -> Bundle:
    digests = {**bundle.manifest.members, name: hashlib.sha256(data).hexdigest()}
    return Bundle(replace(bundle.manifest, members=digests), {**bundle.members, name: data})


BRANCH = "vec4 s = vec4(0.5); if (at.x > 0.5) s = texture2D(t, at); gl_FragColor = s;"
"""A texel fetched in a branch, which leaves the other thread nothing to do."""


def alive(count: int) -> str:
    """Return a body in which ``count`` vec4 are alive at once: each is needed to the end and cannot be recomputed."""
    statements = [f"s = fract(s * s.yzwx + {i}.3); vec4 a{i} = s;" for i in range(count)]
    used = [f"s += a{i} * s.wzyx; s = fract(s * a{count - 1 - i}.yxwz);" for i in range(count)]
    return f"vec4 s = texture2D(t, at); {' '.join(statements + used)} gl_FragColor = s;"
