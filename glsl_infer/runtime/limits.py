"""Check of a driver's limits against the needs of a bundle."""

from __future__ import annotations

from glsl_infer.bundle.manifest import Limits
from glsl_infer.errors import LimitError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.limits import NAMES, driver_limits

_SMALLER = "use a model of smaller pictures or fewer channels"
_OTHER_DRIVER = "use another driver or GPU (OpenGL ES 2.0 promises 8)"
_ADVICE = {
    "texture_units": _OTHER_DRIVER,
    "texture_size": _SMALLER,
    "fragment_uniform_vectors": "export the model with --weights baked",
    "varying_vectors": _OTHER_DRIVER,
    "vertex_attributes": _OTHER_DRIVER,
}


def require(needed: Limits, gl: Api) -> None:
    """Refuse a driver whose limits are below the needs of a bundle.

    Raises:
        LimitError: a limit is too small; the message names each.
    """
    offered = driver_limits(gl)
    short = {field: value for field, value in vars(needed).items() if offered[field] < value}
    if short:
        lacks = "; ".join(f"{NAMES[field][1]} is {offered[field]}, the model needs {short[field]}" for field in short)
        advice = ", and ".join(dict.fromkeys(_ADVICE[field] for field in short))
        raise LimitError(f"this GPU ({gl.text(GL.GL_RENDERER)}) is too small for the model: {lacks}; {advice}")
