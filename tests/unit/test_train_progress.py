"""Progress of glsl-infer train: the estimate of the remaining time."""

from __future__ import annotations

from glsl_infer.tools.train import make


def test_the_remaining_time_estimate_converges() -> None:
    """The estimate excludes the time of compiling a network and follows a machine that slows down."""
    now, messages = [0.0], list[str]()
    counted = make._Remaining(messages.append, 100, 2, lambda: now[0])
    for _ in range(2):
        now[0] += 100.0  # compiling
        counted.begin()
        for _ in range(100):
            now[0] += 3.0
            counted()
    minutes = [float(text.split("about ")[1].split()[0]) for text in messages]
    assert minutes == sorted(minutes, reverse=True)
    assert messages[0] == "photograph 1 of 100, about 9.9 minutes left" and minutes[99] == 5.0
    assert messages[99].startswith("photograph 100 of 100, ")
    assert messages[100].startswith("photograph 1 of 100, ")
    slow = make._Remaining(messages.append, 100, 2, lambda: now[0])
    slow.begin()
    for index in range(150):
        now[0] += 1.0 if index < 50 else 4.0
        slow()
    assert 2.9 < float(messages[-1].split("about ")[1].split()[0]) < 3.4
