"""Padding by its names in frameworks."""

from __future__ import annotations

Padding = tuple[int, int, int, int]
"""(top, bottom, left, right) in pixels."""


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return TensorFlow's padding (before, after) of an axis for ``same``. An odd pixel goes after."""
    reach = dilation * (kernel - 1) + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def padding_of(
    kind: str, size: tuple[int, int], window: tuple[int, int], strides: tuple[int, int], dilation: tuple[int, int]
) -> Padding:
    """Return the padding of a window over a map of (height, width); ``kind`` is ``same`` or ``valid``.

    Raises:
        ValueError: ``kind`` has another value.
    """
    if kind == "valid":
        return 0, 0, 0, 0
    if kind != "same":
        raise ValueError(f"padding='{kind}'")
    (top, bottom), (left, right) = (same_padding(*each) for each in zip(size, window, strides, dilation))
    return top, bottom, left, right
