"""``dataclass(frozen=True)`` that a Raspberry Pi imports in a quarter of the instructions.

The one of the standard library writes and compiles six functions for each class: 2.4 million ARM instructions, and a
start has some fifty classes. This one gives all classes the same functions. What it lacks (``field``, ``InitVar``,
order, slots) belongs to the other one. ``dataclasses.fields``, ``replace`` and ``asdict`` work; they cost their price
when first asked.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool):
        """Return a decorator for classes of plain fields, with or without defaults, and perhaps ``__post_init__``."""
        assert frozen, "what can change is a dataclass of the standard library"
        return _record


def _record(cls: type) -> type:
    names = tuple(dict.fromkeys((*getattr(cls, "__match_args__", ()), *_own_annotations(cls))))
    defaults = tuple([getattr(cls, name) for name in names if hasattr(cls, name)])
    count, made = len(names), hasattr(cls, "__post_init__")
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
        if made:
            self.__post_init__()

    _give(cls, "__match_args__", names)
    _give(cls, "__init__", init)
    for function in (_repr, _eq, _hash, _setattr, _delattr):
        name = f"__{function.__name__.strip('_')}__"
        if name not in vars(cls):
            _give(cls, name, function)
    for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__"):
        setattr(cls, name, _Standard(cls, name))
    return cls


def _own_annotations(cls: type) -> dict[str, Any]:
    """Return the annotations of a class without those of its bases, which Python 3.9 would give as well."""
    if sys.version_info >= (3, 10):
        return dict(getattr(cls, "__annotations__", {}))
    return dict(vars(cls).get("__annotations__", {}))


def _give(cls: type, name: str, function: Any) -> None:
    setattr(cls, name, function)


def _complete(cls: type, names: tuple[str, ...], values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return a value for each name, defaults where none is given; TypeError as of any function."""
    if len(values) > len(names):
        raise TypeError(f"{cls.__qualname__}() takes {len(names)} values, and {len(values)} were given")
    given = dict(zip(names, values))
    for name, value in named.items():
        if name in given or name not in names:
            what = "two values for" if name in given else "no field"
            raise TypeError(f"{cls.__qualname__}() got {what} '{name}'")
        given[name] = value
    missing = [name for name in names if name not in given and not hasattr(cls, name)]
    if missing:
        raise TypeError(f"{cls.__qualname__}() misses: {', '.join(missing)}")
    return tuple(given[name] if name in given else getattr(cls, name) for name in names)


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
    """What the standard library's dataclass of a class has, made when it is asked for."""

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
        made: Any = dataclasses.dataclass(frozen=True)(type(cls.__name__, (), body))
        found = inspect.signature(made) if self._name == "__signature__" else getattr(made, self._name)
        setattr(cls, self._name, found)
        return found
