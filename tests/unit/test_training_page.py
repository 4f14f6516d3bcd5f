"""docs/guide/train-x22.md has a recipe, and recipes/defaults.yaml every setting with its default and meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pages import ROOT

from glsl_infer.support.settings import Settings, group_in, hints_of
from training.recipe import Recipe

DEFAULTS = (ROOT / "recipes/defaults.yaml").read_text("utf-8")


def settings(group: Settings) -> Iterator[tuple[str, object]]:
    """Yield the names and values of a group's settings, with nested groups in place."""
    for name, hint in hints_of(type(group)).items():
        value = getattr(group, name)
        if group_in(hint):
            yield from settings(value[0] if isinstance(value, tuple) else value)
        else:
            yield name, value


def test_defaults_yaml_has_every_setting_with_its_default() -> None:
    lines = re.findall(r"^[ -]*(\w+): ([^#\n]+) # \S.*$", DEFAULTS, re.MULTILINE)
    rows = [(name, str(list(value) if isinstance(value, tuple) else value)) for name, value in settings(Recipe())]
    assert [(name, value.replace("true", "True").replace("false", "False")) for name, value in lines] == rows
    assert Recipe.parse(DEFAULTS, "defaults.yaml") == Recipe()


def test_the_example_is_a_recipe() -> None:
    section = (ROOT / "docs/guide/train-x22.md").read_text("utf-8").partition("\n## Recipes\n")[2]
    lines = section.partition("    seed: 1\n")
    example = "seed: 1\n" + lines[2].partition("\n\n")[0].replace("\n    ", "\n").removeprefix("    ")
    assert Recipe.parse(example, "example").epochs == 300
