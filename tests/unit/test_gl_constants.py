"""The engine's OpenGL constants equal PyOpenGL's."""

from __future__ import annotations

import os

os.environ.setdefault("PYOPENGL_PLATFORM", "egl")

from OpenGL.raw.GLES2.VERSION import GLES2_2_0 as theirs

from glsl_infer.gl import constants


def test_constants_equal_those_of_pyopengl() -> None:
    own = {name: value for name, value in vars(constants).items() if name.startswith("GL_")}
    assert len(own) > 40
    assert own == {name: int(getattr(theirs, name)) for name in own}
