from __future__ import annotations
def shuffle_order(channels: int, step: int) -> tuple[int, ...]:
    slices, rest = divmod(channels, 4)
    if slices <= step: return tuple(range(slices))
    return tuple((step * i) % slices + (step * i) // slices for i in range(slices))
