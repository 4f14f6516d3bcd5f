"""Exact counts of the work in a frame."""

from __future__ import annotations

from collections.abc import Sized

from glsl_infer.bundle.manifest import Manifest
from glsl_infer.support.records import dataclass


@dataclass(frozen=True)
class Statistics:
    """Exact counts of the work in one frame, without the upload of inputs and the read-back of outputs.

    Attributes:
        passes: draws.
        jobs: changes of render target.
        programs: shader programs in the bundle.
        gl_calls: GL calls between upload and read-back.
        texture_bytes: bytes of all textures, constant ones included; 4 per texel.
    """

    passes: int
    jobs: int
    programs: int
    gl_calls: int
    texture_bytes: int

    @classmethod
    def of(cls, manifest: Manifest, frame: Sized) -> Statistics:
        """Return the counts of a model. ``frame`` holds the calls of one frame."""
        return cls(
            passes=len(manifest.passes),
            jobs=manifest.jobs,
            programs=len(manifest.programs),
            gl_calls=len(frame),
            texture_bytes=sum(4 * texture.width * texture.height for texture in manifest.textures),
        )
