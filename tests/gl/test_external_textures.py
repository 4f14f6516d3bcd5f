"""External textures, which EGL creates from other APIs' memory, give the same results as ordinary textures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from dma_buf_round_trip import external, image_of, image_refusal
from gl_objects import live_object_count
from test_gpu_input import photograph, upload
from tiny import SIZE, tiny_bundle, tiny_picture

from glsl_infer import TexturePicture
from glsl_infer.errors import ImageError
from glsl_infer.gl import egl_image
from glsl_infer.gl.context import Context
from glsl_infer.gl.egl_image import ExternalTexture
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

SIZES = np.random.default_rng(8).integers(1, 300, (12, 2)).tolist()


@pytest.fixture(autouse=True)
def _require_egl_images(context: Context) -> None:
    reason = image_refusal(context)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def session(context: Context) -> Iterator[Session]:
    with Session(tiny_bundle(), context=context) as session:
        yield session


@pytest.mark.parametrize(("width", "height"), [(SIZE, SIZE), (1, 1), (640, 480), *SIZES])
def test_the_same_result_as_of_a_texture(context: Context, session: Session, width: int, height: int) -> None:
    with Objects(context.gl) as objects:
        picture = upload(context, objects, photograph(width, height, seed=width), alpha=7)
        with external(context, picture) as shared:
            output = session.run(shared)
            pixels = session.input_pixels()
            np.testing.assert_array_equal(output, session.run(picture))
            np.testing.assert_array_equal(pixels, session.input_pixels())
    assert len(np.unique(pixels)) > 2 or width * height < 4, "the picture is not empty"


def test_all_kinds_of_input_alternate_in_a_stream(context: Context, session: Session) -> None:
    with Objects(context.gl) as objects:
        picture = upload(context, objects, photograph(31, 17))
        with external(context, upload(context, objects, photograph(50, 60, 1))) as shared:
            kinds = [shared, tiny_picture(0), picture, photograph(40, 50), shared, photograph(3, 4)]
            alone = [session.run(kind) for kind in kinds]
            np.testing.assert_array_equal(list(session.stream(kinds * 2)), alone * 2)


def test_external_shaders_are_compiled_on_first_use(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as fresh, Objects(context.gl) as objects:
        with external(context, upload(context, objects, photograph(40, 30))) as shared:
            fresh.run(photograph(40, 30))
            with context.gl.counting() as counts:
                fresh.run(shared)
                fresh.run(shared)
        assert counts["glLinkProgram"] == 1


def test_the_session_leaves_the_texture_to_its_owner(context: Context, session: Session) -> None:
    with Objects(context.gl) as objects:
        with external(context, upload(context, objects, photograph(40, 30))) as shared:
            for _ in range(3):
                session.run(shared)
            assert context.gl.IsTexture(shared.texture)
        with pytest.raises(ImageError, match="is not a texture of this session's context"):
            session.run(shared)


def test_a_texture_outlives_its_closed_image(context: Context, session: Session) -> None:
    with Objects(context.gl) as objects:
        picture = upload(context, objects, photograph(40, 30))
        image = image_of(picture.texture)
        with ExternalTexture(context.gl, image) as texture:
            image.close()
            shared = TexturePicture(texture.name, 40, 30, external=True)
            np.testing.assert_array_equal(session.run(shared), session.run(picture))


def test_an_invalid_texture_name_is_refused_by_egl(context: Context) -> None:
    with pytest.raises(ImageError, match="EGL_BAD_"):
        image_of(4711)


def test_a_closed_image_is_refused_by_gl(context: Context) -> None:
    before = live_object_count(context.gl)
    with Objects(context.gl) as objects:
        image = image_of(objects.texture(4, 4))
        image.close()  # the handle is now invalid
        with pytest.raises(ImageError, match="OpenGL error 0x50"):
            ExternalTexture(context.gl, image)
    assert live_object_count(context.gl) == before


def test_missing_extensions_are_named(context: Context) -> None:
    reason = egl_image.refusal(context, "EGL_EXT_that_nobody_has", "EGL_EXT_nor_this")
    assert reason is not None
    assert reason.endswith("has no EGL_EXT_that_nobody_has and no EGL_EXT_nor_this")
    assert egl_image.refusal(context) is None
