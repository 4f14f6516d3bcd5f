"""Sessions: results, errors, several at once, and closing without leaks."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from gl_objects import living
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.errors import ContextError, ImageError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.gl.limits import describe
from glsl_infer.graph import Graph, reference
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


@pytest.fixture(scope="module")
def made() -> Bundle:
    rng = np.random.default_rng(0)
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 12, kernel=(3, 3), padding=(1, 1, 1, 1)),
        conv_node(rng, "body", ("stem",), 12, 12, kernel=(3, 3), groups=3, padding=(1, 1, 1, 1)),
    ]
    return make_bundle(classifier(rng, body, 12, classes=5), "uniform")


def picture(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (9, 9, 3), np.uint8)


def test_logits_are_the_references(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as session:
        for seed in range(3):
            logits = session.run(picture(seed))
            assert logits.dtype == np.float32
            assert logits.shape == (5,)
            np.testing.assert_allclose(logits, reference.run(made, picture(seed)), atol=0.05)


def test_the_same_picture_gives_the_same_logits_after_others(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as session:
        first = session.run(picture(0))
        assert not np.array_equal(session.run(picture(1)), first)
        assert np.array_equal(session.run(picture(0)), first)


def test_layers_yields_every_layer_with_the_references_values(context: Context, made: Bundle) -> None:
    expected = dict(reference.layers(made, picture()))
    with Session(made, context=context) as session:
        given = dict(session.layers(picture()))
    assert list(given) == list(expected)
    for name, value in given.items():
        assert value.shape == expected[name].shape
        if made.graph.by_name[name].op == "conv2d":
            assert np.abs(value - expected[name]).max() <= 3 / 255


def test_layers_can_be_mixed_with_other_calls(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as one, Session(made, context=context) as other:
        expected = dict(one.layers(picture()))
        for name, value in one.layers(picture()):
            other.run(picture(1))
            np.testing.assert_array_equal(value, expected[name])


@pytest.mark.parametrize(
    "image",
    [np.zeros((9, 9, 3)), np.zeros((9, 9, 4), np.uint8), np.zeros((9, 0, 3), np.uint8), [[1]], None],
    ids=["float", "rgba", "empty", "list", "none"],
)
def test_wrong_pictures_are_refused(context: Context, made: Bundle, image: object) -> None:
    with Session(made, context=context) as session, pytest.raises(ImageError, match=r"uint8 \(9, 9, 3\)"):
        session.run(image)  # type: ignore[arg-type]


def test_wrong_layer_arguments_are_refused(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as session:
        with pytest.raises(InputError, match="no layer 'nope'; there are: stem"):
            session.run_layer("nope", [])
        with pytest.raises(InputError, match="has 1 inputs"):
            session.run_layer("body", [])
        with pytest.raises(InputError, match=r"give numbers of shape \(9, 9, 12\)"):
            session.run_layer("body", [np.zeros((9, 9, 4))])


def test_closing_frees_every_gl_object(made: Bundle) -> None:
    with Context() as fresh:  # a new context numbers its objects from 1
        before = living(fresh.gl)
        session = Session(made, context=fresh, selfcheck=True)
        session.run(picture())
        assert living(fresh.gl) > before + 10
        session.close()
        session.close()
        assert living(fresh.gl) == before
        with pytest.raises(RunError, match="closed"):
            session.run(picture())


def test_a_failed_start_frees_everything_too(context: Context, made: Bundle) -> None:
    broken = dict(made.members)
    fragment = made.manifest.programs[-1].fragment
    broken[fragment] = b"void main() { nonsense; }\n"
    with pytest.raises(RunError, match=r"layer 'dense'.*refuses the fragment shader(.|\n)*nonsense"):
        Session(Bundle(made.manifest, broken), context=context)
    context.make_current()
    assert not any(context.gl.IsTexture(name) for name in range(1, 500))


def test_two_sessions_in_two_contexts_take_turns(made: Bundle) -> None:
    with Session(made) as one, Session(made) as other:
        assert np.array_equal(one.run(picture(0)), other.run(picture(0)))
        assert np.array_equal(one.run(picture(1)), other.run(picture(1)))


def test_two_sessions_share_a_context(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as one, Session(made, context=context) as other:
        first = one.run(picture(0))
        other.run(picture(1))
        assert np.array_equal(one.run(picture(0)), first)


def test_describing_the_driver_does_not_disturb_a_session(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as session:
        before = session.run(picture(0))
        describe(context)
        assert np.array_equal(session.run(picture(0)), before)


def test_another_thread_gets_a_clear_error(made: Bundle) -> None:
    errors: list[BaseException] = []

    def use(session: Session) -> None:
        try:
            session.run(picture())
        except ContextError as error:
            errors.append(error)

    with Session(made) as session:
        session.run(picture())
        thread = threading.Thread(target=use, args=(session,))
        thread.start()
        thread.join()
    assert "give each thread its own Session" in str(errors[0])


def test_statistics_count_the_frame(context: Context, made: Bundle) -> None:
    with Session(made, context=context) as session:
        counts = session.statistics()
    assert counts.passes == 3 + 3 + 2 + 1
    assert counts.jobs == 4
    assert counts.programs == len(made.manifest.programs)
    assert counts.texture_bytes == sum(4 * t.width * t.height for t in made.manifest.textures)
    # Each job binds and clears, each pass draws, and programs and textures change a few times.
    assert 2 * counts.jobs + counts.passes < counts.gl_calls < 80


def test_a_model_that_makes_images_is_no_classifier(context: Context) -> None:
    rng = np.random.default_rng(0)
    image = make_bundle(Graph("g", (input_node(5), conv_node(rng, "c", ("image",), 3, 3)), "c"))
    with pytest.raises(InputError, match="makes no classes and has no labels; use 'glsl-infer run'"):
        Classifier(image, context=context)
