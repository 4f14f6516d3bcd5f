"""Settings as YAML files, read strictly: what is unknown, there twice or out of its range is an error with its line.

Numbers are decimal (``0.001`` or ``1e-3``), truth is ``true`` or ``false``: YAML's other ways to write them (``0x10``,
``1:30``, ``yes``, ``.inf``) are refused, because they are rarely meant.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_origin

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.support.files import not_a_file
from glsl_infer.support.near_names import nearest
from glsl_infer.support.plain_text import one_line, visible
from glsl_infer.support.settings import Settings, allowed, fits, group_in, hints_of

if TYPE_CHECKING:
    from yaml import Node

Kind = TypeVar("Kind", bound=Settings)

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PASSWORD = re.compile(r"://[^/\s]*@")
_LARGEST = 1 << 18
"""Bytes of a file of settings; more is a mistake, and would take long to refuse."""

_MOST_GROUPS = 10_000
"""Groups of settings in a file."""


def read(path: Path, kind: type[Kind]) -> Kind:
    """Read one group of settings from a YAML file.

    Raises:
        InputError: it cannot be read or holds what it may not; the message names file, line and key, what was given and
            what is allowed.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        problem = not_a_file(path)
        if problem:
            raise InputError(f"{path}: is {problem}; give a YAML file")
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: is larger than {_LARGEST >> 10} KiB; that is not a file of settings")
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; give a YAML file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return parse(text, kind, str(path))


def parse(text: str, kind: type[Kind], source: str) -> Kind:
    """Read one group of settings from YAML ``text``; messages call it ``source``.

    Raises:
        InputError, MissingExtraError: as ``read`` does.
    """
    yaml = _yaml()
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError(f"{source}:{mark.line + 1 if mark else 1}: is not YAML ({error.problem})") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{source}: is not YAML ({' '.join(str(error).split())})") from None
    if node is None:
        raise InputError(f"{source}: holds no settings; {{}} is the one that leaves all at their defaults")
    return cast(Kind, _Reader(source, kind).group(kind, node, ""))


def dump(settings: Settings) -> str:
    """Return all of ``settings`` as YAML, defaults included; ``parse`` makes the same of it."""
    yaml = _yaml()
    text: str = yaml.safe_dump(_lists(asdict(settings)), sort_keys=False, default_flow_style=None, width=1000)
    return text


class _Reader:
    """Makes settings of YAML nodes; ``source`` and ``root`` are for its messages."""

    def __init__(self, source: str, root: type[Settings]) -> None:
        self.source, self.root = source, root
        self._groups = 0

    def group(self, kind: type[Settings], node: Node, place: str) -> Settings:
        self._groups += 1
        if self._groups > _MOST_GROUPS:  # with aliases a short file may hold one group a million times
            raise self._wrong(node, place, f"is one of more than {_MOST_GROUPS:,} groups; write several files")
        if node.id != "mapping":
            raise self._wrong(node, place, f"is {_shown(node)}; it must be a group of settings, KEY: VALUE each")
        hints = hints_of(kind)
        values: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if key.id == "scalar" else _shown(key)
            inner = f"{place}.{name}" if place else name
            if name not in hints:
                raise self._wrong(key, inner, f"is not a setting; {self._instead(name, kind, place)}")
            if name in values:
                raise self._wrong(key, inner, "is there twice; keep one")
            values[name] = self._value(hints[name], value, inner)
        try:
            return kind(**values)
        except InputError as error:
            raise self._wrong(node, f"{place}:" if place else "", str(error)) from None

    def _value(self, hint: Any, node: Node, place: str) -> Any:
        inner = group_in(hint)
        if inner and get_origin(hint) is not tuple:
            return self.group(inner, node, place)
        value: Any = None
        if node.id == "sequence":
            value = tuple(
                self.group(inner, item, f"{place}[{index}]") if inner else _scalar(item)
                for index, item in enumerate(node.value)
            )
        elif node.id == "scalar":
            value = _scalar(node)
        if not fits(hint, value):
            raise self._wrong(node, place, f"is {_shown(node)}; it must be {allowed(hint)}")
        return value

    def _instead(self, name: str, kind: type[Settings], place: str) -> str:
        """Return what may have been meant by an unknown key."""
        here = list(hints_of(kind))
        elsewhere = [path for path in _paths(self.root) if path.rpartition(".")[2] == name]
        close = nearest(name, here) or next(iter(elsewhere), None)
        known = f"{place or 'the top level'} has {', '.join(here)}"
        return f"did you mean {close}? {known}" if close else known

    def _wrong(self, node: Node, place: str, what: str) -> InputError:
        return InputError(f"{self.source}:{node.start_mark.line + 1}: {place + ' ' if place else ''}{what}")


def _paths(kind: type[Settings], before: str = "") -> list[str]:
    """Return the dotted names of all settings in a group and in those that it holds."""
    paths = []
    for name, hint in hints_of(kind).items():
        inner = group_in(hint)
        paths += [before + name, *(_paths(inner, f"{before}{name}.") if inner else [])]
    return paths


def _scalar(node: Node) -> bool | int | float | str | None:
    """Return what an unquoted scalar says, a quoted one as text, and None for anything else."""
    if node.id != "scalar":
        return None
    text = str(node.value)
    if visible(text) != text:
        return None
    if node.style is None and node.tag != "tag:yaml.org,2002:null":
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text) if len(text) < 300 else None  # Python refuses thousands of digits
        if _NUMBER.fullmatch(text):
            return float(text)
    return text or None


def _shown(node: Node) -> str:
    """Return what a node holds, as a message shows it."""
    if node.id != "scalar":
        return {"mapping": "a group", "sequence": "a list"}[node.id]
    text = _PASSWORD.sub("://...@", one_line(node.value))
    if visible(str(node.value)) != str(node.value):
        return f"{text[:60]!r}, with a character that is not shown"
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if text else "empty"


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError.of("PyYAML", "pyyaml", "reading a YAML file") from None
    return yaml
