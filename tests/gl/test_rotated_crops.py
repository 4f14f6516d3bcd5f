"""Rotated crops by a shader match NumPy, take one pass, and read no pixel back to the CPU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle
from red_squares import folder_of_tasks, picture
from test_gpu_input import inside, photograph, upload
from tiny import SIZE, tiny_bundle

from glsl_infer.errors import ImageError
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.pictures.picture_input import TurnedPicture
from glsl_infer.runtime.pictures.turning import MOST_TAPS, taps
from glsl_infer.runtime.session import Session
from glsl_infer.tasks import Cut, Landmarker, cuts

CUTS = [
    Cut(50, 40, SIZE, SIZE),
    Cut(50.3, 40.7, 31, 57, 0.7),
    Cut(10, 5, 90, 90, -2.0),
    Cut(60, 50, 290, 280, 0.1),
    Cut(3, 97, 5, 5, 1.0),
    Cut(30, 30, 7, 61, math.pi / 2),
]


@pytest.fixture(scope="module")
def session(context: Context) -> Iterator[Session]:
    with Session(tiny_bundle(), context=context) as session:
        yield session


def expected(pixels: np.ndarray, cut: Cut) -> np.ndarray:
    """Return the expected crop: each pixel is the mean of bilinear samples on a grid."""
    height, width = pixels.shape[:2]
    origin, across, down = cut.to_picture(np.array([[0, 0], [1 / SIZE, 0], [0, 1 / SIZE]]))
    samples = taps(tuple(across - origin), tuple(down - origin))  # along each side of a pixel
    steps = (np.arange(SIZE * samples) + 0.5) / samples / SIZE
    x, y = cut.to_picture(np.stack(np.meshgrid(steps, steps), axis=2).reshape(-1, 2)).T - 0.5
    x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
    left, top = x.astype(int), y.astype(int)
    right, below = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    right_share, lower_share, values = (x - left)[:, None], (y - top)[:, None], pixels.astype(np.float64)
    upper_row = values[top, left] * (1 - right_share) + values[top, right] * right_share
    lower_row = values[below, left] * (1 - right_share) + values[below, right] * right_share
    read = upper_row * (1 - lower_share) + lower_row * lower_share
    return read.reshape(SIZE, samples, SIZE, samples, -1).mean(axis=(1, 3))


@pytest.mark.drivers("all")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut.width}x{cut.height}")
def test_a_crop_equals_numpy(context: Context, session: Session, cut: Cut) -> None:
    pixels = photograph(120, 100)
    with Objects(context.gl) as objects:
        session.run(cut.of(upload(context, objects, pixels)))
        error = np.abs(inside(session)[..., :3] - expected(pixels, cut))
    assert error.max() < 2 and error.mean() < 0.6
    assert (inside(session)[..., 3] == 255).all()


@pytest.mark.drivers("all")
def test_shrinking_is_true_to_area(context: Context, session: Session) -> None:
    lines = np.zeros((300, 300, 3), np.uint8)
    lines[::2] = 255  # skipped texels would show
    with Objects(context.gl) as objects:
        texture = upload(context, objects, lines)
        for angle in (0.0, 0.4, math.pi / 2):
            session.run(Cut(150, 150, 4.5 * SIZE, 4.5 * SIZE, angle).of(texture))
            assert inside(session)[..., :3].astype(float).mean() == pytest.approx(127.5, abs=4)
            assert inside(session)[..., :3].std() < 20
    assert taps((4.5, 0.0), (0.0, 4.5)) == 5
    assert taps((0.1, 0.0), (0.0, 0.1)) == 1
    assert taps((99.0, 0.0), (0.0, 99.0)) == MOST_TAPS


@pytest.mark.drivers("all")
def test_rotated_regions_are_near_those_of_the_cpu(context: Context, session: Session) -> None:
    smooth = np.asarray(np.add.outer(np.arange(240) // 2, np.arange(320) // 3)[..., None] * [1, 0.5, 0.7], np.uint8)
    for cut in (Cut(160, 120, 100, 100, 0.3), Cut(100, 100, 40, 40, -0.2)):
        with Objects(context.gl) as objects:
            session.run(cut.of(upload(context, objects, smooth)))
            error = np.abs(inside(session)[..., :3].astype(int) - cuts.pixels_of(smooth, cut, SIZE, SIZE))
        assert error.max() <= 3


@pytest.mark.drivers("all")
def test_a_cut_of_a_colour_picture_is_grey_for_a_grey_input(context: Context) -> None:
    rng = np.random.default_rng(0)
    nodes = [input_node(SIZE, 1), conv_node(rng, "a", ("image",), 1, 4)]
    with Session(make_bundle(classifier(rng, nodes, 4)), context=context) as grey, Objects(context.gl) as objects:
        pixels, cut = photograph(60, 50), Cut(30, 25, 40, 40, 0.5)
        grey.run(cut.of(upload(context, objects, pixels)))
        result = inside(grey)[..., 0]
        reference_output = expected(pixels, cut) @ np.array([19595, 38470, 7471]) / 65536
        assert np.abs(result - reference_output).max() < 2


@pytest.mark.drivers("all")
def test_infinite_and_nan_corners_are_refused(context: Context, session: Session) -> None:
    with Objects(context.gl) as objects:
        texture = upload(context, objects, photograph(30, 20))
        with pytest.raises(ImageError, match="give finite numbers"):
            session.run(TurnedPicture(texture, ((0.0, 0.0), (math.nan, 0.0), (0.0, 5.0))))


def test_a_followed_frame_is_uploaded_once(context: Context, tmp_path: Path) -> None:
    folder = folder_of_tasks(tmp_path)
    frames = [picture(128, 128, (24, 24, 16), (88 + k, 104 - k, 16)) for k in range(4)]
    with Landmarker(folder / "sides.json", context=context) as sides:
        for frame in frames[:2]:  # the first is detected, the second followed; textures are created
            assert len(sides.follow(frame)) == 2
        detections = sides.detections
        with context.gl.counting() as counts:
            assert len(sides.follow(frames[2])) == 2
        assert sides.detections == detections
        assert counts["glTexSubImage2D"] == 1  # the frame; neither of its two crops
        assert counts.get("glTexImage2D", 0) == 0
        reads = sum(count for name, count in counts.items() if name == "glReadPixels")
        assert reads == 2 * len(sides.session.bundle.manifest.outputs)  # the points, and nothing of the image
