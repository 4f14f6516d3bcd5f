#!/usr/bin/env python3
"""Test whether this driver imports dma-bufs exactly: export a texture as one, and run a model on both.

    python scripts/bench/dma_buf_round_trip.py [BUNDLE] [--context surfaceless device] [--size 640x480 ...] [--json]

For each kind of context and each size, the output for a texture of noise is compared with those for

    external    the same texture through an EGLImage, as an external texture (EGL_KHR_gl_texture_2D_image)
    dma-buf     the texture's dma-buf by EGL_MESA_image_dma_buf_export, imported again
    changed     the same dma-buf after writing other noise to the texture: nothing of the older frame must remain

All must be equal. The exit code is 1 if one differs, 2 if no context supports the round trip. Needs NumPy, Pillow and
PyOpenGL, and no installed glsl-infer.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_int, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # runs without an installed package, too

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from glsl_infer import DmaBuf, DmaBufPlane, Session, TexturePicture  # noqa: E402
from glsl_infer.cli.execution import Parser, add_debug, execute, picture_size  # noqa: E402
from glsl_infer.errors import ContextError, ImageError, InputError, RunError  # noqa: E402
from glsl_infer.gl import constants as GL  # noqa: E402
from glsl_infer.gl import dma_import, egl, egl_image  # noqa: E402
from glsl_infer.gl.context import WAYS, Context  # noqa: E402
from glsl_infer.gl.dma_buf import MAX_PLANES, fourcc_text  # noqa: E402
from glsl_infer.gl.egl_image import EglImage, ExternalTexture  # noqa: E402
from glsl_infer.gl.objects import RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects  # noqa: E402
from glsl_infer.support.resources import default_model  # noqa: E402

TEXTURE_EXTENSION, EXPORT_EXTENSION = "EGL_KHR_gl_texture_2D_image", "EGL_MESA_image_dma_buf_export"
SIZES = ((640, 480), (257, 257), (101, 77), (1280, 720))
STEPS = ("external", "dma-buf", "changed")

# Names from EGL_KHR_gl_image and EGL_KHR_image_base.
_GL_TEXTURE_2D, _IMAGE_PRESERVED = 0x30B1, 0x30D2

_MOST_PLANES = 4
_INVALID_MODIFIER = (1 << 56) - 1
"""DRM_FORMAT_MOD_INVALID: an unspecified layout."""

_QUERY = ctypes.CFUNCTYPE(c_uint, c_void_p, c_void_p, POINTER(c_int), POINTER(c_int), POINTER(c_uint64))
_EXPORT = ctypes.CFUNCTYPE(c_uint, c_void_p, c_void_p, POINTER(c_int), POINTER(c_int), POINTER(c_int))


def image_refusal(context: Context) -> str | None:
    """Return the reason why a context cannot create EGLImages of its textures, or None."""
    return egl_image.refusal(context, TEXTURE_EXTENSION)


def export_refusal(context: Context) -> str | None:
    """Return the reason why a context cannot export its textures as dma-bufs and import them again, or None."""
    return egl_image.refusal(context, TEXTURE_EXTENSION, EXPORT_EXTENSION, dma_import.EXTENSION)


def noise(width: int, height: int, seed: int) -> NDArray[np.uint8]:
    """Return random texels, uint8 (height, width, 4), alpha included."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 4), np.uint8)


def image_of(texture: int) -> EglImage:
    """Return an EGLImage of a GL_TEXTURE_2D of the current context."""
    return EglImage(_GL_TEXTURE_2D, texture, [_IMAGE_PRESERVED, 1], egl.current())


@contextmanager
def external(context: Context, picture: TexturePicture) -> Iterator[TexturePicture]:
    """Yield an external texture of a picture in a GL_TEXTURE_2D, valid within the block."""
    with ExternalTexture(context.gl, image_of(picture.texture)) as texture:
        yield TexturePicture(texture.name, picture.width, picture.height, external=True)


@contextmanager
def exported(picture: TexturePicture) -> Iterator[DmaBuf]:
    """Yield the dma-buf of a picture in a GL_TEXTURE_2D of the current context; closed after the block.

    Raises:
        RunError: the driver does not export it.
        ImageError: it has more planes than a ``DmaBuf``.
    """
    query = egl.extension_function("eglExportDMABUFImageQueryMESA", _QUERY)
    export = egl.extension_function("eglExportDMABUFImageMESA", _EXPORT)
    display = egl.current_display()
    code, count, modifiers = c_int(), c_int(), (c_uint64 * _MOST_PLANES)()
    fds, strides, offsets = (c_int * _MOST_PLANES)(-1, -1, -1, -1), (c_int * _MOST_PLANES)(), (c_int * _MOST_PLANES)()
    with image_of(picture.texture) as image:
        if not query(display, image.handle, byref(code), byref(count), modifiers):
            raise RunError(f"the driver says nothing of the dma-buf of a texture ({egl.last_error()})")
        if count.value > MAX_PLANES:
            raise ImageError(f"the dma-buf of a texture has {count.value} planes here; {MAX_PLANES} are possible")
        if not export(display, image.handle, fds, strides, offsets):
            raise RunError(f"the driver exports no dma-buf of a texture ({egl.last_error()})")
        if fds[0] < 0:
            raise RunError("the driver says that it exports a dma-buf of a texture, and gives no file descriptor")
    shared = [fd if fd >= 0 else fds[0] for fd in fds[: count.value]]  # -1: the same buffer as the previous plane
    try:
        yield DmaBuf(
            picture.width,
            picture.height,
            fourcc_text(code.value & 0xFFFFFFFF),
            tuple(map(DmaBufPlane, shared, offsets[: count.value], strides[: count.value])),
            None if modifiers[0] == _INVALID_MODIFIER else modifiers[0],
        )
    finally:
        for fd in {fd for fd in fds[: count.value] if fd >= 0}:
            os.close(fd)


def round_trip(session: Session, width: int, height: int) -> dict[str, Any]:
    """Return the size, a description of the ``dma_buf``, and the largest difference of outputs of each possible step.

    The first step is possible if ``image_refusal`` is None, the others if ``export_refusal`` is None.

    Raises:
        RunError, ImageError: the driver does not export or import the texture.
    """
    gl = session.context.gl
    row: dict[str, Any] = {"width": width, "height": height}
    exports = export_refusal(session.context) is None
    session.activate()
    with Objects(gl) as objects:
        name = objects.texture(width, height, noise(width, height, 1).tobytes())
        picture = TexturePicture(name, width, height)
        output = session.run(picture)
        with external(session.context, picture) as shared:
            row["external"] = difference([session.run(shared)], [output])
        if exports:
            gl.Finish()  # another device would wait for the commands
            with exported(picture) as dma_buf:
                row["dma_buf"] = str(dma_buf)
                row["dma-buf"] = difference([session.run(dma_buf), *session.stream([dma_buf] * 3)], [output] * 4)
                second = noise(width, height, 2)
                gl.BindTexture(TEXTURE_2D, name)
                gl.TexSubImage2D(TEXTURE_2D, 0, 0, 0, width, height, RGBA, UNSIGNED_BYTE, second.ctypes.data)
                gl.Finish()
                changed = session.run(picture)
                if np.array_equal(changed, output):
                    raise RunError(f"the output is the same for any noise of {width}x{height}; take another model")
                row["changed"] = difference([session.run(dma_buf)], [changed])
    gl.check("in the round trip")
    return row


def difference(actual: Sequence[NDArray[np.float32]], expected: Sequence[NDArray[np.float32]]) -> float:
    """Return the largest difference of outputs."""
    return max(float(np.abs(values - reference).max()) for values, reference in zip(actual, expected))


def look(interface: str, bundle: Path, sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return the results of one kind of context.

    The keys are the driver, ``refusal`` (None if the round trip is possible), its formats, ``rows``, and ``failure`` if
    a step fails nevertheless.
    """
    try:
        context = Context(interface)
    except ContextError as error:
        return {"context": interface, "refusal": error.reason, "rows": []}
    with context:
        answer: dict[str, Any] = {
            "context": interface,
            "driver": f"{context.gl.text(GL.GL_RENDERER)}, {context.gl.text(GL.GL_VERSION)}, by {context.how}",
            "refusal": export_refusal(context),
            "rows": [],
        }
        if egl.current() is not None and dma_import.MODIFIERS_EXTENSION in egl.display_extensions():
            answer["formats"] = sorted(fourcc_text(code & 0xFFFFFFFF) for code in dma_import.formats())
        if image_refusal(context) is None:
            with Session(bundle, context=context) as session:
                try:
                    for width, height in sizes:
                        answer["rows"].append(round_trip(session, width, height))
                except (ImageError, RunError) as error:
                    answer["failure"] = str(error)
    return answer


def run(args: argparse.Namespace) -> None:
    """Test all kinds of contexts, print the results, and raise an error if one differs."""
    answers = [look(interface, args.bundle, args.size) for interface in args.context]
    if args.json:
        print(json.dumps(answers, indent=1))
    else:
        for answer in answers:
            print(f"{answer['context']}: {answer.get('driver', 'no context')}")
            if "formats" in answer:
                print(f"  imports {', '.join(answer['formats']) or 'formats that it does not list'}")
            for row in answer["rows"]:
                steps = ", ".join(f"{step} {row[step]:g}" for step in STEPS if step in row)
                label = f"{row['width']}x{row['height']}" + (f", {row['dma_buf']}" if "dma_buf" in row else "")
                print(f"  {label}: off by {steps}")
            if answer["refusal"] is not None:
                print(f"  not here: {answer['refusal']}")
            if "failure" in answer:
                print(f"  failed: {answer['failure']}")
    rows = [row for answer in answers for row in answer["rows"]]
    if any(row.get(step) for row in rows for step in STEPS):
        raise RunError("outputs differ that should be equal")
    if any("failure" in answer for answer in answers):
        raise RunError("a driver that says that it can export and import dma-bufs does not")
    if not any("dma-buf" in row for row in rows):
        raise InputError("no context here exports and imports dma-bufs")


def main() -> int:
    """Parse the arguments, run the test, and return the exit code."""
    parser = Parser(description="Compare a model's output for a texture and for its dma-buf.")
    parser.add_argument("bundle", nargs="?", type=Path, default=default_model())
    parser.add_argument("--context", nargs="+", choices=tuple(WAYS), default=["surfaceless", "device"])
    parser.add_argument("--size", nargs="+", type=picture_size, default=SIZES, metavar="WIDTHxHEIGHT")
    parser.add_argument("--json", action="store_true")
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
