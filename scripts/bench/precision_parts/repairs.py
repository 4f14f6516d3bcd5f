"""Measures of an export against 8-bit rounding, each removed or added on its own: rows before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from glsl_infer.compiler import exact_weights
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.ranges import eight_bits, expected_error, sensitivity
from glsl_infer.lowering import builder, texture_choice, weight_bytes, weight_rounding, weight_texture


@contextmanager
def changed(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    """Set attributes of modules or classes within the block."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    try:
        for owner, name, value in patches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _nearest(possible: texture_choice.TextureOption, node: Any, build: Any, columns: Any, constants: Any) -> Any:
    return weight_bytes.pack(constants) if possible.bits == 8 else weight_texture.pack(constants)


def _unmoved(added: Any, **_: Any) -> Any:
    return 0.0 * added.sum(axis=1)


def _evenly(numbers: Any, most: int, **_: Any) -> Any:
    return weight_bytes.sums_kept(numbers)


def _none(*_: Any, **__: Any) -> frozenset[str]:
    return frozenset()


Change = tuple[Callable[[Options], Options], tuple[tuple[Any, str, Any], ...]]

UNCHANGED = ""


def _same(options: Options) -> Options:
    return options


REPAIRS: Mapping[str, Change] = {
    "weights rounded one by one": (_same, ((texture_choice.TextureOption, "packed", _nearest),)),
    "weights rounded one by one, biases corrected": (_same, ((weight_rounding, "rounded", _evenly),)),
    "biases not corrected": (_same, ((weight_rounding, "output_shift", _unmoved),)),
    "weights of 16 bits": (lambda options: replace(options, weight_bits="16"), ()),
    "weights of 16 bits for maps of 16 bits": (_same, ((builder, "MOST_SIXTEEN_BIT", -1.0),)),
    "ranges by maximum alone": (_same, ((expected_error, "FEWEST", 1 << 30),)),
    "headroom 1.2": (_same, ((eight_bits, "HEADROOM", 1.2),)),
    "8 bits for weights of more noise": (_same, ((weight_bytes, "MOST_NOISE", 8.0),)),
    "weights not kept finer": (_same, ((exact_weights, "choose", _none),)),
    "auto may cost 1.4": (_same, ((sensitivity, "MOST_COST", 1.4), (exact_weights, "MOST_COST", 1.4))),
}
"""Changed options of an export and changed values of the compiler, by a readable name."""

ONLY_AUTO = ("weights of 16 bits for maps of 16 bits", "weights not kept finer", "auto may cost 1.4")
"""Changes without an effect if all maps have 8 bits."""


@contextmanager
def repaired(name: str, options: Options) -> Iterator[Options]:
    """Yield options for an export with one thing changed."""
    of_options, patches = REPAIRS.get(name, (lambda options: options, ()))
    with changed(*patches):
        yield of_options(options)
