"""The nine tests: networks, input sizes, and the paper's parameter counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from training.aibench import classifiers, faces, masks, pictures, segmentation
from training.backend import keras


@dataclass(frozen=True)
class Network:
    """A network of the benchmark.

    Attributes:
        name: name of its file.
        build: function of the height and width of the input.
        height, width: of the input, in pixels.
        parameters: number in the paper's table.
        values: values of the bytes 0 and 255 of an image.
        difference: reason for a difference of more than 3 % in the number of parameters.
    """

    name: str
    build: Callable[[int, int], keras.Model]
    height: int
    width: int
    parameters: int
    values: tuple[float, float]
    difference: str = ""


SIGNED, POSITIVE = (-1.0, 1.0), (0.0, 1.0)

NETWORKS = (
    Network("mobilenet-v1", classifiers.mobilenet, 224, 224, 4_200_000, SIGNED),
    Network(
        "inception-v3",
        classifiers.inception_v3,
        346,
        346,
        27_100_000,
        SIGNED,
        "the paper counts the second head, which only training uses",
    ),
    Network("inception-resnet-v1", faces.inception_resnet_v1, 512, 512, 22_800_000, SIGNED),
    Network("srcnn", pictures.srcnn, 300, 300, 69_000, POSITIVE),
    Network("vdsr", pictures.vdsr, 192, 192, 665_000, POSITIVE),
    Network("srgan", pictures.srgan, 128, 128, 1_500_000, SIGNED, "the paper rounds 1.55 million down"),
    Network("icnet", segmentation.icnet, 384, 576, 6_700_000, POSITIVE),
    Network("dped", pictures.dped, 128, 192, 400_000, POSITIVE),
)
"""Tests 1 to 8. Test 9 runs the network of test 4 on images of increasing size."""

MASKS = Network("masks", masks.masks, 96, 96, 619_000, POSITIVE)
"""Trained to segment waste of six materials; not one of the tests."""
