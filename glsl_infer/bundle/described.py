"""Reader of JSON by description: an interpreter of the objects and types in format.json and other such tables.

A reader takes a value and returns the object for it, or refuses the value: unknown or missing keys, wrong types,
integers and lengths out of range. Readers are created at their first use. Rules between fields are code, in the
constructors of the objects.

A type is a name, such as ``name``, ``boolean``, ``integer RANGE``, ``object NAME``, or a key of the table of types, or
one of these::

    {"list": TYPE, "least": 1, "most": 9, "cap": 9, "unique": RULE}      "or_one": a value alone is a list of one
    {"tuple": [TYPE, ...]}    {"map": TYPE}    {"choice": {OBJECT: [KEY, ...]}}
    {"integer": [1, 9]}       {"number": [0, 1]}    {"words": [WORD, ...]}
    {"type": TYPE, "default": VALUE}         for an optional key; the value null is None
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from glsl_infer.bundle import format_constants
from glsl_infer.bundle.format_constants import (
    MAX_NUMBER,
    OBJECTS,
    ONLY,
    PROBE_FORMULA,
    RANGE_RULES,
    RANGES,
    SECTIONS,
    TYPES,
)
from glsl_infer.errors import BundleError

Read = Callable[[Any], Any]

_REQUIRED = object()
_LOWEST = {"number": -MAX_NUMBER, "nonzero": -MAX_NUMBER, "positive": 0.0, "tolerance": 0.0}
_CHECKED_BEFORE = ("format", "version", "profile", "cpu_profile")


class FieldError(BundleError):
    """A value in conflict with its description. The enclosing readers add its location.

    Args:
        problem: the error; if it begins with ``is``, the message begins with the name of the value.
        rule: the violated rule; by default the section's.
    """

    def __init__(self, problem: str, rule: str | None = None) -> None:
        super().__init__(problem, rule)
        self.place: list[str] = []

    def __str__(self) -> str:
        problem, place = str(self.args[0]), self.place
        if not problem.startswith("is "):
            return f"{_path(place)}: {problem}"
        return f"{_path(place[1:])}: '{place[0][1:]}' {problem}" if place[0][0] == "." else f"{_path(place)} {problem}"


def _path(place: list[str]) -> str:
    """Return a location as text. ``place`` begins with the innermost part and ends with the name of the root."""
    return "".join(reversed(place[:-1])).lstrip(".") or place[0]


class Described:
    """Readers of objects.

    Args:
        make: constructors by the name of an object or a type. A constructor gets the values of an object's keys, in
            order, with None for keys only in other variants of the object.
        own: readers of types without a description, or faster readers of described types.
        objects: the keys of objects and their types, by the objects' names; by default those of format.json.
        types: types with a description.
    """

    def __init__(
        self,
        make: Mapping[str, Callable[..., Any]],
        own: Mapping[str, Read],
        objects: Mapping[str, Mapping[str, Any]] = OBJECTS,
        types: Mapping[str, Any] = TYPES,
    ) -> None:
        self._make, self._readers, self._objects, self._types = make, dict(own), objects, types

    def read(self, kind: str, data: Any, name: str = "manifest") -> Any:
        """Read an object.

        Args:
            kind: the name of the object in format.json.
            data: parsed JSON.
            name: name of the root in messages.

        Raises:
            FieldError: the data does not follow the format.
        """
        try:
            return self._reader(f"object {kind}")(data)
        except FieldError as error:
            error.place.append(name)
            raise

    def _reader(self, kind: Any) -> Read:
        if not isinstance(kind, str):
            return self._compound(kind)
        if kind not in self._readers:
            self._readers[kind] = self._simple(*kind.partition(" ")[::2])
        return self._readers[kind]

    def _simple(self, kind: str, name: str) -> Read:
        """Return the reader of a named type."""
        if kind == "object":
            return self._object(name)
        if kind == "integer":
            return _integer(*RANGES[name], RANGE_RULES.get(name))
        if kind == "word":
            return _word(getattr(format_constants, name.upper()))
        if kind == "pattern":
            return _pattern(getattr(format_constants, f"{name.upper()}_PATTERN"))
        if kind in _LOWEST:
            return _number(_LOWEST[kind], zero=kind in ("number", "tolerance"))
        if kind == "formula":
            return _word((PROBE_FORMULA,))
        if kind in _CHECKED_BEFORE:
            return lambda value: value
        if kind in ("name", "reference"):
            return text
        if kind == "boolean":
            return _boolean
        read, make = self._reader(self._types[kind]), self._make.get(kind)
        return read if make is None else lambda value: make(read(value))

    def _compound(self, kind: Mapping[str, Any]) -> Read:
        if "list" in kind:
            return _list(self._reader(kind["list"]), kind)
        if "tuple" in kind:
            return _tuple([self._reader(item) for item in kind["tuple"]])
        if "map" in kind:
            return _map(self._reader(kind["map"]))
        if "choice" in kind:
            return _choice([(keys, self._object(name)) for name, keys in kind["choice"].items()])
        if "words" in kind:
            return _word(tuple(kind["words"]))
        return _integer(*kind["integer"]) if "integer" in kind else _number_between(*kind["number"])

    def _object(self, name: str) -> Read:
        """Return the reader of an object by its name in the description."""
        keys = list(self._objects[name])
        entries = []
        for key, kind in self._objects[name].items():
            other, words = ONLY.get((name, key), (key, ()))
            if isinstance(kind, str) or "default" not in kind:
                entries.append((key, self._reader(kind), keys.index(other), words, _REQUIRED))
            else:
                entries.append((key, self._reader(kind["type"]), keys.index(other), words, kind["default"]))
        return _object(entries, SECTIONS.get(name, ()), self._make.get(name, lambda *values: values))


def text(value: Any) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise FieldError(f"is {value!r:.40}, not a string")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise FieldError("is a string with half of a surrogate pair in it")
    return value


def scalar(value: Any) -> Any:
    """Return a string, a number, true, false or null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    number = _any_number(value)
    return value if isinstance(value, int) else number


Entry = tuple[str, Read, int, tuple[str, ...], Any]
"""A key of an object: reader of its value, index of the key it depends on, the words of that key, default."""


def _object(entries: list[Entry], sections: tuple[str, ...], make: Callable[..., Any]) -> Read:
    """Return the reader of an object with fixed keys.

    Args:
        entries: its keys, in the order of the arguments of ``make``.
        sections: keys whose name is the rule of an error within them.
        make: constructor of the result.
    """

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError("is not an object")
        fields: list[Any] = []
        left, key = len(value), ""
        try:
            for key, reader, other, words, default in entries:
                if words and fields[other] not in words:
                    fields.append(None)
                elif key in value:
                    fields.append(reader(value[key]))
                    left -= 1
                elif default is _REQUIRED:
                    raise FieldError(f"'{key}' is missing")
                else:
                    fields.append(default if default is None else reader(default))
        except FieldError as error:
            if key in value:
                error.place.append(f".{key}")
                error.rule = error.rule or (key if key in sections else None)
            raise
        if left:
            raise FieldError(f"unknown key '{_surplus(value, entries, fields)}'")
        return make(*fields)

    return read


def _surplus(value: Mapping[str, Any], entries: list[Entry], fields: list[Any]) -> str:
    """Return the first unknown key of an object."""
    keys = {key for key, _, other, words, _ in entries if not words or fields[other] in words}
    return f"{min(set(value) - keys):.60}"


def _list(reader: Read, kind: Mapping[str, Any]) -> Read:
    """Return the reader of a list of items, with limits and options as in its description."""
    least, cap, unique = kind.get("least", 0), kind.get("cap"), kind.get("unique")
    most, or_one = kind.get("most", cap), kind.get("or_one", False)

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            if not or_one:
                raise FieldError("is not a list")
            value = [value]
        if len(value) < least or (most is not None and len(value) > most):
            bounds = f"{least} or more" if most is None else f"{least} to {most}"
            raise FieldError(f"is a list of {len(value)}, not of {bounds}", "caps" if cap and value else None)
        items: list[Any] = []
        try:
            for item in value:
                items.append(reader(item))
        except FieldError as error:
            error.place.append(f"[{len(items)}]")
            raise
        if unique and len(set(items)) != len(items):
            twice = next(item for item, count in Counter(items).items() if count > 1)
            raise FieldError(f"'{twice:.60}' is there twice; give every entry its own name", unique)
        return tuple(items)

    return read


def _tuple(readers: list[Read]) -> Read:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(readers):
            raise FieldError(f"expected a list of {len(readers)} entries")
        return tuple([reader(item) for reader, item in zip(readers, value)])

    return read


def _map(reader: Read) -> Read:
    """Return the reader of an object with arbitrary keys and values of one type."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise FieldError("is not an object")
        items: dict[str, Any] = {}
        key = ""
        try:
            for key, item in value.items():
                items[key] = reader(item)
        except FieldError as error:
            error.place.append(f"['{key:.60}']")
            raise
        return items

    return read


def _choice(options: list[tuple[tuple[str, ...], Read]]) -> Read:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError("is not an object")
        return next(reader for keys, reader in options if all(key in value for key in keys))(value)

    return read


def _word(words: tuple[str, ...]) -> Read:
    def read(value: Any) -> str:
        if value not in words:
            raise FieldError(f"is {value!r:.40}, not one of {', '.join(words)}")
        return str(value)

    return read


def _pattern(pattern: str) -> Read:
    def read(value: Any) -> str:
        if not re.fullmatch(pattern, text(value)):
            raise FieldError(f"is '{value:.40}', not a name that GLSL allows")
        return str(value)

    return read


def _integer(low: int, high: int, rule: str | None = None) -> Read:
    """Return the reader of an integer; ``rule`` is the one that a larger integer breaks."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            larger = isinstance(value, int) and value > high
            raise FieldError(f"is {value!r:.40}, not an integer from {low} to {high}", rule if larger else None)
        return value

    return read


def _number(low: float, *, zero: bool) -> Read:
    def read(value: Any) -> float:
        if not isinstance(value, (float, int)) or isinstance(value, bool) or not low <= value <= MAX_NUMBER:
            least = "" if low < 0 else " of 0 or more"
            raise FieldError(f"is {value!r:.40}, not a number{least} up to {MAX_NUMBER:g}")
        if not (value or zero):
            raise FieldError("is 0; give another number")
        return float(value)

    return read


def _number_between(low: float, high: float) -> Read:
    def read(value: Any) -> float:
        if not isinstance(value, (float, int)) or isinstance(value, bool) or not low <= value <= high:
            raise FieldError(f"is {value!r:.40}, not a number from {low:g} to {high:g}")
        return float(value)

    return read


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise FieldError(f"is {value!r:.40}, not true or false")
    return value


_any_number = _number(-MAX_NUMBER, zero=True)
