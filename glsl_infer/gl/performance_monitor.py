"""Hardware counters of the GPU: GL_AMD_performance_monitor.

Mesa's vc4 driver has it on Linux 4.17 and later.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from functools import partial
from typing import Any

from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.context import Context

EXTENSION = "GL_AMD_performance_monitor"

_COUNTER_TYPE, _RESULT_SIZE, _RESULT = 0x8BC0, 0x8BC5, 0x8BC6
_UNSIGNED_INT64, _UNSIGNED_INT = 0x8BC2, 0x1405
_MAX_NAME = 256

_INTS, _UINTS = POINTER(c_int), POINTER(c_uint)
_SIGNATURES: dict[str, Any] = {
    "BeginPerfMonitor": (c_uint,),
    "DeletePerfMonitors": (c_int, _UINTS),
    "EndPerfMonitor": (c_uint,),
    "GenPerfMonitors": (c_int, _UINTS),
    "GetPerfMonitorCounterData": (c_uint, c_uint, c_int, c_void_p, _INTS),
    "GetPerfMonitorCounterInfo": (c_uint, c_uint, c_uint, c_void_p),
    "GetPerfMonitorCounterString": (c_uint, c_uint, c_int, _INTS, c_char_p),
    "GetPerfMonitorCounters": (c_uint, _INTS, _INTS, c_int, _UINTS),
    "GetPerfMonitorGroupString": (c_uint, c_int, _INTS, c_char_p),
    "GetPerfMonitorGroups": (_INTS, c_int, _UINTS),
    "SelectPerfMonitorCounters": (c_uint, c_ubyte, c_uint, c_int, _UINTS),
}


@dataclass(frozen=True)
class Counter:
    """A counter of the driver: its identifiers, its group's name, its name and its type."""

    group: int
    number: int
    group_name: str
    name: str
    kind: int


def available(context: Context) -> bool:
    """Return whether the driver has counters."""
    context.make_current()
    return EXTENSION in context.gl.text(GL.GL_EXTENSIONS).split() and egl.current() is not None


def counters(context: Context) -> list[Counter]:
    """Return all counters of an ``available`` driver, in its order."""
    context.make_current()
    count = c_int()
    _call("GetPerfMonitorGroups")(byref(count), 0, None)
    groups = (c_uint * count.value)()
    _call("GetPerfMonitorGroups")(None, count.value, groups)
    return [counter for group in groups for counter in _counters_of(group)]


def measure(context: Context, selected: list[Counter], work: Callable[[], object]) -> dict[str, float | None]:
    """Return the value of each counter for ``work``; None if the driver cannot count it.

    Each counter is measured in a separate run. The hardware counts only few at once, and a driver refuses a group with
    a counter that it cannot count.

    Args:
        context: an ``available`` one; it becomes current.
        selected: some of ``counters``.
        work: draws the same at each call; it is called once for each counter.
    """
    context.make_current()
    return {counter.name: _measured(context, counter, work) for counter in selected}


def _measured(context: Context, counter: Counter, work: Callable[[], object]) -> float | None:
    """Return the value of a counter for ``work``; None if the driver cannot measure it."""
    gl, names = context.gl, (c_uint * 1)()
    while gl.GetError():
        pass  # errors of earlier calls
    _call("GenPerfMonitors")(1, names)
    try:
        _call("SelectPerfMonitorCounters")(names[0], 1, counter.group, 1, (c_uint * 1)(counter.number))
        _call("BeginPerfMonitor")(names[0])
        if gl.GetError():
            return None
        work()
        _call("EndPerfMonitor")(names[0])
        gl.Finish()
        size = c_uint()
        _call("GetPerfMonitorCounterData")(names[0], _RESULT_SIZE, 4, byref(size), None)
        data, written = ctypes.create_string_buffer(max(size.value, 16)), c_int()
        _call("GetPerfMonitorCounterData")(names[0], _RESULT, len(data), data, byref(written))
        if gl.GetError():
            return None
        return _decode(data.raw[8 : written.value], counter.kind)  # after the identifiers of group and counter
    finally:
        _call("DeletePerfMonitors")(1, names)


def _decode(data: bytes, counter_type: int) -> float | None:
    types: dict[int, Any] = {_UNSIGNED_INT64: c_uint64, _UNSIGNED_INT: c_uint}
    type_ = types.get(counter_type, ctypes.c_float)
    if len(data) < ctypes.sizeof(type_):
        return None
    value: float = type_.from_buffer_copy(data).value
    return value


def _counters_of(group: int) -> Iterator[Counter]:
    count, most = c_int(), c_int()
    _call("GetPerfMonitorCounters")(group, byref(count), byref(most), 0, None)
    numbers = (c_uint * count.value)()
    _call("GetPerfMonitorCounters")(group, byref(count), byref(most), count.value, numbers)
    group_name = _text(partial(_group_name, group))
    for counter in numbers:
        name = _text(partial(_counter_name, group, counter))
        counter_type = c_uint()
        _call("GetPerfMonitorCounterInfo")(group, counter, _COUNTER_TYPE, byref(counter_type))
        yield Counter(group, counter, group_name, name, counter_type.value)


def _group_name(group: int, length: Any, text: Any) -> None:
    _call("GetPerfMonitorGroupString")(group, _MAX_NAME, length, text)


def _counter_name(group: int, counter: int, length: Any, text: Any) -> None:
    _call("GetPerfMonitorCounterString")(group, counter, _MAX_NAME, length, text)


def _text(query: Callable[[Any, Any], object]) -> str:
    length, text = c_int(), ctypes.create_string_buffer(_MAX_NAME)
    query(byref(length), text)
    return text.value.decode("utf-8", "replace")


def _call(name: str) -> Any:
    return egl.extension_function(f"gl{name}AMD", ctypes.CFUNCTYPE(None, *_SIGNATURES[name]))
