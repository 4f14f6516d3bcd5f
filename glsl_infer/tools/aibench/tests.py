"""The nine tests as the paper has them: network, picture, time limit, and a Pixel 2's result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Test:
    """A test.

    Attributes:
        number: 1 to 9.
        task: what the network is for.
        network: its file's name without suffix, and its name in ``training.aibench.networks``.
        width, height: of the picture, in pixels.
        limit: seconds; None where the paper sets none.
        reference: what a Google Pixel 2 reached (the paper's table 2): milliseconds a picture; megapixels for test 9.
        values: what the bytes 0 and 255 of a picture stand for.
        classes: how many the network tells apart, 0 where it makes something else.
        quick: (width, height) of the picture for a quick run, None where a quick run leaves the test out.
    """

    number: int
    task: str
    network: str
    width: int
    height: int
    limit: float | None
    reference: float
    values: tuple[float, float]
    classes: int = 0
    quick: tuple[int, int] | None = None


SIGNED, POSITIVE = (-1.0, 1.0), (0.0, 1.0)

TESTS = (
    Test(1, "classification", "mobilenet-v1", 224, 224, 25.0, 143.0, SIGNED, 1000, quick=(64, 64)),
    Test(2, "classification", "inception-v3", 346, 346, 40.0, 1264.0, SIGNED, 1000),
    Test(3, "face recognition", "inception-resnet-v1", 512, 512, 40.0, 1953.0, SIGNED),
    Test(4, "deblurring", "srcnn", 300, 300, 30.0, 1168.0, POSITIVE, quick=(48, 48)),
    Test(5, "super-resolution x3", "vdsr", 192, 192, 40.0, 2104.0, POSITIVE, quick=(48, 48)),
    Test(6, "super-resolution x4", "srgan", 128, 128, 50.0, 4219.0, SIGNED),
    Test(7, "segmentation", "icnet", 576, 384, 20.0, 394.0, POSITIVE),
    Test(8, "enhancement", "dped", 192, 128, 25.0, 1360.0, POSITIVE, quick=(48, 32)),
    Test(9, "largest picture", "srcnn", 300, 300, None, 4.0, POSITIVE, quick=(48, 48)),
)

LARGEST = 9
"""The test that is about memory and not about time."""


def chosen(only: str | None, quick: bool) -> tuple[Test, ...]:
    """Return the tests to run.

    Args:
        only: numbers with commas between, such as "4,8"; None for all.
        quick: leave out what a quick run does not have.

    Raises:
        ValueError: what is wrong with ``only``.
    """
    tests = tuple(test for test in TESTS if test.quick is not None or not quick)
    if only is None:
        return tests
    numbers = [word.strip() for word in only.split(",")]
    known = {str(test.number): test for test in tests}
    if wrong := [word for word in numbers if word not in known]:
        raise ValueError(f"{', '.join(wrong)}; choose of {', '.join(known)}")
    return tuple(test for test in tests if str(test.number) in numbers)
