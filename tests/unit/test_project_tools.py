"""Scripts for the suite: parts, .ci/run, mutants, other CPUs, lint of prose, and lock files."""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from importlib.metadata import requires
from pathlib import Path

import lint_prose
import mutate
import mutations
import pytest
import test_parts
from mutation_parts.mutants import of_module, pick
from mutation_parts.results import kept
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pages import ROOT
from test_cpus import CPUS, environment, numpy_features, other_cpus
from test_parts import Done, Lanes
from tiny import write_tiny

MAKEFILE = """
first:
	@touch first; while [ ! -e second ]; do sleep 0.05; done; echo "3 passed, 1 skipped in 0.52s"
second:
	@touch second; while [ ! -e first ]; do sleep 0.05; done; echo "== 1 failed, 2 passed in 1.52s =="; exit 3
long:
	@echo begun; touch long; sleep 600
after:
	@touch after
"""
PYTEST_END = """
=============== slowest files ================
    12.5 s  tests/gl/test_a.py
     2.0 s  tests/gl/test_b.py
=========== 5 passed, 2 deselected, 1 warning in 15.01s (0:01:02) ===========
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def test_two_run_at_a_time(folder: Path) -> None:
    """The two parts wait for each other."""
    ended: list[Done] = []
    Lanes(["make", "-s", "-C", str(folder)], ended.append).run(["first", "second"], 2)
    first, second = sorted(ended, key=lambda part: part.name)
    assert (first.code, first.counts) == (0, {"passed": 3, "skipped": 1})
    assert (second.code, second.counts) == (2, {"failed": 1, "passed": 2}), "make says 2 for every failure"


def test_one_at_a_time_in_their_order(folder: Path) -> None:
    (folder / "first").touch()
    ended: list[Done] = []
    Lanes(["make", "-s", "-B", "-C", str(folder)], ended.append).run(["second", "first", "after"], 1)
    assert [part.name for part in ended] == ["second", "first", "after"]


def test_stopped_parts_are_printed_and_no_part_begins_after(folder: Path) -> None:
    ended: list[Done] = []
    lanes = Lanes(["make", "-s", "-C", str(folder)], ended.append)

    def stop_early(name: str) -> None:
        while not (folder / name).exists():
            time.sleep(0.01)
        lanes.stop()

    stopper = threading.Thread(target=stop_early, args=["long"])
    stopper.start()
    lanes.run(["long", "after"], 1)
    stopper.join()
    assert [(part.name, part.code != 0) for part in ended] == [("long", True)]
    assert ended[0].output.startswith("begun\n")
    assert not (folder / "after").exists()


def test_the_end_has_parts_slow_files_and_the_total() -> None:
    parts = [Done("test-a", 0, PYTEST_END, 16.0, 20.0), Done("test-b", 2, PYTEST_END * 2, 70.0, 60.0)]
    assert test_parts.summary(parts, 75.5).splitlines() == [
        "parts:",
        "  test-a          passed, 16 s, 20 s of CPU time",
        "  test-b          FAILED with exit code 2, 70 s, 60 s of CPU time",
        "slowest files:",
        *["    12.5 s  tests/gl/test_a.py (test-b)"] * 2,
        "    12.5 s  tests/gl/test_a.py (test-a)",
        *["     2.0 s  tests/gl/test_b.py (test-b)"] * 2,
        "     2.0 s  tests/gl/test_b.py (test-a)",
        "all parts: 80 s of CPU time",
        "===== 15 passed, 6 deselected, 3 warnings in 75.50s (1:15 minutes) =====",
    ]


@pytest.mark.slow
def test_the_slowest_files_end_a_report_of_several(tmp_path: Path) -> None:
    """The script finds the slowest files in the output of a real run of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/test_gl_constants.py"]
    done = subprocess.run(
        [*command, "tests/unit/test_put_rgb.py"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout
    files = [name for _, name in test_parts.SLOW_FILE.findall(done.stdout)]
    assert sorted(files) == ["tests/unit/test_gl_constants.py", "tests/unit/test_put_rgb.py"]
    assert Done("a part", 0, done.stdout, 1.0, 1.0).counts["passed"] > 2


def test_each_part_of_the_makefile_is_in_the_rest_of_all() -> None:
    dry = subprocess.run(
        ["make", "--dry-run", "--always-make", "test-rest"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    parts = re.findall(r"test-[a-z0-9-]+", dry.stdout.rpartition("TIER=rest")[2])
    parts = [part for part in parts if not part.startswith("test-debian")]
    targets = re.findall(r"^(test-[a-z0-9-]+): \$\(VENV\)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert sorted(parts) == sorted(set(targets) - {"test-rest"})


def test_a_habit_in_a_comment_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "module.py").write_text('"""Return the sum."""\nx = 1  # what the file said lies beside it\n')
    assert lint_prose.main([str(tmp_path)]) == 1
    assert "beside, behind" in capsys.readouterr().err


def test_strings_and_directives_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text('"""Return the sum."""\nx = "what somebody said"  # noqa: S101 that that\n')
    assert lint_prose.main([str(tmp_path)]) == 0


def test_a_mutation_does_not_depend_on_earlier_ones(tmp_path: Path) -> None:
    data = write_tiny(tmp_path).read_bytes()
    before = repr(mutations.HOSTILE_VALUES)
    files = [mutations.mutated((0, number), [data], ["manifest"]) for number in range(150)]
    assert repr(mutations.HOSTILE_VALUES) == before
    assert len({changed for _, changed in files}) > 100
    assert files[:20] == [mutations.mutated((0, number), [data], ["manifest"]) for number in range(20)]


SOURCE = '''"""A module."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a import b

MOST = 4


def inner(size: int, margin: int = 1) -> int:
    """Return the size without margins."""
    if size < 2 * margin or size > MOST:
        raise ValueError(f"{size} is below {2 * margin}")
    return max(size - 2 * margin, 0)
'''


def test_every_mutant_is_another_program() -> None:
    mutants = of_module("glsl_infer.ops.a", SOURCE)
    texts = [mutant.apply(SOURCE) for mutant in mutants]
    programs = {ast.dump(ast.parse(text)) for text in [SOURCE, *texts]}
    assert len(programs) == len(texts) + 1 == len({mutant.key for mutant in mutants}) + 1
    assert {mutant.kind for mutant in mutants} == {
        "comparison", "logic", "condition", "arithmetic", "constant", "returned", "deleted", "arguments"
    }  # fmt: skip
    assert all(ast.get_docstring(ast.parse(text)) == "A module." for text in texts)
    assert not any("below" in mutant.before and mutant.kind != "deleted" for mutant in mutants), "messages stay"
    default = next(mutant for mutant in mutants if mutant.before == "1")
    assert (default.function, default.lines) == ("inner", ())
    assert next(mutant for mutant in mutants if mutant.kind == "returned").lines == (15,)


def test_a_choice_has_every_module_and_is_the_same_for_a_seed() -> None:
    candidates = [mutant for name in "abc" for mutant in of_module(f"glsl_infer.ops.{name}", SOURCE)]
    chosen = pick(candidates, 9, 1)
    assert {mutant.module[-1] for mutant in chosen} == set("abc")
    assert len({mutant.key for mutant in chosen}) == len(chosen) == 9
    assert [mutant.key for mutant in pick(candidates, 9, 1)] == [mutant.key for mutant in chosen]


def test_each_function_has_its_turn_before_a_second_case() -> None:
    seconds = {"a::f[1]": 0.1, "a::f[2]": 0.2, "a::g": 3.0, "b::h[1]": 0.5, "b::h[2]": 0.4}
    order = mutate.in_rounds(list(seconds), seconds, first=["b::h[1]"])
    assert order == ["b::h[1]", "a::f[1]", "b::h[2]", "a::g", "a::f[2]"]


def test_one_killer_of_each_function_is_enough() -> None:
    assert list(kept({"a::f[1]": "", "a::f[2]": ""})) == ["a::f[1]", "a::f[2]"]
    assert list(kept({"a::f[1]": "", "a::f[2]": "", "a::g": ""})) == ["a::f[1]", "a::g"]


def test_the_hook_changes_a_module_in_a_process_and_in_its_children(tmp_path: Path) -> None:
    (mutant, *_) = [
        candidate
        for candidate in of_module(
            "glsl_infer.lowering.codegen", (ROOT / "glsl_infer/lowering/codegen.py").read_text("utf-8")
        )
        if candidate.function == "vec" and candidate.before.startswith('return f"vec{')
    ]
    source = mutant.apply((ROOT / "glsl_infer/lowering/codegen.py").read_text("utf-8"))
    settings = tmp_path / "hook.json"
    settings.write_text(json.dumps({"packages": mutate.PACKAGES, "module": mutant.module, "source": source}), "utf-8")
    child = "from glsl_infer.lowering.codegen import vec; print(vec([1.0, 2.0]))"
    code = f"import subprocess, sys; {child}; sys.stdout.flush(); subprocess.run([sys.executable, '-c', {child!r}])"
    paths = os.pathsep.join([str(mutate.HOOK), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "MUTATION_HOOK": str(settings)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "None"]


NUMPY_2_0 = ["SSE42", "AVX", "F16C", "FMA3", "AVX2", "AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_SPR"]
NUMPY_2_4 = ["X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR"]
PRINT_CPU_FEATURES = "import json, test_cpus; print(json.dumps(test_cpus.numpy_features()[1]))"


@pytest.mark.parametrize(
    ("dispatched", "absent", "names", "disabled"),
    [
        (NUMPY_2_4, ["AVX512_SPR"], ["AVX2", "SSE4.2"], "X86_V4 AVX512_ICL"),
        (NUMPY_2_4, NUMPY_2_4[1:], ["SSE4.2", "AVX"], "X86_V3"),
        (NUMPY_2_4, NUMPY_2_4, ["AVX2", "SSE4.2"], None),
        (NUMPY_2_0, ["AVX512_SPR"], ["AVX2", "SSE4.2"], "AVX512F AVX512CD AVX512_SKX"),
        (NUMPY_2_0, NUMPY_2_0[5:], ["SSE4.2", "AVX"], "AVX F16C FMA3 AVX2"),
    ],
)
def test_only_features_of_this_cpu_are_disabled(
    dispatched: list[str], absent: list[str], names: list[str], disabled: str | None
) -> None:
    has = {name: name not in absent for name in dispatched}
    cpus = other_cpus(CPUS["x86_64"], dispatched, has)
    assert [cpu.name for cpu in cpus] == names
    assert environment(cpus[0], dispatched, has).get("NPY_DISABLE_CPU_FEATURES") == disabled


def test_numpy_accepts_the_variables_and_disables_the_features() -> None:
    dispatched, has = numpy_features()
    for cpu in other_cpus(CPUS[platform.machine()], dispatched, has):
        variables = environment(cpu, dispatched, has)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PRINT_CPU_FEATURES],
            env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        features = json.loads(done.stdout)
        assert not any(features[name] for name in variables.get("NPY_DISABLE_CPU_FEATURES", "").split())
        assert done.stderr == ""


LINES = [Requirement(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line[0] != "#"]


@pytest.mark.parametrize("python", ["3.9", "3.11", "3.13"])
def test_every_requirement_has_one_version(python: str) -> None:
    machine = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    machine.update(platform_machine="x86_64", platform_python_implementation="CPython", implementation_name="cpython")
    versions: dict[str, list[str]] = {}
    for line in LINES:
        if line.marker is None or line.marker.evaluate(machine):
            versions.setdefault(canonicalize_name(line.name), []).append(str(line.specifier))
    for text in requires("glsl-infer") or []:
        expected = Requirement(re.sub(r"""(and )?extra == ['"][^'"]*['"]""", "", text).rstrip("; "))
        if expected.name != "glsl-infer" and (expected.marker is None or expected.marker.evaluate(machine)):
            (version,) = versions[canonicalize_name(expected.name)]
            assert expected.specifier.contains(version.removeprefix("=="))


@pytest.mark.parametrize("folder", ["web", "web/tfjs"])
def test_lock_files_have_hashes_and_no_registry(folder: str) -> None:
    lock = json.loads((ROOT / folder / "package-lock.json").read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    for name, package in packages.items():
        assert "resolved" not in package, f"{name}: run npm in {folder}, whose .npmrc leaves addresses out"
        assert package["integrity"].startswith("sha512-"), name


MAKE = """#!/bin/sh
echo "$*|$PWD|$(stat -c %a "$PWD/..")|$HOME|$XDG_CACHE_HOME|$(cat ../shared/data)|$(cat new.txt)" >>"$MAKE_LOG"
case "$*" in *test-rest) exit 3 ;; esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    (folder / ".ci/run").write_bytes((ROOT / ".ci/run").read_bytes())
    (folder / "scripts/vc4").mkdir(parents=True)
    (folder / "scripts/vc4/build.sh").symlink_to("/bin/true")
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "ignored").write_text("large")
    (folder / "new.txt").write_text("not committed yet")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/data").write_text("shared data")
    for arguments in (["init", "-q"], ["add", ".ci", ".gitignore", "scripts"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def test_the_suite_runs_in_a_private_folder_with_a_space(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/make").write_text(MAKE)
    (tmp_path / "bin/make").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "GIT_"))}
    environment |= {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "MAKE_LOG": str(tmp_path / "make.log"),
    }
    done = subprocess.run(
        ["bash", checkout / ".ci/run"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env=environment, cwd="/",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr  # make's exit status
    setup, suite = (tmp_path / "make.log").read_text().splitlines(keepends=False)
    targets, folder, mode, home, cache, shared, new = suite.split("|")
    assert targets == "test test-rest"
    assert " " in folder
    assert Path(folder).parents[1] == tmp_path / "tmp"
    assert mode == "700"
    assert Path(home) == Path(folder).parent / "home"
    assert (cache, shared, new) == (str(tmp_path / "home/.cache"), "shared data", "not committed yet")
    assert setup.split("|")[3] == str(tmp_path / "home")
    assert list((tmp_path / "tmp").iterdir()) == []
