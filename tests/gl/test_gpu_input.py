"""Images of any size, cropped and scaled by shaders: the result of ``preprocess`` within 2 of 255."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gl_objects import live_object_count
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle
from pairwise import each_of
from PIL import Image
from tiny import SIZE, tiny_bundle, tiny_picture

from glsl_infer import TexturePicture
from glsl_infer.errors import ImageError
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

TOLERANCE = 2
"""Largest error of a scaled pixel in steps of 1/255, on any driver."""

LARGER = [(10, 9), (9, 10), (10, 10), (13, 29), (18, 18), (27, 27), (64, 48), (101, 77), (640, 480), (1023, 1500)]
SMALLER = [(1, 1), (1, 5), (2, 2), (3, 40), (8, 8), (8, 9)]


def photograph(width: int, height: int, seed: int = 0) -> np.ndarray:
    """Return an image with both smooth parts and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    smooth = [127 + 90 * np.sin(x / (7 + k) + y / (11 - k)) for k in range(3)]
    return np.clip(np.stack(smooth, axis=2) + rng.normal(0, 40, (height, width, 3)), 0, 255).astype(np.uint8)


def expected(picture: np.ndarray, size: int = SIZE) -> np.ndarray:
    return preprocess.to_square(Image.fromarray(picture), size)


def texels(session: Session) -> np.ndarray:
    """Return the contents of the session's input texture, gutters and alpha included."""
    return session.gpu_executors[0]._transfers.read_texture(
        session.bundle.manifest.input.textures[0], session.gpu_executors[0]._handles
    )


def inside(session: Session) -> np.ndarray:
    return within(session, texels(session))


def within(session: Session, texture: np.ndarray) -> np.ndarray:
    """Return the image's part of the input texture."""
    model_input = session.bundle.manifest.input
    view = model_input.value.views[0]
    return texture[view.y : view.y + model_input.height, view.x : view.x + model_input.width]


def largest_difference(result: np.ndarray, expected: np.ndarray) -> int:
    return int(np.abs(result.astype(int) - expected.astype(int)).max())


@pytest.fixture(scope="module")
def session(context: Context) -> Iterator[Session]:
    with Session(tiny_bundle(), context=context) as session:
        yield session


def upload(context: Context, objects: Objects, picture: np.ndarray, alpha: int = 255) -> TexturePicture:
    """Return an image in a texture, as from a camera."""
    height, width = picture.shape[:2]
    data = np.full((height, width, 4), alpha, np.uint8)
    data[..., :3] = picture
    context.make_current()
    return TexturePicture(objects.texture(width, height, data.tobytes()), width, height)


@pytest.mark.parametrize(("width", "height"), LARGER + SMALLER)
def test_a_picture_of_any_size(session: Session, width: int, height: int) -> None:
    picture = photograph(width, height)
    session.upload(picture)
    result = inside(session)
    assert largest_difference(result[..., :3], expected(picture)) <= TOLERANCE
    assert (result[..., 3] == 255).all()


def test_a_picture_of_the_network_s_size_is_not_scaled(session: Session) -> None:
    session.upload(photograph(40, 40))
    session.upload(tiny_picture(5))
    np.testing.assert_array_equal(session.input_pixels(), tiny_picture(5))


@each_of(
    ("size", [32, 129]), ("width, height", [(130, 140), (129, 300), (257, 258), (31, 33), (128, 500), (1280, 720)])
)
def test_networks_of_other_sizes(context: Context, size: int, width: int, height: int) -> None:
    rng = np.random.default_rng(0)
    body = [input_node(size), conv_node(rng, "stem", ("image",), 3, 4, kernel=(3, 3), strides=(2, 2))]
    picture = photograph(width, height)
    with Session(make_bundle(classifier(rng, body, 4)), context=context) as session:
        session.upload(picture)
        assert largest_difference(inside(session)[..., :3], expected(picture, size)) <= TOLERANCE


def test_the_shape_of_the_errors_is_one_of_rounding(session: Session) -> None:
    errors = []
    for seed in range(5):
        picture = photograph(71, 90, seed)
        session.upload(picture)
        errors.append(inside(session)[..., :3].astype(int) - expected(picture))
    assert abs(np.mean(errors)) < 0.25, "no drift to the dark or the bright"
    assert np.mean(np.array(errors) == 0) > 0.5, "most pixels are exact"


def test_the_texture_around_the_picture_stays_zero(context: Context) -> None:
    rng = np.random.default_rng(0)
    stem = conv_node(rng, "stem", ("image",), 3, 4, kernel=(5, 5), padding=(2, 2, 2, 2))
    with Session(make_bundle(classifier(rng, [input_node(9), stem], 4)), context=context) as session:
        before = texels(session)
        session.upload(photograph(50, 40))
        pixels = texels(session)
        assert pixels.shape == before.shape
        within(session, pixels)[:] = 0
        assert not pixels.any()


@each_of(("value", [0, 1, 127, 254, 255]), ("width", [5, 50]))
def test_one_colour_stays_one_colour(session: Session, value: int, width: int) -> None:
    session.upload(np.full((40, width, 3), value, np.uint8))
    assert (inside(session)[..., :3] == value).all()


def test_cropping_alone_is_exact(session: Session) -> None:
    for picture in (photograph(SIZE, 21), photograph(30, SIZE)):
        session.upload(picture)
        np.testing.assert_array_equal(inside(session)[..., :3], expected(picture))


def test_the_output_is_that_of_the_scaled_picture(session: Session) -> None:
    for picture in (photograph(200, 120), photograph(4, 6)):
        output = session.run(picture)
        np.testing.assert_array_equal(output, session.run(inside(session)[..., :3]))


def test_pictures_of_all_kinds_take_turns(context: Context, session: Session) -> None:
    with Objects(context.gl) as objects:
        textured = upload(context, objects, photograph(31, 17))
        kinds = [tiny_picture(0), photograph(40, 50), textured, photograph(40, 40), tiny_picture(1), photograph(3, 4)]
        alone = [session.run(kind) for kind in kinds]
        assert len({output.tobytes() for output in alone}) == len(kinds)
        np.testing.assert_array_equal([session.run(kind) for kind in kinds], alone)
        np.testing.assert_array_equal(list(session.stream(kinds * 2)), alone * 2)


def test_layers_of_a_scaled_picture(session: Session) -> None:
    picture = photograph(60, 50)
    output = session.run(picture)
    np.testing.assert_array_equal(dict(session.layers(picture))["dense"], output)


@pytest.mark.parametrize(("width", "height"), [(57, 31), (9, 9), (2, 7), (7, 2), (40, 5), (300, 301)])
def test_a_texture_gives_the_result_of_its_pixels(context: Context, session: Session, width: int, height: int) -> None:
    picture = photograph(width, height)
    with Objects(context.gl) as objects:
        output = session.run(upload(context, objects, picture, alpha=3))
        assert largest_difference(inside(session)[..., :3], expected(picture)) <= TOLERANCE
        np.testing.assert_array_equal(output, session.run(picture))


def test_a_texture_can_change_during_its_frame(context: Context, session: Session) -> None:
    pictures = [photograph(30, 20, seed) for seed in range(4)]
    alone = [session.run(picture) for picture in pictures]
    with Objects(context.gl) as objects:

        def camera() -> Iterator[TexturePicture]:
            texture = upload(context, objects, pictures[0])
            yield texture
            for picture in pictures[1:]:
                data = np.dstack([picture, np.zeros(picture.shape[:2], np.uint8)])
                context.gl.BindTexture(0x0DE1, texture.texture)
                context.gl.TexSubImage2D(0x0DE1, 0, 0, 0, 30, 20, 0x1908, 0x1401, data.ctypes.data)
                yield texture

        np.testing.assert_array_equal(list(session.stream(camera())), alone)


def test_invalid_textures_are_refused(context: Context, session: Session) -> None:
    before = session.run(tiny_picture(0))
    with pytest.raises(ImageError, match="4711 is not a texture of this session's context"):
        session.run(TexturePicture(4711, 20, 20))
    for width, height in ((0, 5), (5, -1), (1 << 20, 5)):
        with pytest.raises(ImageError, match=f"a texture of {width} x {height}; this GPU has them from 1 x 1 to"):
            session.run(TexturePicture(1, width, height))
    np.testing.assert_array_equal(session.run(tiny_picture(0)), before)


def test_a_picture_that_no_texture_holds_is_scaled_by_the_cpu(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.gpu_executors[0]._inputs.pictures["image"], "_limit", 39)
    for width, height, tolerance in ((40, 41, 0), (39, 900, TOLERANCE)):
        picture = photograph(width, height)
        session.upload(picture)
        difference = largest_difference(inside(session)[..., :3], expected(picture))
        assert difference <= tolerance


def test_repeated_frames_create_no_gl_objects(context: Context, session: Session) -> None:
    session.run(photograph(60, 44))
    session.run(photograph(60, 44))
    with context.gl.counting() as counts:
        session.run(photograph(60, 44, 1))
    creations = [name for name in counts if name.startswith(("glGen", "glCreate", "glDelete", "glTexImage", "glLink"))]
    assert creations == []
    assert "glGetError" not in counts
    assert counts["glDrawArrays"] == 2, "besides those that were recorded"


def test_closing_frees_every_gl_object() -> None:
    with Context() as fresh:  # a new context numbers its objects from 1
        driver_of(fresh).device_lines  # noqa: B018  (measured once, with objects of its own)
        before = live_object_count(fresh.gl)
        with Session(tiny_bundle(), context=fresh) as session:
            for width in (20, 30, 5):
                session.run(photograph(width, 40))
        assert live_object_count(fresh.gl) == before
