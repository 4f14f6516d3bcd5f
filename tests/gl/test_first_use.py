"""The self-check at the first use of a driver: it is not repeated, and classify refuses a wrong driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Capture
from faulty_driver import LosesContext, SkipsDraws, first_layer_of
from pairwise import each_of
from PIL import Image
from tiny import tiny_bundle, tiny_picture, write_tiny

from glsl_infer.cli import main
from glsl_infer.gl.context import Context
from glsl_infer.runtime import verdicts
from glsl_infer.runtime.session import Session


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
    written = path.stat().st_mtime_ns
    assert main(argv) == 0
    assert records(verdict_cache)[0].stat().st_mtime_ns == written


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
    (problem,) = (number for number, line in enumerate(lines) if line.startswith("problem"))
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
