"""Templates and generated shaders are valid GLSL ES 1.00; the checker of bundles accepts only harmless shaders."""

from __future__ import annotations

import itertools
import re
import subprocess
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import needs
import pytest
import tiny
from bundle_files import HOSTILE_VERTEX_SHADERS, hostile_vertex_shader, members_of, refusal, rehashed, zipped
from hostile_shaders import ACCEPTED, HEAD, REFUSED, line_of
from lint_shaders import faults
from pages import ROOT
from tiny import tiny_bundle, tiny_program, write_tiny

from glsl_infer.bundle import Bundle, format_constants, shader_check
from glsl_infer.bundle.manifest import DelayedProbe, Probe
from glsl_infer.bundle.program_check import check_vertex_shaders
from glsl_infer.bundle.shader_check import parse
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import codegen
from glsl_infer.lowering.weights_plan import WEIGHTS_MODES
from glsl_infer.ops import global_average_pool
from glsl_infer.program import PRELUDE, templates
from glsl_infer.program.templates import template as template_text
from glsl_infer.runtime import verdicts
from glsl_infer.runtime.drivers import LATE_FETCH, ROLLED_FETCHES
from glsl_infer.runtime.pictures.resampling import READING, external_prelude
from glsl_infer.support.resources import template

Shader = tuple[str, str, str]
"""Name, stage (``vert`` or ``frag``) and source."""


def lint(shaders: Iterable[Shader], folder: Path) -> None:
    """Check the shaders; a failure quotes the compiler's log and the invalid sources."""
    distinct = {(stage, text): name for name, stage, text in shaders}
    assert distinct, "there is no shader"
    files: dict[Path, tuple[str, str]] = {}
    for index, ((stage, text), name) in enumerate(distinct.items()):
        path = folder / f"{index}.{stage}"
        path.write_text(text)
        files[path] = (name, text)
    validator = needs.program("glslangValidator", "glslang-tools")
    done = subprocess.run([validator, *map(str, files)], capture_output=True, text=True, check=False)
    if done.returncode:
        # The log has the name of each file, followed by its errors.
        parts = done.stdout.split(f"{folder}/")
        failed = [section.partition("\n") for section in parts if "ERROR:" in section]
        wrong = "".join(f"{files[folder / name][0]}:\n{log}{files[folder / name][1]}" for name, _, log in failed)
        raise AssertionError(wrong or done.stdout + done.stderr)


NAMES = sorted(path.name for path in (ROOT / "shaders").iterdir() if path.is_file())
FRAGMENTS = [name for name in NAMES if name.endswith(".frag")]
FUNCTIONS = [name for name in NAMES if name.endswith(".glsl") and name != "prelude.glsl"]
PRELUDE_TEXT = template("prelude.glsl")
LINES = {"global_average.frag": global_average_pool.FETCH, "mean_products.frag": global_average_pool.FETCH}
"""Lines required to complete a template."""


ONLY_RUNNER = {"area_average.frag", "enlarge.frag", "masked.frag", "picture.frag", "turned.frag"}
"""Templates outside of bundles."""

INCOMPLETE = {"channel_norm.frag", "channel_softmax.frag", "convolution.frag"}
"""Templates of which a checker of bundles needs the lines of an operator, too."""

FRAGMENT_INCLUDES = ["fixed_point.glsl", "store.glsl", "turns.glsl", "late.glsl"]
SCALING = ("area_average.frag", "enlarge.frag")


def fragment(name: str) -> str:
    """Return a template of a fragment shader with all of its possible includes."""
    linear = activation("linear")
    return codegen.fragment(name, activation=linear, includes=FRAGMENT_INCLUDES, lines=LINES.get(name, {}))


def templates_alone() -> Iterator[Shader]:
    """Yield each template as a complete shader, and those that scale images with each kind of source texture."""
    for name in FRAGMENTS:
        yield name, "frag", PRELUDE_TEXT + fragment(name)
    for name in FUNCTIONS:
        for device in ("", LATE_FETCH):
            yield name, "frag", f"{PRELUDE_TEXT}{device}{template(name)}void main() {{ gl_FragColor = vec4(0.0); }}\n"
    for count in range(1, templates.MAX_VARYINGS + 1):
        yield f"vertex shader of {count} varyings", "vert", templates.vertex_shader(count)
    for name in ("picture.vert", "quads.vert", "resample.vert"):
        yield name, "vert", template(name)
    for name in SCALING:
        text = template("store.glsl")
        yield f"{name}, external", "frag", external_prelude(PRELUDE_TEXT.encode()).decode() + text + template(name)
        for kind, reading in READING.items():
            yield f"{name}, {kind}", "frag", PRELUDE_TEXT + text + reading + template(name)


def generated() -> Iterator[Shader]:
    """Yield the shaders of a small network with weights in each place, as each kind of driver compiles them."""
    for weights, device in itertools.product(WEIGHTS_MODES, ("", ROUND_STORES, ROLLED_FETCHES)):
        program = tiny_program(weights=weights)
        prelude = program.members[PRELUDE].decode() + device
        for pair in program.programs:
            yield f"{pair.fragment}, {weights}", "frag", prelude + program.members[pair.fragment].decode()
            yield f"{pair.vertex}, {weights}", "vert", program.members[pair.vertex].decode()


def test_there_are_templates() -> None:
    assert len(FRAGMENTS) >= 5
    assert len(FUNCTIONS) >= 5


def test_every_template_compiles_on_its_own(tmp_path: Path) -> None:
    lint(templates_alone(), tmp_path)


@pytest.mark.parametrize("name", [name for name in FRAGMENTS if name not in ONLY_RUNNER])
def test_a_template_is_in_the_glsl_of_bundles(name: str) -> None:
    text = fragment(name)
    assert re.search(r"gl_FragColor = (whole|store|encode)\(", text), "see shaders/store.glsl"
    if name not in INCOMPLETE:
        try:
            parse(name, text)
        except BundleError as error:
            source = text.splitlines()[int(re.findall(r"line (\d+)", str(error))[0]) - 1]
            pytest.fail(f"{error}\n{source}\nsee docs/reference/bundle-format.md#shaders", pytrace=False)


@pytest.mark.slow
def test_generated_shaders_compile(tmp_path: Path) -> None:
    lint(generated(), tmp_path)


def test_an_invalid_shader_is_named(tmp_path: Path) -> None:
    good = PRELUDE_TEXT + "void main() { gl_FragColor = vec4(0.0); }\n"
    with pytest.raises(AssertionError, match=r"^bad:\n(?s:.*)'unknown' : undeclared identifier") as caught:
        lint([("good", "frag", good), ("bad", "frag", good.replace("0.0", "unknown"))], tmp_path)
    assert "good:" not in str(caught.value)


def test_external_textures_are_declared_before_all_code() -> None:
    text = external_prelude(PRELUDE_TEXT.encode()).decode()
    assert text.splitlines()[1].startswith("#extension"), "right after #version"
    assert all("sampler2D source" not in text + template(name) for name in SCALING)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("activation_")])
def test_macros_of_an_activation_are_not_those_of_another_template(name: str) -> None:
    texts = [template(other) for other in NAMES if not other.startswith("activation_")]
    others = "\n".join(text for text in texts if "void main()" not in text or "activation(" in text)
    # Macros without a body are conditions, and may be defined twice.
    defined = set(re.findall(r"^#define (\w+)(?=[( ])", others, flags=re.MULTILINE))
    assert not defined.intersection(re.findall(r"\b[A-Z][A-Z_]+\b", template(name)))


NEVER_TOGETHER = {
    ("after_texel.glsl", "WAIT"),  # only with convolution_texture.frag, which has no WAIT of its own
    ("late.glsl", "LATE"),  # not with convolution.frag, whose LATE is a number
}
"""Includes and their macros of which some templates have another meaning."""


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("activation_")])
def test_macros_of_an_include_are_not_those_of_a_template(name: str) -> None:
    templates_text = "\n".join(template(other) for other in FRAGMENTS)
    own = set(re.findall(r"^#(?:define|ifdef|ifndef) (\w+)(?=[( \n])", templates_text, flags=re.MULTILINE))
    macros = set(re.findall(r"^#define (\w+)(?=[( ])", template(name), flags=re.MULTILINE))
    assert {(name, macro) for macro in own & macros} <= NEVER_TOGETHER


def test_shaders_of_bundles_have_no_comments(tmp_path: Path, good: bytes) -> None:
    shaders = {name: data.decode() for name, data in members_of(good, tmp_path).items() if name.startswith("shaders/")}
    assert len(shaders) > 1
    assert not [name for name, text in shaders.items() if "//" in text or "\n\n" in text]


def test_the_prelude_sets_full_precision() -> None:
    assert "precision highp float;" in PRELUDE_TEXT
    assert "precision highp sampler2D;" in PRELUDE_TEXT


def test_the_style_of_the_templates_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.frag"
    path.write_text("void main() {\n\tmediump float x; \n" + "/" * 121 + "\n// lowp in a comment\n")
    assert [fault.partition(":")[0] for fault in faults(path)] == ["2", "2", "2", "3"]


GOOD = tiny.tiny_bundle()
FOUR = next(program for program in GOOD.manifest.programs if program.varyings == 4)


@pytest.mark.parametrize("kind", HOSTILE_VERTEX_SHADERS)
def test_another_text_is_refused(tmp_path: Path, good: bytes, kind: str) -> None:
    message = refusal(hostile_vertex_shader(tmp_path, good, kind))
    assert f"'{FOUR.vertex}' is not the vertex shader of this format for 4 varyings; export" in message


def test_the_text_for_another_number_of_varyings_is_refused(tmp_path: Path, good: bytes) -> None:
    path = hostile_vertex_shader(tmp_path, good, lambda _: templates.vertex_shader(5).encode())
    assert "is not the vertex shader of this format for 4 varyings" in refusal(path)


def test_the_engine_s_own_are_accepted() -> None:
    check_vertex_shaders(GOOD.manifest.programs, GOOD.members)


@pytest.mark.parametrize("construct", REFUSED)
def test_hostile_constructs_are_refused_with_their_line(construct: str) -> None:
    with pytest.raises(BundleError) as caught:
        parse("shaders/x.frag", HEAD + REFUSED[construct])
    assert str(caught.value).startswith(f"shader 'shaders/x.frag' line {line_of(REFUSED[construct])}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("construct", ACCEPTED)
def test_harmless_constructs_are_accepted(construct: str) -> None:
    shader = parse("shaders/x.frag", HEAD + ACCEPTED[construct])
    assert shader.uniforms == {"source": "sampler2D", "weights": "vec4"}
    assert 0 < shader.written < 26880 and shader.executed > 0


def test_costs_of_shaders() -> None:
    parsed = parse("m", HEAD + "void main() {\n    gl_FragColor = coord0 * 2.0;\n}\n")
    assert (parsed.written, parsed.executed) == (1, 1)
    loop = "for (int i = 0; i < 10; i++) {\n        gl_FragColor = coord0 * 2.0;\n    }\n}\n"
    many = parse("m", f"{HEAD}void main() {{\ngl_FragColor = coord0;\n{loop}")
    assert (many.written, many.executed) == (3002, 11)  # a loop, its variable, and ten turns
    costs = {
        "if (coord0.x > 0.5) y = coord0;": 67,
        "y = coord0.x > 0.5 ? y : coord0;": 67,
        "y = pow(coord0, coord0);": 122,
        "y = exp(coord0);": 50,
        "y = floor(coord0);": 3,
    }
    for line, expected in costs.items():
        chosen = parse("m", HEAD + f"void main() {{\nvec4 y = coord0 + 1.0;\n{line}\ngl_FragColor = y;\n}}\n")
        assert chosen.written == expected, line


@pytest.mark.parametrize("literals", ["0.5, 1.0, 2.0, 3.0", "-0.5, 1, -2e-5, -0.0", "7"])
def test_numbers_read_at_once_count_as_those_read_one_by_one(literals: str) -> None:
    first, remainder = literals.partition(",")[0], "".join(literals.partition(",")[1:])
    at_once, one_by_one = (
        parse("m", HEAD + f"void main() {{\ngl_FragColor = coord0 * vec4({text});\n}}\n")
        for text in (literals, f"({first}){remainder}")
    )
    assert at_once == one_by_one
    assert at_once.written == 2 + literals.count("-") - literals.count("e-")


@pytest.mark.parametrize("literals", ["1.0, -1e39, 1.0, 1.0", "1.0, , 1.0", "- -1.0", "1.0 1.0"])
def test_numbers_read_at_once_are_refused_like_others(literals: str) -> None:
    with pytest.raises(BundleError, match="line 5: "):
        parse("m", HEAD + f"void main() {{\ngl_FragColor = coord0 * vec4({literals});\n}}\n")


def test_brackets_of_numbers_read_at_once_count() -> None:
    limit = format_constants.GLSL_LIMITS["brackets"]
    text = "void main() {{\ngl_FragColor = {}coord0 * vec4(0.5){};\n}}\n"
    assert parse("m", HEAD + text.format("(" * (limit - 1), ")" * (limit - 1))).written
    with pytest.raises(BundleError, match=f"brackets are more than {limit} deep"):
        parse("m", HEAD + text.format("(" * limit, ")" * limit))


def test_a_macro_counts_where_it_is_used() -> None:
    text = "#define TWICE(x) max(x, x)\nvoid main() {\n    gl_FragColor = TWICE(coord0 + coord0 + coord0);\n}\n"
    assert parse("m", HEAD + text).written == 5


@pytest.mark.parametrize("name", ["prelude.glsl", "store.glsl"])
def test_the_prelude_of_the_format_is_the_template_s(name: str) -> None:
    code = [re.sub(r" *//.*", "", line) for line in template_text(name).split("\n")]
    same = [line for line in code if line] == list(format_constants.GLSL_PRELUDE)
    assert same == (name == "prelude.glsl")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["#ifdef A\n" * 100_000, "/" * 200_000, "(" * 100_000, "/*" * 100_000, "a " * 100_000, "#define A\n" * 20_000],
)
def test_long_texts_take_little_memory(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BundleError):
            parse("m", f"{text}\n")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the first shader of every bundle whose shaders are parsed."""
    names: list[str] = []
    parse = shader_check.parse

    def seen(member: str, text: str) -> object:
        names.append(member)
        return parse(member, text)

    monkeypatch.setattr(shader_check, "parse", seen)
    return names


def test_the_second_reading_parses_no_shader(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = write_tiny(tmp_path)
    first = verdicts.read_bundle(path)
    count = len(parsed)
    second = verdicts.read_bundle(path)
    assert count > 0
    assert len(parsed) == count
    assert type(first.manifest.probe) is Probe
    assert type(second.manifest.probe) is DelayedProbe
    assert second.manifest == first.manifest
    assert type(second.manifest.probe) is Probe
    assert second.members == first.members


def test_without_a_cache_every_reading_parses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsed: list[str]
) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", "off")
    path = write_tiny(tmp_path)
    verdicts.read_bundle(path)
    count = len(parsed)
    verdicts.read_bundle(path)
    assert len(parsed) == 2 * count > 0


def test_a_cache_that_others_can_write_is_ignored(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = write_tiny(tmp_path)
    verdicts.read_bundle(path)
    (verdict,) = cache.glob(f"*{verdicts.BUNDLE_SUFFIX}")
    verdict.chmod(0o666)  # tests/gl/test_selfcheck.py has other kinds of damage
    parsed.clear()
    verdicts.read_bundle(path)
    assert parsed


def test_a_changed_shader_is_another_bundle(tmp_path: Path, cache: Path) -> None:
    path = write_tiny(tmp_path)
    verdicts.read_bundle(path)
    members = members_of(path.read_bytes(), tmp_path)
    name = next(name for name in members if name.startswith("shaders/") and name.endswith(".frag"))
    hostile = members[name].replace(b"void main() {", b"void main() {\n    gl_FragColor = vec4(1.0 / 0.0);", 1)
    assert hostile != members[name]
    zipped(path, rehashed(members, {name: hostile}))
    for _ in range(2):
        with pytest.raises(BundleError, match="rule: shaders"):
            verdicts.read_bundle(path)
    zipped(path, {**members, name: hostile})  # with the manifest of the accepted bundle
    with pytest.raises(BundleError, match="rule: container"):
        verdicts.read_bundle(path)


def test_a_bundle_that_was_written_here_is_not_parsed_again(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = tmp_path / "tiny.glslnn"
    verdicts.write_bundle(tiny_bundle(), path)
    count = len(parsed)
    assert verdicts.read_bundle(path).manifest == tiny_bundle().manifest
    assert len(parsed) == count > 0


def test_a_bundle_that_cannot_be_written_leaves_no_verdict(tmp_path: Path, cache: Path) -> None:
    bundle = tiny_bundle()
    damaged = Bundle(bundle.manifest, {**bundle.members, "labels.txt": b"more\nlabels\nthan\nclasses\n"})
    with pytest.raises(ModelError, match="not written"):
        verdicts.write_bundle(damaged, tmp_path / "tiny.glslnn")
    assert not cache.exists()
