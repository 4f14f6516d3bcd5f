"""The error on images outside the calibration set: its cause, its layers, and the tested remedy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from graphs import input_node
from numpy.typing import NDArray

from glsl_infer.cli import main
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.ranges import PreparedGraph, sensitivity, unseen, varied
from glsl_infer.compiler.ranges.unseen import UnseenError
from glsl_infer.graph import Graph, GraphOutput, Node, host_steps, reference
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.purposes import VALUES
from glsl_infer.support.progress import no_progress
from glsl_infer.tools.export_report import ExportReport
from glsl_infer.tools.remedies import measured

SIDE = 16
NEUTRAL = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def convolution(name: str, source: str, kernel: object, bias: object, activation: str) -> Node:
    weights = {"kernel": np.array(kernel, np.float32)[None, None], "bias": np.array(bias, np.float32)}
    return Node(name, "conv2d", (source,), {"activation": activation}, weights)


def network(*layers: Node) -> Graph:
    return Graph("test", [input_node(SIDE), *layers], [GraphOutput("numbers", (layers[-1].name,), (), VALUES)])


def images(*brightest: int) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, most + 1, (SIDE, SIDE, 3)).astype(np.uint8) for most in brightest]


def exported(graph: Graph, calibration: list[NDArray[np.uint8]], precision: str) -> tuple[PreparedGraph, UnseenError]:
    options = Options(precision=precision)
    built = build(graph, (), options=options, calibration=calibration)
    return built.gpu[0].prepared, measured(built, (), options, calibration, no_progress)


def clipping() -> Graph:
    """Return a network whose last channel alone is not 0 for dark images; bright images make the others far larger."""
    kernel = [[1, 0, 0, 0.02], [0, 1, 0, 0.02], [0, 0, 1, 0.02]]
    return network(
        convolution("threshold", "image", kernel, [-0.6, -0.6, -0.6, 0.01], "relu"),
        convolution("mixed", "threshold", [[1, 0.5], [0.5, 1], [1, 1], [1, 1]], [0, 0], "linear"),
    )


def rounding(*before: Node) -> Graph:
    """Return a network whose signal is a hundredth of the range of the layer that adds an offset."""
    source = before[-1].name if before else "image"
    return network(
        *before,
        convolution("offset", source, 0.1 * np.array(NEUTRAL), [10, 10, 10], "relu"),
        convolution("signal", "offset", 10.0 * np.array(NEUTRAL), [-100, -100, -100], "linear"),
    )


def test_a_network_that_must_clip_is_found_with_its_layer() -> None:
    _, result = exported(clipping(), images(60, 60, 60, 255), "8")
    assert result.held_out and result.images == 12
    assert result.worst.output == "numbers" and result.worst.cause == "clipping" and not result.worst.is_small
    assert result.worst.clipped > 5.0 * result.worst.rounded
    assert result.losing("clipping")[0].layer == "threshold"
    (warning,) = unseen.unseen_warnings(result)
    assert "mostly by clipping" in warning and "'threshold'" in warning
    assert result.remedies[-1].helps and f"with {result.remedies[-1].change}, the difference is" in warning


def test_the_remedy_with_more_images_does_not_rely_on_bits_that_auto_chose_because_of_clipping() -> None:
    prepared, result = exported(clipping(), images(60, 60, 60, 255), "auto")
    assert prepared.spent is not None and (prepared.spent.times or 0.0) > sensitivity.MOST_COST
    assert result.worst.cause == "clipping" and not result.worst.is_small
    remedy = result.remedies[-1]
    assert remedy.helps and remedy.change.startswith("--precision 16 --weight-bits 16 --images")
    _, better = exported(clipping(), images(60, 255, 60, 255, 60, 255, 60, 255), "16")
    assert better.worst.is_small


def test_a_network_that_must_round_is_found_with_its_layer_and_the_remedy_works() -> None:
    _, result = exported(rounding(), images(255, 255, 255), "8")
    assert result.worst.cause == "rounding" and not result.worst.is_small
    assert result.losing("rounding")[0].layer == "offset"
    (warning,) = unseen.unseen_warnings(result)
    assert (
        "mostly by rounding" in warning
        and "'offset'" in warning
        and "with --precision 16, the difference is" in warning
    )
    (tried,) = [remedy for remedy in result.remedies if remedy.change == "--precision 16"]
    _, better = exported(rounding(), images(255, 255, 255), "16")
    assert tried.helps and tried.time > 1.0
    assert better.worst.is_small and better.worst.error == pytest.approx(tried.error)


def test_auto_spends_until_the_outputs_are_of_use() -> None:
    """auto spends more than an eighth of the network's work, most of which is in the layers before ``offset``."""
    rng = np.random.default_rng(1)
    wide, narrow = rng.normal(0, 0.3, (3, 24)), rng.normal(0, 0.2, (24, 3))
    before = (
        convolution("wide", "image", wide, np.zeros(24), "relu"),
        convolution("narrow", "wide", narrow, np.zeros(3), "relu"),
    )
    bundle, result = exported(rounding(*before), images(255, 255, 255), "auto")
    assert bundle.spent is not None and bundle.spent.times is not None
    assert sensitivity.MOST_COST < bundle.spent.times <= sensitivity.FAR_DRAWS
    assert all(output.is_small for output in result.outputs)
    assert not unseen.unseen_warnings(result) and not result.remedies
    assert "offset" in {choice.layer for choice in bundle.precision}


def test_images_that_chose_the_ranges_show_no_clipping() -> None:
    """An error measured on the calibration images shows no clipping, so it does not predict other images."""
    prepared, held_out = exported(clipping(), images(60, 60, 255), "8")
    without_held_out = unseen.of_graph(prepared.graph, images(60, 60, 255), 0).errors(unseen.OnGpu(prepared.graph, ()))
    assert not without_held_out.held_out and without_held_out.worst.clipped < 0.1 * held_out.worst.clipped


def with_error(error: float) -> UnseenError:
    output = unseen.OutputError("boxes", error, 0.8 if error > 0.05 else 0.999, error, 0.001, error / 0.05)
    loss = unseen.LayerLoss("stem", 0.3, 0.0)
    return UnseenError((output,), (loss,), 4, held_out=True)


@pytest.mark.parametrize(("error", "code"), [(0.2, 1), (0.01, 0)])
def test_strict_fails_on_a_large_error_and_the_report_names_it(
    error: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    totals = dict.fromkeys(("passes", "jobs", "programs", "texture_bytes", "file_bytes", "slice_bytes"), 1)
    result = with_error(error)
    report = ExportReport((), (), (), (), unseen.unseen_warnings(result), totals, unseen=(result,))
    monkeypatch.setattr("glsl_infer.tools.export.export", lambda *_, **__: report)
    command = ["export", "model.keras", "-o", str(tmp_path / "model.glslnn"), "--strict"]
    assert main([*command, "--json"]) == code
    printed = capsys.readouterr()
    (output_report,) = json.loads(printed.out)["unseen"]
    assert output_report["outputs"][0]["error"] == error and output_report["layers"][0]["layer"] == "stem"
    assert ("warning: output 'boxes' differs" in printed.err) == bool(code)
    assert ("--strict: " in printed.err and "'boxes'" in printed.err) == bool(code)
    assert main(command) == code
    assert capsys.readouterr().out.splitlines()[1].startswith("accuracy: output 'boxes' differs ")
    assert main(command[:-1]) == 0


@pytest.mark.parametrize("images", [4, 12, 40])
def test_the_bound_holds_for_95_percent_of_other_images(images: int) -> None:
    rng = np.random.default_rng(images)
    errors = np.exp(rng.normal(-2.0, 0.8, (4000, images + 1)))
    beyond = [unseen.bound_of(row[:-1], [1.0] * images, images) < row[-1] for row in errors]
    assert np.mean(beyond) == pytest.approx(1.0 - unseen.SHARE, abs=0.02)


def test_one_image_of_40_with_a_large_error_does_not_decide() -> None:
    ordinary = [0.1, 0.2, 0.05, 0.15] * 10
    assert unseen.bound_of([*ordinary[1:], 2.0], [1.0] * 40, 40) < 1.0
    assert unseen.bound_of([*ordinary[5:], *[2.0] * 5], [1.0] * 40, 40) > 1.0
    assert unseen.bound_of([0.2, 2.0], [39.0, 1.0], 40) == pytest.approx(
        unseen.bound_of([*[0.2] * 39, 2.0], [1.0] * 40, 40)
    )
    assert unseen.bound_of([*ordinary[2:], 2.0, 3.0], [1.0] * 40, 40) == pytest.approx(2.0)  # 1 of 20
    exact = unseen.bound_of([1e-9] * 20 + [1e-3] * 20, [1.0] * 40, 40)
    assert exact == pytest.approx(unseen.EXACT)  # differences between exact images do not count


def test_a_warning_about_few_images_that_differ_explains_the_bound() -> None:
    output = unseen.OutputError("boxes", 0.02, 0.995, 0.02, 0.001, 3.0, few=True)
    loss = unseen.LayerLoss("stem", 0.3, 0.0)
    (warning,) = unseen.unseen_warnings(UnseenError((output,), (loss,), 12, held_out=True))
    assert "that 1 of 20 can exceed 5 % or a cosine similarity of 0.99" in warning
    assert "on 12 images (your images and altered copies) not used for the ranges" in warning
    assert warning.endswith("give --images with 16 or more images, as varied as those that the network will get")
    assert "can exceed" not in unseen.unseen_warnings(with_error(0.2))[0]


def test_copies_reach_further_than_a_flat_image() -> None:
    image = np.full((4, 4, 3), (100, 120, 90), np.uint8)
    image[0, 0] = 200
    assert varied.with_contrast(image).max() > 240 and varied.with_contrast(image).dtype == np.uint8
    assert varied.in_bright_colours(image).mean() > image.mean() + 30


def test_variants_of_few_images_show_clipped_layers() -> None:
    """Three similar images: only their negatives exceed the ranges."""
    _, result = exported(clipping(), images(60, 60, 60), "8")
    assert result.worst.few and result.worst.cause == "clipping" and not result.worst.is_small
    assert "threshold" in {loss.layer for loss in result.losing("clipping")}
    _, many = exported(clipping(), images(*[60] * varied.FEW), "8")
    assert not many.worst.few and many.worst.clipped < 0.1 * result.worst.clipped


def test_the_clipped_image_of_many_is_measured() -> None:
    """A dozen evenly spaced ones of 40 images miss the bright one, which is measured with the others that clip."""
    brightest = [60] * 40
    brightest[5] = 255
    prepared, result = exported(clipping(), images(*brightest), "8")
    assert int(np.argmax(prepared.clipped)) == 5 and result.images > unseen.IMAGES
    assert result.worst.cause == "clipping" and not result.worst.is_small


def test_an_output_of_one_number_is_compared_over_all_images() -> None:
    """The cosine of a single value is only its sign, which means little near 0."""
    image = Node("image", "input", (), {"shape": (1, 1, 3)})
    layer = convolution("number", "image", [[1.0], [1.0], [1.0]], [-1.0], "linear")
    graph = Graph("test", [image, layer], [GraphOutput("number", ("number",), (), VALUES)])
    calibration = [np.full((1, 1, 3), value, np.uint8) for value in (255, 0, 86, 20)]
    _, result = exported(graph, calibration, "8")
    assert result.worst.cosine > 0.8


@pytest.mark.parametrize("steps, bits, most", [((), 16, 0.02), ((HostStep(host_steps.SIGMOID),), 8, 0.2)])
def test_negative_scores_of_all_images_leave_room_for_an_object(
    steps: tuple[HostStep, ...], bits: int, most: float
) -> None:
    """The score of dark images is -4 to -2, and that of a white one 4: a range that ends at 0 would lose the object."""
    layer = convolution("score", "image", [[8.0 / 3.0]] * 3, [-4.0], "linear")
    graph = Graph("test", [input_node(SIDE), layer], [GraphOutput("score", ("score",), steps, VALUES)])
    for count in (4, 20):
        options = Options(precision=str(bits))
        stored = build(graph, (), options=options, calibration=images(*[60] * count)).bundle.graph
        white = np.full((SIDE, SIDE, 3), 255, np.uint8)
        results = [reference.run(network, white, mode=mode) for network, mode in ((graph, "float"), (stored, "stored"))]
        assert np.abs(results[0] - results[1]).max() <= most


def test_a_channel_that_was_seldom_active_has_room_for_the_values_of_others() -> None:
    rng = np.random.default_rng(2)
    for seldom in (True, False):
        calibration = [rng.integers(0, 256, (SIDE, SIDE, 3)).astype(np.uint8) for _ in range(4)]
        for image in calibration:
            image[..., 2] = 0 if seldom else image[..., 2] // 32
        calibration[0][0, 0, 2] = 7
        a, b = (convolution(*names, NEUTRAL, [0, 0, 0], "relu") for names in (("a", "image"), ("b", "a")))
        stored = build(network(a, b), (), options=Options(precision="8"), calibration=calibration).bundle.graph
        scales = stored.by_name["a"].attrs["scales"]
        assert (min(scales) > 0.9 * max(scales)) == seldom
