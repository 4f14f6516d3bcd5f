"""The self-check names the layer that a driver draws wrongly, at first use; clipped values are reported by layer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from command_line import Capture
from faulty_driver import FaultyApi, LosesContext, MediumPrecision, OffByOnePixel, SkipsDraws, first_layer_of
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle
from pairwise import each_of
from PIL import Image
from tiny import tiny_bundle, tiny_picture, write_tiny

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.cli import main
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import SelfCheckError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.graph.purposes import VALUES
from glsl_infer.runtime import selfcheck, verdicts
from glsl_infer.runtime.selfcheck import SelfCheck
from glsl_infer.runtime.session import Session
from glsl_infer.tools.validate.measures import Agreement
from glsl_infer.tools.validate.verdict import Verdict, sentences


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 12, kernel=(3, 3)),
        conv_node(rng, "body", ("stem",), 12, 12, kernel=(3, 3), groups=3),
    ]
    return make_bundle(classifier(rng, body, 12))


@pytest.mark.drivers
def test_a_sound_driver_passes_with_small_errors(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context, selfcheck=True) as session:
        errors = session.selfcheck()
    assert [error.layer for error in errors] == ["stem", "body", "pool", "dense"]
    assert all(error.worst <= 1 for error in errors if error.layer in ("stem", "body"))


@pytest.mark.drivers
@pytest.mark.parametrize("layer", ["stem", "body", "pool", "dense"])
def test_a_skipped_draw_is_found(context: Context, bundle: Bundle, layer: str) -> None:
    with Session(bundle, context=context) as session:
        calls = session.gpu_executors[0]._prepared.layers[layer]
        draws = [index for index, (function, _) in enumerate(calls) if function.__name__ == "glDrawArrays"]
        del calls[draws[-1]]
        with pytest.raises(SelfCheckError, match=f"layer '{layer}'"):
            session.selfcheck()


@pytest.mark.drivers
def test_a_wrong_activation_is_found(context: Context, bundle: Bundle) -> None:
    members = dict(bundle.members)
    for program in bundle.manifest.programs:
        if program.name.startswith("body"):
            text = members[program.fragment].decode()
            assert "0.05 * x + 0.125" in text
            members[program.fragment] = text.replace("0.05 * x + 0.125", "0.05 * x + 0.135").encode()
    with pytest.raises(SelfCheckError, match="layer 'body'"):
        Session(Bundle(bundle.manifest, members), context=context, selfcheck=True)


@pytest.mark.drivers
def test_low_precision_is_found(context: Context, bundle: Bundle) -> None:
    if "llvmpipe" not in context.gl.text(GL.GL_RENDERER):
        return  # other drivers always compute at full precision, so there is nothing to find
    members = {name: data.replace(b"highp", b"lowp") for name, data in bundle.members.items()}
    with pytest.raises(SelfCheckError, match="layer '"):
        Session(Bundle(bundle.manifest, members), context=context, selfcheck=True)


LAYERS = ("stem", "expand", "unit-pw", "unit-dw", "pool", "dense")


def checked(faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch) -> SelfCheck:
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: faulty)
    with Context() as context, Session(tiny_bundle(), context=context) as session:
        return selfcheck.check(session)


def test_the_shim_without_faults_passes_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    optimized = checked(FaultyApi(), monkeypatch)
    assert optimized.wrong is None
    assert optimized.advice == ()
    assert len(optimized.layers) == len(tiny_bundle().manifest.probe.layers)


@pytest.mark.parametrize("layer", LAYERS)
def test_draws_skipped_in_silence(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    optimized = checked(SkipsDraws(text), monkeypatch)
    assert optimized.wrong == first
    assert optimized.stopped is None


def test_medium_precision_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    optimized = checked(MediumPrecision(), monkeypatch)
    assert optimized.wrong in LAYERS


@pytest.mark.parametrize("layer", ["stem", "unit-dw"])
def test_a_draw_one_pixel_off(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    assert checked(OffByOnePixel(text), monkeypatch).wrong == first


@pytest.mark.parametrize("layer", LAYERS)
def test_a_context_lost_in_a_layer(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    optimized = checked(LosesContext(text), monkeypatch)
    assert optimized.wrong == first
    assert optimized.stopped is not None
    assert "GL_CONTEXT_LOST" in optimized.stopped[1]
    with pytest.raises(SelfCheckError, match=f"layer '{first}' cannot be computed on this driver: .*GL_CONTEXT_LOST"):
        optimized.require()


def test_a_context_destroyed_beneath_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context()
    session = Session(tiny_bundle(), context=context)
    context.native.release()
    context.native.destroy()  # the real EGL context, as after a driver reset
    monkeypatch.setattr(context.native, "destroy", lambda: None)
    result = selfcheck.check(session)
    context.close()
    assert result.stopped is not None
    assert result.wrong == "stem"


def test_the_error_has_the_gl_strings_and_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = first_layer_of(tiny_bundle(), "stem")
    optimized = checked(SkipsDraws(text), monkeypatch)
    with pytest.raises(SelfCheckError) as raised:
        optimized.require()
    message = str(raised.value)
    for phrase in (
        optimized.driver["renderer"],
        optimized.driver["version"],
        "layer 'stem'",
        "try: ",
        "--context",
        "report it",
    ):
        assert phrase in message


def judged(context: Context, wrong: float, softmax: bool) -> dict[str, Any]:
    """Return the verdict for a driver whose output is off by ``wrong`` standard deviations, and another model."""
    rng = np.random.default_rng(0)
    bundle = tiny.tiny_bundle()
    (model_input,), (output,) = bundle.manifest.inputs, bundle.manifest.outputs
    sample = {model_input.name: rng.integers(0, 256, model_input.shape, np.uint8)}
    with Session(bundle, context=context) as session:
        drawn = session.run(sample)[output.name]
    drawn = drawn + wrong * drawn.std() * rng.standard_normal(drawn.shape)
    verdict = Verdict(bundle, [output.name] if softmax else [])
    exact = reference.run(bundle, sample)[output.name]
    powers = np.exp(exact - exact.max())
    verdict.add(sample, {output.name: drawn}, {output.name: powers / powers.sum() if softmax else exact + exact.std()})
    return {
        "judged": 1,
        "wrong": "conv" if wrong else None,
        "outputs": [{"name": output.name, **verdict.as_json()[output.name]}],
    }


@pytest.mark.drivers("all")
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        (0.0, "this driver is right, the exported model differs: it was made with another --input-range"),
        (3.0, "something else (first in 'conv')"),
    ],
)
def test_the_verdict_names_the_rounding_or_the_driver(
    context: Context, wrong: float, culprit: str, softmax: bool
) -> None:
    result = judged(context, wrong, softmax)
    (line,) = sentences(result)
    assert line.startswith("on 1 images the exact reference (NumPy) has a cosine of ")
    assert culprit in line
    (end,) = result["outputs"]
    assert (end["reference_cosine"] > 0.9999) == softmax
    assert (end["driver_cosine"] > 0.9999) == (not wrong)


@pytest.mark.drivers("all")
def test_margin_of_different_labels() -> None:
    agreement = Agreement()
    agreement.add(np.array([1.0, 2.0, 0.0, 0.0]), np.array([1.5, 1.0, 0.0, 0.0]))  # another label, which has 0.5 less
    agreement.add(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 9.0, 0.0, 0.0]))  # the same label
    expected = np.array([1.5, 1.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0])
    assert (agreement.margin, agreement.top1) == (0.5, 0.5)
    assert agreement.margin_share == pytest.approx(0.5 / expected.std())
    end = {"name": "y", "top1": agreement.top1, "margin": agreement.margin, "margin_share": agreement.margin_share}
    (line,) = sentences({"outputs": [end]})
    assert "at most 0.5 apart, 17.2% of its outputs' spread; such close labels mean nothing" in line


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    Image.fromarray(tiny_picture(3)).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


@pytest.fixture
def verdict_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def records(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{verdicts.SELF_CHECK_SUFFIX}"))


def test_the_check_runs_once_for_a_driver_and_a_bundle(tmp_path: Path, context: Context) -> None:
    folder = tmp_path / "kept"
    for bundle in (tiny_bundle("baked"), tiny_bundle("uniform")):
        ran = []
        for _ in range(3):
            with Session(bundle, context=context) as session:
                ran.append(verdicts.check_once(session, folder))
        assert ran == [True, False, False]
    assert len(records(folder)) == 2


@pytest.mark.parametrize("spoil", ["empty", "other text", "writable by all", "a folder"])
def test_a_changed_verdict_is_ignored(spoil: str, tmp_path: Path, context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        assert verdicts.check_once(session, tmp_path)
        (path,) = records(tmp_path)
        if spoil == "empty":
            path.write_text("")
        elif spoil == "other text":
            path.write_text(path.read_text() + " ")
        elif spoil == "writable by all":
            path.chmod(0o666)
        else:
            path.unlink()
            path.mkdir()
        assert verdicts.check_once(session, tmp_path)


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, context: Context) -> None:
    (tmp_path / "file").write_text("")
    with Session(tiny_bundle(), context=context) as session:
        assert verdicts.check_once(session, tmp_path / "file")
        assert verdicts.check_once(session, tmp_path / "file")


def test_classify_checks_once_and_keeps_the_verdict(
    tmp_path: Path, verdict_cache: Path, photo: Path, capsys: Capture
) -> None:
    argv = ["classify", "--model", str(write_tiny(tmp_path)), str(photo)]
    assert main(argv) == 0
    (path,) = records(verdict_cache)
    modified = path.stat().st_mtime_ns
    assert main(argv) == 0
    assert records(verdict_cache)[0].stat().st_mtime_ns == modified


COMMANDS = {"classify": ["classify", "PHOTO", "--model", "MODEL"], "run": ["run", "MODEL", "PHOTO"]}


@each_of(("command", [*COMMANDS]), ("fault", [SkipsDraws, LosesContext]))
def test_a_driver_with_wrong_results_is_refused(
    command: str,
    fault: type[SkipsDraws],
    tmp_path: Path,
    verdict_cache: Path,
    photo: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, text = first_layer_of(tiny_bundle(), "unit-dw")
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: fault(text))
    values = {"PHOTO": str(photo), "MODEL": str(write_tiny(tmp_path))}
    argv = [values.get(word, word) for word in COMMANDS[command]]
    for _ in range(2):  # a failure is never cached
        assert main(argv) == 1
        output = capsys.readouterr()
        assert output.out == ""
        assert f"error: layer '{first}'" in output.err
        assert "try: " in output.err
    assert records(verdict_cache) == []


@pytest.mark.parametrize("command", [*COMMANDS])
def test_without_the_check_the_wrong_driver_goes_unnoticed(
    command: str, tmp_path: Path, verdict_cache: Path, photo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, text = first_layer_of(tiny_bundle(), "unit-dw")
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: SkipsDraws(text))
    values = {"PHOTO": str(photo), "MODEL": str(write_tiny(tmp_path))}
    assert main([*(values.get(word, word) for word in COMMANDS[command]), "--no-selfcheck"]) == 0
    assert capsys.readouterr().out
    assert records(verdict_cache) == []


def test_the_command_prints_every_layer(tmp_path: Path, capsys: Capture) -> None:
    path = write_tiny(tmp_path)
    assert main(["selfcheck", str(path)]) == 0
    text = capsys.readouterr().out
    for layer in tiny_bundle().manifest.probe.layers:
        assert f"\n{layer.layer} " in text
    assert main(["selfcheck", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["passed"], report["wrong"], report["advice"]) == (True, None, [])
    assert all(output["error"] <= output["allowed"] for output in report["whole_frame"])


def test_the_command_fails_with_the_layer_and_a_remedy(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, text = first_layer_of(tiny_bundle(), "stem")
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: SkipsDraws(text))
    path = write_tiny(tmp_path)
    assert main(["selfcheck", str(path)]) == 1
    output = capsys.readouterr()
    assert "WRONG" in output.out
    assert f"error: layer '{first}' comes out wrong" in output.err
    assert main(["selfcheck", str(path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["passed"], report["wrong"]) == (False, first)
    assert report["advice"]
    assert main(["doctor", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (problem,) = (index for index, line in enumerate(lines) if line.startswith("problem"))
    assert f"tiny: layer '{first}' comes out wrong" in lines[problem]
    assert lines[problem + 1].split() and lines[problem + 1].startswith(" ")
    assert lines[-1].startswith("1 problem")


@pytest.mark.parametrize("command", [["classify"], ["camera", "--source"]])
def test_a_context_lost_on_the_way_ends_the_command(
    command: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for index in range(8):
        Image.fromarray(tiny_picture(index)).save(folder / f"{index}.png")
    _, text = first_layer_of(tiny_bundle(), "dense")
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: LosesContext(text, draws=5))
    assert main([*command, str(folder), "--model", str(write_tiny(tmp_path)), "--no-selfcheck", "--top", "1"]) == 1
    output = capsys.readouterr()
    assert 0 < output.out.count("%") < 8
    assert "GL_CONTEXT_LOST" in output.err
    assert output.err.count("\n") == 1


def test_a_bundle_is_identified_by_its_manifest(tmp_path: Path, context: Context) -> None:
    keys = set()
    for name, weights in (("a", "baked"), ("b", "baked"), ("c", "uniform")):
        with Session(write_tiny(tmp_path, f"{name}.glslnn", weights), context=context) as session:
            keys.add(verdicts.self_check_key(session.context, session.bundle))
    assert len(keys) == 2  # the same bundle under two names is one


def test_a_terminal_shows_the_check_in_the_child(
    tmp_path: Path, photo: Path, verdict_cache: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child counts its layers for the terminal, once; without a terminal nothing is shown."""
    model = write_tiny(tmp_path)
    total = len(tiny_bundle().manifest.layers)
    monkeypatch.delenv("GLSL_INFER_ISOLATION", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    argv = ["classify", str(photo), "--model", str(model)]
    assert main(argv) == 0
    printed = capsys.readouterr().err
    assert f"first use of this model on this GPU: checked {total} of {total} layers, once" in printed
    assert f"First use of this model: checked all {total} layers on this GPU, once: " in printed
    assert main(argv) == 0
    assert "irst use" not in capsys.readouterr().err


SIDE = 16


def image(brightest: int) -> np.ndarray:
    return np.random.default_rng(brightest).integers(0, brightest + 1, (SIDE, SIDE, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def narrow_bundle() -> Bundle:
    """A network calibrated on dark images: a threshold that only bright images exceed by much, and a sigmoid."""
    kernel = np.array([[1, 0, 0, 0.02], [0, 1, 0, 0.02], [0, 0, 1, 0.02]], np.float32)
    mixed = np.array([[1, 0.5], [0.5, 1], [1, 1], [1, 1]], np.float32)
    nodes = [
        Node("image", "input", (), {"shape": (SIDE, SIDE, 3)}),
        Node(
            "threshold",
            "conv2d",
            ("image",),
            {"activation": "relu"},
            {"kernel": kernel[None, None], "bias": np.array([-0.6, -0.6, -0.6, 0.01], np.float32)},
        ),
        Node(
            "likely",
            "conv2d",
            ("threshold",),
            {"activation": "sigmoid"},
            {"kernel": mixed[None, None], "bias": np.zeros(2, np.float32)},
        ),
    ]
    graph = Graph("dark", nodes, [GraphOutput("numbers", ("likely",), (), VALUES)])
    dark = [image(60 + index) for index in range(3)]
    return build(graph, (), options=Options(precision="8"), calibration=dark)[0]


def test_a_bright_image_is_clipped_and_a_dark_one_is_not(narrow_bundle: Bundle, context: Context) -> None:
    with Session(narrow_bundle, context=context, check_ranges=True) as session:
        (result, *later_layers) = session.saturation(image(255))
        assert result.layer == "threshold" and result.high > 0.2 and not result.low and not later_layers
        with pytest.warns(UserWarning, match=r"'threshold' \(.* % of its values\).*--images"):
            session.run(image(255))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            session.run(image(50))


def test_run_warns_of_clipped_values(narrow_bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bright, out = tmp_path / "model.glslnn", tmp_path / "bright.png", tmp_path / "out.json"
    bundles.write(narrow_bundle, model)
    Image.fromarray(image(255)).save(bright)
    command = ["run", str(model), str(bright), "-o", str(out), "--no-selfcheck"]
    assert main([*command, "--check-ranges"]) == 0
    assert "warning: ranges clip values of this input in the layers 'threshold'" in capsys.readouterr().err
    Image.fromarray(image(50)).save(bright)
    assert main([*command, "--check-ranges"]) == 0
    assert "ranges cover this input" in capsys.readouterr().err
    assert json.loads(out.read_text())
    assert main(command) == 0
    assert "ranges" not in capsys.readouterr().err
