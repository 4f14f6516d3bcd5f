"""docs/training.md lists every setting of a recipe with its default."""

from pathlib import Path

from glsl_infer.support.settings import group_in, hints_of
from training.recipe import Recipe

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text("utf-8")
SECTION = PAGE.partition("\n## Recipes\n")[2].partition("\n## ")[0]


def rows(settings, before=""):
    """The first two cells of the row of each setting."""
    for name, hint in hints_of(type(settings)).items():
        value = getattr(settings, name)
        if group_in(hint):
            yield from rows(value[0] if isinstance(value, tuple) else value, f"{before}{name}.")
        else:
            shown = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
            shown = list(value) if isinstance(value, tuple) else shown
            yield f"| `{before}{name}` | {shown} |"


def test_every_setting_is_on_the_page():
    listed = [line for line in SECTION.splitlines() if line.startswith("| `") and line.count("|") == 4]
    assert [line.rpartition("|")[0].rpartition("|")[0] + "|" for line in listed] == list(rows(Recipe()))


def test_the_example_is_a_recipe():
    lines = SECTION.partition("    seed: 1\n")
    example = "seed: 1\n" + lines[2].partition("\n\n")[0].replace("\n    ", "\n").removeprefix("    ")
    assert Recipe.parse(example, "example").epochs == 300
