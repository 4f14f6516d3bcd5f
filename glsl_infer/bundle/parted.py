"""Bundles of parts: reading of their folders, and consistency checks between parts.

A GPU part is a complete bundle in a folder of the file: parts/0/manifest.json and so on. The reader of such bundles
checks it. This module checks the connections: every tensor is computed before it is read, with the shape expected by
its reader.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glsl_infer.bundle import container, parted_json
from glsl_infer.bundle.cpu_part import WEIGHTS, CpuPart, shape_of, with_weights
from glsl_infer.bundle.format_constants import (
    MAX_CPU_NUMBERS,
    MAX_RESULT,
    MAX_TEXTURE_BYTES,
    PART_FOLDER_PATTERN,
    PROBE_FORMULA,
    PROFILE,
)
from glsl_infer.bundle.manifest import Input, Limits, Manifest, Probe
from glsl_infer.bundle.manifest_check import LABELS
from glsl_infer.bundle.manifest_json import purpose_problem
from glsl_infer.bundle.parted_ends import TensorOutput
from glsl_infer.bundle.parted_json import GPU, PartEntry
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.node import Shape

if TYPE_CHECKING:
    from typing import Union

    from glsl_infer.bundle.bundle import Bundle

    BundlePart = Union[Bundle, CpuPart]

ReadPart = Callable[[Any, str, Mapping[str, bytes]], "Bundle"]
"""Function that returns a bundle for a parsed manifest, its digest and its members, or raises BundleError."""


def folder(number: int) -> str:
    """Return the prefix of the names of a part's members."""
    return f"parts/{number}/"


def manifest_of(
    name: str,
    inputs: Sequence[Input],
    outputs: Sequence[TensorOutput],
    parts: Sequence[BundlePart],
    digests: Mapping[str, str],
) -> Manifest:
    """Return the manifest of a bundle of parts; its limits are the largest of its GPU parts.

    Args:
        name: of the model.
        inputs: of the model.
        outputs: of the model, with their tensors' shapes.
        parts: in order.
        digests: of every member of the file but manifest.json.
    """
    each = [vars(part.manifest.limits) for part in parts if not isinstance(part, CpuPart)]
    limits = Limits(**{key: max(limit[key] for limit in each) for key in each[0]})
    probe = Probe(PROBE_FORMULA, "", (), ())
    return Manifest(name, tuple(inputs), limits, (), (), (), (), tuple(outputs), probe, digests)


def verified(data: Any, members: Mapping[str, bytes], read_part: ReadPart) -> tuple[Manifest, tuple[BundlePart, ...]]:
    """Read a bundle of parts and check its consistency.

    Args:
        data: the content of manifest.json.
        members: all other members, by name.
        read_part: reads a GPU part.

    Raises:
        BundleError: names the part.
    """
    read = parted_json.from_json(data)
    if LABELS not in members:
        raise BundleError(f"member '{LABELS}' is missing; {container.AGAIN}", "members")
    container.check_hashes(read.members, members)
    inside = _by_part(members, len(read.parts))
    parts = tuple(_read(entry, number, inside[number], read_part) for number, entry in enumerate(read.parts))
    with rule("caps"):
        texels = sum(
            texture.width * texture.height
            for part in parts
            if not isinstance(part, CpuPart)
            for texture in part.manifest.textures
        )
        if 4 * texels > MAX_TEXTURE_BYTES:
            raise BundleError(f"{4 * texels} bytes of textures; a model has at most {MAX_TEXTURE_BYTES}")
    outputs = check(read.inputs, read.outputs, parts)
    return manifest_of(read.name, read.inputs, outputs, parts, read.members), parts


def _by_part(members: Mapping[str, bytes], count: int) -> list[dict[str, bytes]]:
    """Return the members of each part, by their names in its folder."""
    inside: list[dict[str, bytes]] = [{} for _ in range(count)]
    for name, content in members.items():
        match = re.match(PART_FOLDER_PATTERN, name)
        if match is None:
            continue
        number = int(match.group(1))
        if number >= count:
            raise BundleError(f"member '{name:.60}' is of no part; there are {count}", "members")
        inside[number][name[match.end() :]] = content
    return inside


def _read(entry: PartEntry, number: int, members: dict[str, bytes], read_part: ReadPart) -> BundlePart:
    where = f"parts[{number}]"
    if entry.kind != GPU:
        with rule("parts"):
            surplus = sorted(set(members) - {WEIGHTS})
            if surplus:
                raise BundleError(f"{where}: member '{surplus[0]:.60}' is none of a CPU part")
            nodes = with_weights(entry.nodes, entry.weights, members.get(WEIGHTS, b""), where)
            return CpuPart(entry.inputs, entry.outputs, nodes)
    text = members.pop(container.MANIFEST, None)
    if text is None:
        raise BundleError(f"{where}: its manifest.json is missing; {container.AGAIN}", "members")
    try:
        with rule("keys"):
            data = container.parse(text, container.MANIFEST)
        if isinstance(data, dict) and data.get("profile") != PROFILE:
            raise BundleError(f"has the profile {data.get('profile')!r:.40}; a GPU part has '{PROFILE}'", "version")
        bundle = read_part(data, hashlib.sha256(text).hexdigest(), members)
    except BundleError as error:
        raise BundleError(f"{where}: {error}", error.rule) from None
    with rule("parts"):
        for key, names, ends in (
            ("inputs", entry.inputs, bundle.manifest.inputs),
            ("outputs", entry.outputs, bundle.manifest.outputs),
        ):
            if list(names) != [end.name for end in ends]:
                raise BundleError(f"{where}: its {key} are not those of its own manifest, in the same order")
    return bundle


def check(
    inputs: Sequence[Input], outputs: Sequence[TensorOutput], parts: Sequence[BundlePart]
) -> tuple[TensorOutput, ...]:
    """Return the outputs with their tensors' shapes; refuse parts that do not fit together.

    Raises:
        BundleError: names the part or the output.
    """
    with rule("unique names"):
        for kind, ends in (("inputs", inputs), ("outputs", outputs)):
            names = [end.name for end in ends]
            if len(set(names)) != len(names):
                raise BundleError(f"two {kind} have the same name")
    tensors: dict[str, Shape] = {entry.name: entry.shape for entry in inputs}
    with rule("parts"):
        if all(isinstance(part, CpuPart) for part in parts):
            raise BundleError("no part is for the GPU")
        for number, part in enumerate(parts):
            where = f"parts[{number}]"
            if isinstance(part, CpuPart):
                own = _cpu_shapes(part, tensors, where)
                made = {name: _known(name, own, f"{where}, its outputs") for name in part.outputs}
            else:
                _check_gpu_inputs(part, inputs, tensors, where)
                made = {output.name: output.shape for output in part.manifest.outputs}
            twice = sorted(set(made) & set(tensors))
            if twice:
                raise BundleError(f"{where}: makes '{twice[0]:.60}', which is there already")
            tensors.update(made)
        shaped = tuple(_shaped(output, tensors) for output in outputs)
    with rule("outputs"):
        for output in shaped:
            problem = purpose_problem(output, [len(shape) == 3 for shape in output.shapes])
            if problem:
                raise BundleError(f"output '{output.name}': {problem}")
    return shaped


def _known(name: str, tensors: Mapping[str, Shape], where: str) -> Shape:
    if name not in tensors:
        raise BundleError(f"{where}: reads '{name:.60}', which nothing before it makes")
    return tensors[name]


def _check_gpu_inputs(part: Bundle, inputs: Sequence[Input], tensors: Mapping[str, Shape], where: str) -> None:
    given = {entry.name: entry for entry in inputs}
    for entry in part.manifest.inputs:
        shape = _known(entry.name, tensors, where)
        whole = given.get(entry.name)
        kind, fit = (whole.kind, whole.fit) if whole is not None else ("numbers", None)
        if entry.shape != shape or entry.kind != kind or entry.fit != fit:
            raise BundleError(f"{where}: its input '{entry.name}' is {entry.kind} {entry.shape}, not {kind} {shape}")


def _cpu_shapes(part: CpuPart, tensors: Mapping[str, Shape], where: str) -> dict[str, Shape]:
    """Return the shapes of all tensors that a CPU part computes."""
    inside = {name: _known(name, tensors, where) for name in part.inputs}
    own: dict[str, Shape] = {}
    for node in part.nodes:
        shapes = [_known(name, {**inside, **own}, f"{where}, operator '{node.name:.60}'") for name in node.inputs]
        if node.name in own or node.name in tensors:
            raise BundleError(f"{where}: two tensors are called '{node.name:.60}'")
        try:
            shape = shape_of(node, shapes)
            fits = all(isinstance(size, int) and size >= 1 for size in shape) and math.prod(shape) <= MAX_RESULT
        except (
            ModelError,
            ValueError,
            TypeError,
            LookupError,
            ArithmeticError,
            AttributeError,
            MemoryError,
            RuntimeError,
        ) as error:
            raise BundleError(f"{where}, operator '{node.name:.60}' ({node.op}): {error}") from None
        if not fits:
            raise BundleError(f"{where}, operator '{node.name:.60}': a tensor of shape {shape!s:.100}")
        own[node.name] = shape
    numbers = sum(map(math.prod, own.values()))
    if numbers > MAX_CPU_NUMBERS:
        raise BundleError(
            f"{where}: {numbers} numbers in its tensors; a CPU part has at most {MAX_CPU_NUMBERS}", "caps"
        )
    return own


def cpu_numbers(bundle: Bundle) -> int:
    """Return the number of elements in the tensors of all CPU parts of a checked bundle."""
    tensors: dict[str, Shape] = {entry.name: entry.shape for entry in bundle.manifest.inputs}
    count = 0
    for part in bundle.parts:
        if isinstance(part, CpuPart):
            made = _cpu_shapes(part, tensors, "")
            count += sum(map(math.prod, made.values()))
        else:
            made = {output.name: output.shape for output in part.manifest.outputs}
        tensors.update(made)
    return count


def _shaped(output: TensorOutput, tensors: Mapping[str, Shape]) -> TensorOutput:
    shapes = tuple(_known(name, tensors, f"output '{output.name:.60}'") for name in output.tensors)
    shaped = replace(output, shapes=shapes)
    if sum(map(math.prod, shapes)) > MAX_RESULT:
        raise BundleError(f"output '{output.name:.60}' has more than {MAX_RESULT} numbers", "caps")
    try:
        _ = shaped.shape
    except ValueError as error:
        raise BundleError(f"output '{output.name:.60}': {error}", "outputs") from None
    return shaped
