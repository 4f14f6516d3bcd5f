"""What ``glsl-infer run`` makes of results: files, lines and JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.bundle import Bundle
    from glsl_infer.bundle.manifest import Output


def save(results: Mapping[str, NDArray[Any]], path: Path, bundle: Bundle, drawn: Output | None) -> None:
    """Write all results, or the one that becomes a picture."""
    import numpy as np

    from glsl_infer.cli import number_files
    from glsl_infer.runtime import images

    if drawn is None:
        number_files.write_results(results, path)
    elif results[drawn.name].dtype == np.uint8:
        pixels = results[drawn.name]
        images.save(pixels[..., 0] if pixels.shape[2] == 1 else pixels, path)
    elif drawn.purpose == "mask":
        images.save(images.mask_to_picture(results[drawn.name], drawn), path)
    else:
        images.save(images.to_picture(results[drawn.name], bundle), path)


def report(args: argparse.Namespace, bundle: Bundle, results: Mapping[str, NDArray[Any]], drawn: Output | None) -> None:
    """Print what came out."""
    labels = {output.name: bundle.labels for output in bundle.manifest.outputs if output.purpose == "classes"}
    if args.json:
        print(json.dumps(_as_json(args, bundle, results), indent=1))
    elif args.out is not None:
        shown = results if drawn is None else {drawn.name: results[drawn.name]}
        print(f"{args.out}: {', '.join(_named(name, shown, results) for name in shown)}")
    else:
        for name, result in results.items():
            if len(results) > 1:
                print(f"{one_line(name)}:")
            values = result.reshape(-1)
            for index in _order(values, args.top if name in labels else None):
                value = f"{values[index]:.6g}"
                print(one_line(f"{labels[name][index]}: {value}") if name in labels else value)


def _named(name: str, shown: Mapping[str, NDArray[Any]], results: Mapping[str, NDArray[Any]]) -> str:
    size = sides(shown[name].shape)
    return size if len(results) == 1 else f"{one_line(name)} {size}"


def _as_json(args: argparse.Namespace, bundle: Bundle, results: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what ``--json`` prints: of a model with one output the shape alone, of others every output by name."""
    given: dict[str, Any] = {"file": str(args.picture)} if args.picture is not None else {"inputs": args.input}
    written = {} if args.out is None else {"written": str(args.out)}
    outputs = bundle.manifest.outputs
    described = {output.name: _described(output, results[output.name], bundle.labels, args.top) for output in outputs}
    if len(outputs) > 1:
        return {**given, **written, "outputs": described}
    only = described[outputs[0].name]
    shape = only.pop("shape")
    del only["purpose"]
    return {**given, "output": shape, **written, **only}


def _described(output: Output, result: NDArray[Any], labels: tuple[str, ...], top: int | None) -> dict[str, Any]:
    described: dict[str, Any] = {"shape": list(result.shape), "purpose": output.purpose}
    if result.ndim < 2:
        from glsl_infer.cli import number_files

        classes, values = output.purpose == "classes", result.reshape(-1)
        order = _order(values, top if classes else None)
        described["values"] = number_files.plain_numbers(values[order])
        described["labels"] = [labels[index] for index in order] if classes else []
    return described


def _order(values: NDArray[Any], top: int | None) -> list[int]:
    """Return which numbers are shown: all as they stand, or the ``top`` largest, the largest first."""
    if top is None:
        return list(range(len(values)))
    return [int(index) for index in (-values).argsort(kind="stable")[:top]]


def as_probabilities(results: dict[str, NDArray[Any]], bundle: Bundle) -> dict[str, NDArray[Any]]:
    """Return outputs with a softmax over those for classes that have neither it nor a sigmoid."""
    import numpy as np

    from glsl_infer.graph.host_steps import PROBABLE, softmax

    changed = dict(results)
    for output in bundle.manifest.outputs:
        if output.purpose == "classes" and not (output.steps and output.steps[-1].step in PROBABLE):
            changed[output.name] = softmax(results[output.name].astype(np.float64)).astype(np.float32)
    return changed


def sides(shape: tuple[int, ...]) -> str:
    """Return a shape as people write it, such as 96x96x3; that of a single number is 1."""
    return "x".join(map(str, shape)) or "1"
