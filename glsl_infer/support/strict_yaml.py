"""Read settings from YAML files strictly: an unknown, repeated or invalid setting is an error with its line number.

Numbers are decimal (``0.001`` or ``1e-3``), and a bool is ``true`` or ``false``. YAML's other spellings (``0x10``,
``1:30``, ``yes``, ``.inf``) are refused, because they are usually mistakes.
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

Group = TypeVar("Group", bound=Settings)

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PASSWORD = re.compile(r"://[^/\s]*@")
_LARGEST = 1 << 18
"""Largest file in bytes. Larger files are mistakes, and would take long to parse."""

_MOST_GROUPS = 10_000
"""Largest number of groups in a file."""


def read(path: Path, group_type: type[Group]) -> Group:
    """Read one group of settings from a YAML file.

    Raises:
        InputError: the file cannot be read, or a setting is invalid. The message has the file, the line, the key, its
            value and the allowed values.
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
    return parse(text, group_type, str(path))


def parse(text: str, group_type: type[Group], source: str) -> Group:
    """Parse one group of settings from YAML ``text``; messages call the text ``source``.

    Raises:
        InputError, MissingExtraError: as for ``read``.
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
    return cast(Group, _Reader(source, group_type).group(group_type, node, ""))


def dump(settings: Settings) -> str:
    """Return ``settings`` as YAML, including defaults; ``parse`` is the inverse."""
    yaml = _yaml()
    text: str = yaml.safe_dump(_lists(asdict(settings)), sort_keys=False, default_flow_style=None, width=1000)
    return text


class _Reader:
    """Converter from YAML nodes to settings; ``source`` and ``root`` are for its messages."""

    def __init__(self, source: str, root: type[Settings]) -> None:
        self.source, self.root = source, root
        self._groups = 0

    def group(self, group_type: type[Settings], node: Node, path: str) -> Settings:
        self._groups += 1
        if self._groups > _MOST_GROUPS:  # with aliases a short file can contain a group a million times
            raise self._wrong(node, path, f"is one of more than {_MOST_GROUPS:,} groups; write several files")
        if node.id != "mapping":
            raise self._wrong(node, path, f"is {_describe(node)}; it must be a group of settings, KEY: VALUE each")
        hints = hints_of(group_type)
        values: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if key.id == "scalar" else _describe(key)
            inner = f"{path}.{name}" if path else name
            if name not in hints:
                raise self._wrong(key, inner, f"is not a setting; {self._instead(name, group_type, path)}")
            if name in values:
                raise self._wrong(key, inner, "is there twice; keep one")
            values[name] = self._value(hints[name], value, inner)
        try:
            return group_type(**values)
        except InputError as error:
            raise self._wrong(node, f"{path}:" if path else "", str(error)) from None

    def _value(self, hint: Any, node: Node, path: str) -> Any:
        inner = group_in(hint)
        if inner and get_origin(hint) is not tuple:
            return self.group(inner, node, path)
        value: Any = None
        if node.id == "sequence":
            value = tuple(
                self.group(inner, item, f"{path}[{index}]") if inner else _scalar(item)
                for index, item in enumerate(node.value)
            )
        elif node.id == "scalar":
            value = _scalar(node)
        if not fits(hint, value):
            raise self._wrong(node, path, f"is {_describe(node)}; it must be {allowed(hint)}")
        return value

    def _instead(self, name: str, group_type: type[Settings], path: str) -> str:
        """Suggest a setting for an unknown key."""
        names = list(hints_of(group_type))
        elsewhere = [path for path in _paths(self.root) if path.rpartition(".")[2] == name]
        close = nearest(name, names) or next(iter(elsewhere), None)
        settings = f"{path or 'the top level'} has {', '.join(names)}"
        return f"did you mean {close}? {settings}" if close else settings

    def _wrong(self, node: Node, path: str, problem: str) -> InputError:
        return InputError(f"{self.source}:{node.start_mark.line + 1}: {path + ' ' if path else ''}{problem}")


def _paths(group_type: type[Settings], before: str = "") -> list[str]:
    """Return the dotted names of all settings in a group, including nested groups."""
    paths = []
    for name, hint in hints_of(group_type).items():
        inner = group_in(hint)
        paths += [before + name, *(_paths(inner, f"{before}{name}.") if inner else [])]
    return paths


def _scalar(node: Node) -> bool | int | float | str | None:
    """Convert an unquoted scalar to its type and a quoted one to text; return None for other nodes."""
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


def _describe(node: Node) -> str:
    """Describe the value of a node for a message."""
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
