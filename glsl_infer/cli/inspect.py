"""Describe a model: its layers, their cost, and everything that prevents an export."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, model_options, progress
from glsl_infer.cli.terminal_text import print_result, say_warning
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.support import files
from glsl_infer.support.plain_text import aligned, sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glsl_infer.bundle import Bundle
    from glsl_infer.importers.core.report import LayerStatus
    from glsl_infer.tools.inspect.layers import Inspected
    from glsl_infer.tools.videocore.report import Report


EXAMPLES = (
    "glsl-infer inspect model.keras",
    "glsl-infer inspect model.glslnn --html model.html",
    "glsl-infer inspect model.glslnn --images photo.jpg -o layers/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="An exported model (.glslnn), or a model to export (.keras, .tflite, .onnx).",
    )
    output = arguments.group(parser, "Output")
    output.add_argument(
        "--passes", action="store_true", help="List every pass as well: program, render target, textures."
    )
    output.add_argument(
        "--images",
        dest="layers",
        type=Path,
        metavar="IMAGE",
        help="Run the exported model on an image, and write the output of each layer as a PNG file.",
    )
    arguments.accept(parser, "--images", "--layers")
    output.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="With --images, the folder to write to; it is created if it is missing (default: MODEL-layers).",
    )
    output.add_argument(
        "--html",
        type=Path,
        metavar="FILE.html",
        help="Write a page: the graph, layers, shapes, ranges, passes, and the cost of the shaders on a VideoCore IV "
        "if its compiler is installed.",
    )
    output.add_argument(
        "--onnx-view",
        type=Path,
        metavar="FILE.onnx",
        help="Write the graph of an exported model as an ONNX file, for viewers such as Netron.",
    )
    output.add_argument(
        "--stage",
        choices=("imported", "optimized", "placed", "with-ranges", "planned", "program"),
        help="For a model that is not exported yet, print the result of a stage of the compiler: the graph as "
        "imported, after optimisation, cut into parts for the GPU and the CPU, with ranges, with its textures, or all "
        "passes. Assumed ranges replace those that the export measures on images.",
    )
    model_options.add(parser, "--input-size", "--input-shape", "--constant")
    arguments.add_context(parser)
    arguments.add_json(parser, "Print everything as JSON, with passes and textures.")


def run(args: argparse.Namespace) -> int:
    """Describe the model without a GPU, or draw its layers with one."""
    from glsl_infer import bundle as bundles
    from glsl_infer.tools.inspect import inspection

    model_options.prepare_import(args, draws=args.model.suffix == bundles.SUFFIX)
    if args.out is not None and args.layers is None:
        raise InputError("--out needs --images IMAGE; give both")
    _check_outputs(args)
    if args.model.suffix.lower() != bundles.SUFFIX and (args.model.is_dir() or args.model.suffix):
        return _inspect_model(args)
    if args.stage:
        raise InputError("--stage applies to a model that is not exported yet; leave it out")
    for option in ("--input-size", "--input-shape", "--constant"):
        if getattr(args, option[2:].replace("-", "_")):
            raise InputError(f"{option} applies to a model that is not exported yet; leave it out")
    bundle = bundles.read(args.model)
    described = inspection.inspect(bundle)
    if args.layers is not None:
        described["pictures"] = [str(path) for path in _draw_layers(args, bundle)]
    written = _write_bundle_files(args, bundle)
    if written:
        described["written"] = written
    print_result(args, described, _bundle_lines(described, passes=args.passes))
    return 0


def _inspect_model(args: argparse.Namespace) -> int:
    """Print a table of the layers of a model to export, and all problems that prevent its export."""
    from glsl_infer import bundle as bundles
    from glsl_infer import importers
    from glsl_infer.importers import foreign
    from glsl_infer.tools.inspect.layers import inspect_file

    if args.passes or args.layers is not None or args.onnx_view is not None:
        raise InputError(f"{args.model}: --passes, --images and --onnx-view need an exported model; export it first")
    importers.require_readable(args.model, also=[bundles.SUFFIX])
    models = foreign.models_in(args.model) if args.model.suffix.lower() in foreign.SUFFIXES else ()
    if len(models) > 1 and args.model.is_file():
        return _list_models(args, models)
    with progress.status("inspect") as say:
        say("loading the model")
        inspected = inspect_file(args.model, model_options.io_options(args))
    for warning in inspected.warnings:
        say_warning(warning)
    if args.stage:
        return _print_stage(args, inspected)
    written = _write_model_page(args, inspected)
    data = {**inspected.as_json(), **({"written": written} if written else {})}
    print_result(args, data, [*_model_lines(inspected), *(f"wrote {path}" for path in written)])
    return 0


def _list_models(args: argparse.Namespace, models: Sequence[str]) -> int:
    """Print the models inside a container."""
    paths = [str(args.model / name) for name in models]
    lines = [f"{args.model} contains {len(models)} models; give one of them:", *paths]
    print_result(args, {"file": str(args.model), "models": paths}, lines)
    return 0


def _print_stage(args: argparse.Namespace, inspected: Inspected) -> int:
    """Print the graph after a stage."""
    from glsl_infer.tools.inspect import stages

    if inspected.graph is None or inspected.problems:
        problems = "\n  ".join(inspected.problems)
        raise InputError(f"{args.model}: has no graph, because it cannot be imported:\n  {problems}")
    nodes = stages.nodes_at(inspected.graph, args.stage)
    data = {"stage": args.stage, "nodes": [asdict(node) for node in nodes]}
    print_result(args, data, stages.lines_of(nodes))
    return 0


def _draw_layers(args: argparse.Namespace, bundle: Bundle) -> list[Path]:
    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import preprocess
    from glsl_infer.runtime.session import Session
    from glsl_infer.tools.inspect import layer_pictures

    try:
        model_input = bundle.manifest.input
    except InputError as error:
        raise InputError(f"--images {args.layers}: {error}") from None
    inputs = {model_input.name: preprocess.load_for(args.layers, model_input)}
    folder = args.out or Path(f"{args.model.stem}-layers")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created ({error.strerror})") from None
    written: list[Path] = []
    with Session(bundle, context=args.context) as session:
        layers = bundle.graph.nodes if len(bundle.parts) > 1 else bundle.network.layers
        drawn = len(layers) - 1  # all except the image
        with progress.counter(drawn, "layers", "inspect") as done:
            for index, (name, output) in enumerate(session.layers(inputs)):
                path = folder / layer_pictures.file_name(index + 1, name)
                images.save(layer_pictures.draw(output, bundle.values.get(name)), path)
                written.append(path)
                done(1)
    return written


def _bundle_lines(described: dict[str, Any], *, passes: bool) -> list[str]:
    """Return the description of a bundle as text."""
    totals, memory, members = described["totals"], described["memory"], described["members"]
    limits = described["limits"]
    parts = described.get("parts", ())
    lines = [
        f"{'model':10} {described['file']['path']} ({described['model']}), {described['file']['bytes'] / 1e6:.2f} MB",
        *(f"{'input':10} {_input(model_input)}" for model_input in described["inputs"]),
        *(f"{'output':10} {_output(output, described['labels'])}" for output in described["outputs"]),
        f"{'a frame':10} {totals['passes']:,} passes in {totals['jobs']} jobs, {totals['programs']} programs",
        f"{'memory':10} {memory['total'] / 1e6:.2f} MB in {totals['textures']} textures: inputs "
        f"{memory['input'] / 1e6:.2f}, layers {memory['target'] / 1e6:.2f} (without shared "
        f"textures {memory['outputs_of_all_layers'] / 1e6:.2f}), constants {memory['constant'] / 1e6:.2f}",
        f"{'unpacked':10} {members['total'] / 1e6:.2f} MB: shaders {members['shaders'] / 1e6:.2f}, weights "
        f"{members['weights'] / 1e6:.2f}, probe {members['probe'] / 1e6:.2f}",
        f"{'needs':10} {limits['texture_units']} texture units, textures up to {limits['texture_size']} pixels wide or "
        f"high, {limits['fragment_uniform_vectors']} uniform vectors, {limits['varying_vectors']} varyings, "
        f"{limits['vertex_attributes']} vertex attributes",
        *(f"{f'part {index}':10} {_part(part)}" for index, part in enumerate(parts, 1)),
        "",
        *_layer_lines(described["layers"]),
    ]
    if passes:
        lines += ["", "pass   layer, program: textures -> target (quads)"]
        lines += [
            f"{index:5}  {draw['layer']}, {draw['program']}: {', '.join(draw['textures'])} -> {draw['target']}"
            f"{' (cleared)' if draw['clear'] else ''} ({draw['quads']})"
            for index, draw in enumerate(described["passes"])
        ]
    if "pictures" in described:
        pictures = described["pictures"]
        lines += ["", f"{len(pictures)} images of layers: {pictures[0]} to {pictures[-1]}"]
    if "written" in described:
        lines += ["", *(f"wrote {path}" for path in described["written"])]
    return lines


def _layer_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of the layers."""
    layer_width = max(5, *(len(row["layer"]) for row in rows))
    op_width = max(2, *(len(row["op"]) for row in rows))
    return [
        f"{'layer':{layer_width}} {'op':{op_width}} {'shape':>13} {'stored':20} {'passes':>6} {'programs':>8} "
        f"{'weights':>9} {'gain':>6}  inputs",
        *(
            f"{row['layer']:{layer_width}} {row['op']:{op_width}} {sides(row['shape']):>13} {row['stored']:20} "
            f"{row['passes']:6} {row['programs']:8} {row['weights']:9,} {_gain(row['gain']):>6}  "
            f"{', '.join(row['inputs'])}".rstrip()
            for row in rows
        ),
    ]


def _part(part: dict[str, Any]) -> str:
    summary = (
        f"{part['kind'].upper()}: {', '.join(part['inputs'])} -> {', '.join(part['outputs'])}, {part['layers']} layers"
    )
    if part["kind"] == "cpu":
        return f"{summary} ({', '.join(part['operators'])})"
    return f"{summary}; uploads {part['uploaded'] / 1e3:.1f} kB and reads back {part['read_back'] / 1e3:.1f} kB a frame"


def _input(model_input: dict[str, Any]) -> str:
    return f"{model_input['name']} {sides(model_input['shape'])}, {model_input['fit'] or model_input['kind']}"


def _output(output: dict[str, Any], labels: int) -> str:
    named = f", {labels} labels" if output["purpose"] == "classes" else ""
    steps = f", then {', '.join(output['steps'])}" if output["steps"] else ""
    layers = ", ".join(f"'{layer}'" for layer in output["layers"])
    return f"{output['name']} {sides(output['shape'])}, {output['purpose']}, layer {layers}{steps}{named}"


def _gain(decibels: float | None) -> str:
    return "-" if decibels is None else f"{decibels:.4g}"


WIDE = 118
"""Width of the text in columns."""

LONG = 100
"""Advice of at least this many characters is printed once."""


def _model_lines(model: Inspected) -> list[str]:
    """Return the table of a model to export, then its problems, or that it can be exported."""
    from glsl_infer.tools.inspect.layers import NEEDS_PICTURES

    lines = aligned([("layer", "kind", "shape", "runs", "becomes"), *map(_cells, model.rows)], left=5)
    counts = ", ".join(f"{count} {processor}" for processor, count in model.counts.items())
    lines += ["", f"{len(model.rows)} layers: {counts}"]
    if model.problems:
        count = len(model.problems)
        lines += ["", f"{count} problem{'s' * (count > 1)} to solve before it can be exported:"]
        for problem in _without_repeats(model):
            lines += textwrap.wrap(problem, WIDE, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    else:
        lines.append(f"{model.path} can be exported" + (f"; {NEEDS_PICTURES}" if model.needs_pictures else ""))
    return lines


def _without_repeats(model: Inspected) -> list[str]:
    """Return the problems. Long advice is printed once, then replaced by the name of the layer that has it."""
    first_layers: dict[str, str] = {}
    texts = []
    for problem in model.problems:
        row = next((row for row in model.rows if row.advice and problem.endswith(row.advice)), None)
        if row is None or len(row.advice) < LONG:
            texts.append(problem)
        elif row.advice in first_layers:
            texts.append(f"{problem.removesuffix(row.advice)}as for layer '{first_layers[row.advice]}'")
        else:
            first_layers[row.advice] = row.layer
            texts.append(problem)
    return texts


def _cells(row: LayerStatus) -> tuple[str, str, str, str, str]:
    becomes = row.problem or row.note or ", ".join(dict.fromkeys(row.operators))
    return row.layer, row.kind, sides(row.shape), row.runs, textwrap.shorten(becomes, 60, placeholder=" ...")


def _check_outputs(args: argparse.Namespace) -> None:
    """Refuse to write a page or an ONNX file with another suffix, over the model, or to a folder that is not writable.

    Raises:
        InputError: a file is refused; the message names its option.
    """
    pages = (("--html", args.html, (".html", ".htm")), ("--onnx-view", args.onnx_view, (".onnx",)))
    for option, path, suffixes in pages:
        if path is None:
            continue
        files.check_output(path, *suffixes, option=option)
        if path.resolve() == args.model.resolve():
            raise InputError(f"{option} {path} is the model itself; name another file")


def _write_bundle_files(args: argparse.Namespace, bundle: Bundle) -> list[str]:
    """Write the requested files of a bundle; return their names."""
    written = []
    if args.html is not None:
        from glsl_infer.tools.inspect.bundle_page import bundle_page

        page = bundle_page(bundle, *_cost(args.model))
        written.append(_write(args.html, page.encode()))
    if args.onnx_view is not None:
        from glsl_infer.tools.inspect.onnx_view import onnx_view

        written.append(_write(args.onnx_view, onnx_view(bundle)))
    return written


def _write_model_page(args: argparse.Namespace, inspected: Inspected) -> list[str]:
    """Write the page of a model to export, if requested; return its name."""
    if args.html is None:
        return []
    from glsl_infer.tools.inspect.model_page import model_page

    return [_write(args.html, model_page(inspected).encode())]


def _write(path: Path, data: bytes) -> str:
    """Write a file; return its name."""
    files.write_output(path, data)
    return str(path)


def _cost(path: Path) -> tuple[Report | None, str]:
    """Return the report of VideoCore IV's compiler on a bundle, or the reason why it is missing."""
    from glsl_infer.tools.videocore import driver
    from glsl_infer.tools.videocore.report import file_report

    try:
        return file_report(path, driver.find(), watch=partial(progress.bar, name="inspect")), ""
    except GlslInferError as error:
        return None, f"The cost of the shaders is left out: {error}"
