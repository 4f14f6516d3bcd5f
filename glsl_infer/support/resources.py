"""Files that come with the package: shader templates, the JSON schema, the default model.

In a wheel they lie inside the package; in a checkout (or an editable install of one), shaders/ and
models/ lie beside it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
MODEL_NAMES = ("grocery-x22-257", "trashnet-x22-257")
"""Models in a wheel: ``glsl-infer train`` starts from them."""
DEFAULT_MODEL_NAME = "grocery-x22-257.glslnn"


def _folder(name: str) -> Path:
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


@cache
def template(name: str) -> str:
    """Return the text of a shader template."""
    return (_folder("shaders") / name).read_text("utf-8")


def template_names() -> tuple[str, ...]:
    """Return the names of all shader templates."""
    return tuple(sorted(path.name for path in _folder("shaders").iterdir() if path.is_file()))


def default_model() -> Path:
    """Return the path of the model that ``classify`` uses when none is given."""
    return _folder("models") / DEFAULT_MODEL_NAME


def model(name: str) -> Path:
    """Return the path of a model that comes with the package, by its name without the ending."""
    return _folder("models") / f"{name}.glslnn"
