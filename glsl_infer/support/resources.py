"""Files of the package other than code: shader templates, the JSON schema, the default model.

A wheel contains them inside the package. A checkout, or an editable install of one, has shaders/ and models/ next to
the package.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
MODEL_NAMES = ("grocery-x22-257", "trashnet-x22-257")
"""Models in a wheel: ``glsl-infer train`` starts from them."""
DEFAULT_MODEL_NAME = "grocery-x22-257.glslnn"


def _folder(name: str) -> Path:
    packaged = PACKAGE / name
    return packaged if packaged.is_dir() else PACKAGE.parent / name


@cache
def template(name: str) -> str:
    """Return the code of a shader template, with its ``//@`` lines and without comments.

    Comments are for readers of shaders/. In a bundle they would be a third of a shader, which each start of a Raspberry
    Pi would read again.
    """
    code = re.sub(r"[ \t]*//(?!@)[^\n]*", "", template_source(name))
    return re.sub(r"\n{2,}", "\n", code).lstrip("\n")


def template_source(name: str) -> str:
    """Return the text of a shader template as it is stored."""
    return (_folder("shaders") / name).read_text("utf-8")


def template_names() -> tuple[str, ...]:
    """Return the names of all shader templates."""
    return tuple(sorted(path.name for path in _folder("shaders").iterdir() if path.is_file()))


def default_model() -> Path:
    """Return the path of the default model of ``classify``."""
    return _folder("models") / DEFAULT_MODEL_NAME


def model(name: str) -> Path:
    """Return the path of a model of ``MODEL_NAMES``."""
    return _folder("models") / f"{name}.glslnn"
