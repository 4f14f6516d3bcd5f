"""Output of ``glsl-infer run``: files, lines and JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli.table_file import label_cells, label_columns
from glsl_infer.support.plain_text import one_line, sides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.bundle import Bundle
    from glsl_infer.bundle.manifest import Output
    from glsl_infer.runtime.classifier import Prediction

TOP = 5
"""Default of ``--top``: number of labels of an output for classes."""


def save(results: Mapping[str, NDArray[Any]], path: Path, bundle: Bundle, drawn: Output | None) -> None:
    """Write all results, or the one that becomes an image."""
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


def report(
    args: argparse.Namespace,
    bundle: Bundle,
    results: Mapping[str, NDArray[Any]],
    drawn: Output | None,
    inputs: Path | Sequence[str],
) -> None:
    """Print the outputs of one image, or of the inputs of ``--input``."""
    if args.json:
        print(json.dumps(as_json(args, bundle, results, inputs, args.out), indent=1))
    elif args.out is not None:
        printed = results if drawn is None else {drawn.name: results[drawn.name]}
        advice, classes = "", bundle.manifest.classes
        if classes is not None and classes.name in printed and not args.softmax:
            from glsl_infer.runtime import classifier

            if not classifier.is_probable(classes):
                subject = "logits" if len(printed) == 1 else f"{one_line(classes.name)} are logits"
                advice = f" ({subject}; --softmax writes probabilities)"
        print(f"{args.out}: {', '.join(_named(name, printed, results) for name in printed)}{advice}")
    else:
        print_results(args, bundle, results)


def print_results(args: argparse.Namespace, bundle: Bundle, results: Mapping[str, NDArray[Any]]) -> None:
    """Print every output: classes as in ``classify``, others as their values."""
    for output in bundle.manifest.outputs:
        values = results[output.name].reshape(-1)
        if len(results) > 1:
            print(f"{one_line(output.name)}:")
        if output.purpose != "classes":
            for value in values:
                print(f"{value:.6g}")
        elif args.raw:
            for index in _order(values, args.top):
                print(one_line(f"{bundle.labels[index]}: {values[index]:.6g}"))
        else:
            for prediction in _predictions(args, bundle, output, values):
                print(prediction)


def _predictions(args: argparse.Namespace, bundle: Bundle, output: Output, values: NDArray[Any]) -> list[Prediction]:
    from glsl_infer.runtime import classifier, none_of_these

    rule = none_of_these.rule_of(bundle)
    return classifier.predictions(values, output, bundle.labels, args.top or TOP, none_rule=rule)


def _named(name: str, printed: Mapping[str, NDArray[Any]], results: Mapping[str, NDArray[Any]]) -> str:
    size = sides(printed[name].shape)
    return size if len(results) == 1 else f"{one_line(name)} {size}"


def columns(args: argparse.Namespace, bundle: Bundle) -> list[str]:
    """Return the columns of ``--csv`` after file and error, for outputs for classes and for vectors."""
    names: list[str] = []
    for output in bundle.manifest.outputs:
        if output.purpose == "classes" and not args.raw:
            count = min(args.top or TOP, len(bundle.labels))
            names += label_columns(count)
        elif output.purpose == "classes":
            names += bundle.labels
        elif len(output.shape) == 1:
            count = output.shape[0]
            names += [output.name] if count == 1 else [f"{output.name}_{index}" for index in range(count)]
    return names


def row(args: argparse.Namespace, bundle: Bundle, results: Mapping[str, NDArray[Any]]) -> list[object]:
    """Return the cells of ``columns``."""
    cells: list[object] = []
    for output in bundle.manifest.outputs:
        values = results[output.name]
        if output.purpose == "classes" and not args.raw:
            cells += label_cells(_predictions(args, bundle, output, values))
        elif values.ndim == 1:
            cells += [f"{value:.6g}" for value in values]
    return cells


def as_json(
    args: argparse.Namespace,
    bundle: Bundle,
    results: Mapping[str, NDArray[Any]],
    inputs: Path | Sequence[str],
    written: Path | None,
) -> dict[str, Any]:
    """Return the JSON of one image: for a single output its shape and values, else every output by name."""
    source: dict[str, Any] = {"file": str(inputs)} if isinstance(inputs, Path) else {"inputs": inputs}
    file = {} if written is None else {"written": str(written)}
    outputs = bundle.manifest.outputs
    described = {output.name: _described(args, bundle, output, results[output.name]) for output in outputs}
    if len(outputs) > 1:
        return {**source, **file, "outputs": described}
    only = described[outputs[0].name]
    shape = only.pop("shape")
    del only["purpose"]
    return {**source, "output": shape, **file, **only}


def _described(args: argparse.Namespace, bundle: Bundle, output: Output, result: NDArray[Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"shape": list(result.shape), "purpose": output.purpose}
    if output.purpose == "classes" and not args.raw:
        described["predictions"] = [asdict(prediction) for prediction in _predictions(args, bundle, output, result)]
    elif result.ndim < 2:
        from glsl_infer.cli import number_files

        classes, values = output.purpose == "classes", result.reshape(-1)
        order = _order(values, args.top if classes else None)
        described["values"] = number_files.plain_numbers(values[order])
        described["labels"] = [bundle.labels[index] for index in order] if classes else []
    return described


def _order(values: NDArray[Any], top: int | None) -> list[int]:
    """Return the indices of the values to show: all in order, or the ``top`` largest in descending order."""
    if top is None:
        return list(range(len(values)))
    return [int(index) for index in (-values).argsort(kind="stable")[:top]]


def as_probabilities(results: dict[str, NDArray[Any]], bundle: Bundle) -> dict[str, NDArray[Any]]:
    """Return the outputs, with those for classes as probabilities."""
    import numpy as np

    from glsl_infer.runtime import classifier

    changed = dict(results)
    for output in bundle.manifest.outputs:
        if output.purpose == "classes":
            changed[output.name] = classifier.probabilities(results[output.name], output).astype(np.float32)
    return changed
