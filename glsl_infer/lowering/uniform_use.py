"""Which uniforms the text of a shader uses, and the text without those that it does not."""

from __future__ import annotations

import re
from functools import lru_cache

_UNIFORM = re.compile(r"^uniform vec2 (\w+);\n", re.MULTILINE)


@lru_cache(maxsize=64)  # slices of a layer often share their shader
def without_uniforms(fragment: str, unused: tuple[str, ...]) -> str:
    """Return the shader without the declarations of some uniforms."""
    return _UNIFORM.sub(lambda line: "" if line[1] in unused else line[0], fragment) if unused else fragment


@lru_cache(maxsize=256)  # slices of a layer often share their shader
def uses(fragment: str, uniform: str) -> bool:
    """Return whether the shader reads the uniform: mentions it, comments aside, after declaring it."""
    return len(re.findall(rf"\b{uniform}\b", _without_comments(fragment))) > 1


@lru_cache(maxsize=64)
def _without_comments(fragment: str) -> str:
    return re.sub(r"//[^\n]*", "", fragment)
