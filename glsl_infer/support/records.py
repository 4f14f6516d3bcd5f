"""``dataclass(frozen=True)`` with a quarter of the import time on a Raspberry Pi.

The standard decorator generates and compiles six functions for each class: 2.4 million ARM instructions. A runner has
some fifty classes. This decorator gives all classes the same functions. It has neither ``field`` nor ``InitVar``, order
or slots. ``dataclasses.fields``, ``replace`` and ``asdict`` work: the standard class is generated at their first use.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def replace(record: Any, **changes: Any) -> Any:
        """Return a copy of a record with some other values, without the import of ``dataclasses``."""
        fields = {**dict(zip(record.__match_args__, _values(record))), **changes}
        return type(record)(**fields)  # after the fields are read, because a delayed record then changes its class

    def dataclass(*, frozen: bool):
        """Return a decorator for classes with plain fields, with or without defaults and ``__post_init__``."""
        assert frozen, "use the standard library's dataclass for mutable classes"
        return _record


def _record(cls: type) -> type:
    names = tuple(dict.fromkeys((*getattr(cls, "__match_args__", ()), *_own_annotations(cls))))
    defaults = tuple([getattr(cls, name) for name in names if hasattr(cls, name)])
    count, has_post_init = len(names), hasattr(cls, "__post_init__")
    needed = count - len(defaults)

    def init(self: Any, *values: Any, **named: Any) -> None:
        if len(values) != count:
            if named or not needed <= len(values) < count:
                values = _complete(cls, names, values, named)
            else:
                values += defaults[len(values) - needed :]
        elif named:
            _complete(cls, names, values, named)
        self.__dict__.update(zip(names, values))
        if has_post_init:
            self.__post_init__()

    _set(cls, "__match_args__", names)
    _set(cls, "__init__", init)
    for function in (_repr, _eq, _hash, _setattr, _delattr):
        name = f"__{function.__name__.strip('_')}__"
        if name not in vars(cls):
            _set(cls, name, function)
    for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__"):
        setattr(cls, name, _Standard(cls, name))
    return cls


def _own_annotations(cls: type) -> dict[str, Any]:
    """Return the annotations of a class without those of its bases, which Python 3.9 includes."""
    if sys.version_info >= (3, 10):
        return dict(getattr(cls, "__annotations__", {}))
    return dict(vars(cls).get("__annotations__", {}))


def _set(cls: type, name: str, function: Any) -> None:
    setattr(cls, name, function)


def _complete(cls: type, names: tuple[str, ...], values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the value of every field, with defaults.

    Raises:
        TypeError: the arguments do not fit the fields.
    """
    if len(values) > len(names):
        raise TypeError(f"{cls.__qualname__}() takes {len(names)} values, and {len(values)} were given")
    by_name = dict(zip(names, values))
    for name, value in named.items():
        if name in by_name or name not in names:
            problem = "two values for" if name in by_name else "no field"
            raise TypeError(f"{cls.__qualname__}() got {problem} '{name}'")
        by_name[name] = value
    missing = [name for name in names if name not in by_name and not hasattr(cls, name)]
    if missing:
        raise TypeError(f"{cls.__qualname__}() misses: {', '.join(missing)}")
    return tuple(by_name[name] if name in by_name else getattr(cls, name) for name in names)


def _values(record: Any) -> tuple[Any, ...]:
    return tuple([getattr(record, name) for name in record.__match_args__])


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> None:
    _frozen(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    _frozen(f"cannot delete field {name!r}")


def _frozen(message: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(message)


class _Standard:
    """Descriptor of an attribute of the standard library's dataclass, which is generated at its first use."""

    def __init__(self, cls: type, name: str) -> None:
        self._cls, self._name = cls, name

    def __get__(self, record: object, owner: type) -> Any:
        import dataclasses
        import inspect

        cls: Any = self._cls
        types: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            types.update(_own_annotations(base))
        names: tuple[str, ...] = cls.__match_args__
        defaults = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        body = {"__annotations__": {name: types[name] for name in names}, "__module__": cls.__module__, **defaults}
        standard: Any = dataclasses.dataclass(frozen=True)(type(cls.__name__, (), body))
        attribute = inspect.signature(standard) if self._name == "__signature__" else getattr(standard, self._name)
        setattr(cls, self._name, attribute)
        return attribute
