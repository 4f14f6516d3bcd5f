"""Does this driver compute what it should? A bundle's probe, run through a session layer by layer and as a frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops, probe
from glsl_infer.errors import SelfCheckError
from glsl_infer.gl import constants as GL
from glsl_infer.layout import textures_of
from glsl_infer.ops.operator import ViewOperator

if TYPE_CHECKING:
    from glsl_infer.session import Session

_REPORT = "please report it with the output of 'glsl-infer info'"


def check(session: Session) -> tuple[probe.LayerError, ...]:
    """Run the probe through all layers of a session and return every layer's error.

    Raises:
        SelfCheckError: naming the first layer that is further off than its tolerance.
    """
    manifest, members = session.bundle.manifest, session.bundle.members
    session.upload(probe.picture(manifest.input.size))
    errors = tuple(
        probe.compare(manifest.probe, members[manifest.probe.member], _layers(session), session.bundle.values)
    )
    for error in errors:
        if not error.passed:
            renderer = session.context.gl.text(GL.GL_RENDERER)
            raise SelfCheckError(
                f"layer '{error.layer}' comes out wrong on this driver ({renderer}): off by up to {error.worst:g} "
                f"({error.mean:.2f} in the mean), where {error.allowed.max_error:g} "
                f"({error.allowed.mean_error:.2f} in the mean) is tolerated; {_REPORT}"
            )
    _check_whole_frame(session)
    return errors


def _layers(session: Session) -> Iterator[tuple[str, dict[str, NDArray[np.uint8]]]]:
    """Draw layer by layer and yield each one's textures by name."""
    for layer in session.bundle.manifest.model.layers:
        if layer.op != "input" and not isinstance(ops.get(layer.op), ViewOperator):
            session.draw_layer(layer.name)
            yield layer.name, {name: session.read_texture(name) for name in textures_of(layer.output)}


def _check_whole_frame(session: Session) -> None:
    """Run the probe as one frame, which replays other calls than layer by layer, and check the result."""
    manifest = session.bundle.manifest
    before = session.read_back()
    output = session.run(probe.picture(manifest.input.size))
    logits = np.asarray(manifest.probe.logits, np.float32)
    off = float(np.abs(output - (logits if logits.size else before)).max())
    if not off <= manifest.probe.max_error:
        raise SelfCheckError(
            f"every layer comes out right, but the output of a whole frame is off by {off:g}, where "
            f"{manifest.probe.max_error:g} is tolerated; {_REPORT}"
        )
