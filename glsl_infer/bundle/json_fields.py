"""Strict reading of JSON: every key is read by name and type, and remaining keys are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glsl_infer.bundle.format_constants import MAX_NUMBER
from glsl_infer.errors import BundleError


class Fields:
    """The fields of one JSON object; ``where`` names it in messages.

    Raises:
        BundleError: from every method; names the object and the field.
    """

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise BundleError(f"{where} is not an object")
        self._left = dict(value)
        self.where = where

    def done(self) -> None:
        """Refuse keys that have not been read."""
        if self._left:
            raise BundleError(f"{self.where}: unknown key '{sorted(self._left)[0]}'")

    def has(self, key: str) -> bool:
        """Return whether a key exists and has not been read yet."""
        return key in self._left

    def any(self, key: str) -> Any:
        """Return the value of a key, of any type."""
        if key not in self._left:
            raise BundleError(f"{self.where}: '{key}' is missing")
        return self._left.pop(key)

    def optional(self, key: str) -> Any:
        """Return the value of a key, of any type, or None if it is absent."""
        return self._left.pop(key, None)

    def text(self, key: str, *, one_of: tuple[str, ...] | None = None) -> str:
        """Return a string."""
        return text(self.any(key), f"{self.where}: '{key}'", one_of=one_of)

    def optional_text(self, key: str) -> str | None:
        """Return a string, or None if the key is absent."""
        return self.text(key) if key in self._left else None

    def integer(self, key: str, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return integer(self.any(key), f"{self.where}: '{key}'", low, high)

    def number(self, key: str, *, low: float = -MAX_NUMBER) -> float:
        """Return a number from ``low`` to ``MAX_NUMBER``."""
        return number(self.any(key), f"{self.where}: '{key}'", low=low)

    def items(self, key: str) -> list[Any]:
        """Return a list."""
        return items(self.any(key), f"{self.where}: '{key}'")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        return tuple(text(item, f"{self.where}: '{key}'[{i}]") for i, item in enumerate(self.items(key)))

    def mapping(self, key: str) -> dict[str, Any]:
        """Return an object with free keys."""
        value = self.any(key)
        if not isinstance(value, Mapping):
            raise BundleError(f"{self.where}: '{key}' is not an object")
        return dict(value)


def text(value: Any, where: str, *, one_of: tuple[str, ...] | None = None) -> str:
    """Return ``value`` if it is a string and, with ``one_of``, allowed."""
    if not isinstance(value, str):
        raise BundleError(f"{where} is {value!r:.40}, not a string")
    if one_of is not None and value not in one_of:
        raise BundleError(f"{where} is '{value:.40}', not one of {', '.join(one_of)}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise BundleError(f"{where} has half of a surrogate pair in it")
    return value


def integer(value: Any, where: str, low: int, high: int) -> int:
    """Return ``value`` if it is an integer in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BundleError(f"{where} is {value!r:.40}, not an integer from {low} to {high}")
    return value


def number(value: Any, where: str, *, low: float = -MAX_NUMBER) -> float:
    """Return ``value`` if it is a number from ``low`` to ``MAX_NUMBER``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= MAX_NUMBER:
        least = "" if low == -MAX_NUMBER else f" of {low:g} or more"
        raise BundleError(f"{where} is {value!r:.40}, not a number{least} up to {MAX_NUMBER:g}")
    return float(value)


def items(value: Any, where: str) -> list[Any]:
    """Return ``value`` if it is a list."""
    if not isinstance(value, list):
        raise BundleError(f"{where} is not a list")
    return value
