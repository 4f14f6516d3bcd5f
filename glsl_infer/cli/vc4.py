"""Estimate the cost of each layer on a Raspberry Pi's VideoCore IV, with that GPU's own compiler."""

from __future__ import annotations

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, progress, vc4_pixels, vc4_time
from glsl_infer.cli.terminal_text import say_error, say_warning
from glsl_infer.errors import InputError
from glsl_infer.support import files
from glsl_infer.support.near_names import choices, did_you_mean
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from glsl_infer.bundle import Bundle
    from glsl_infer.tools.videocore.driver import Driver
    from glsl_infer.tools.videocore.report import Report
    from glsl_infer.tools.videocore.transcript import Measured


STANDARD_OUTPUT = Path("-")

EXAMPLES = (
    "glsl-infer vc4 model.glslnn",
    "glsl-infer vc4 before.glslnn after.glslnn",
    "glsl-infer vc4 model.glslnn --why conv1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "models",
        type=Path,
        nargs="+",
        metavar="MODEL.glslnn",
        help="Exported models. Several are shown side by side.",
    )
    _add_output(parser)
    _add_driver(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = arguments.group(parser, "Output")
    output.add_argument(
        "--shaders",
        action="store_true",
        help="Print the table of shader figures and advice about shaders, for maintainers of glsl-infer.",
    )
    arguments.add_json(parser, "Print JSON, with every program and all advice.")
    formats = output.add_mutually_exclusive_group()
    formats.add_argument(
        "--csv",
        nargs="?",
        const=STANDARD_OUTPUT,
        type=Path,
        metavar="FILE.csv",
        help="Write a row for each layer, for spreadsheets. Without a file, it is printed.",
    )
    formats.add_argument(
        "--disassemble", metavar="LAYER", help="Print the QPU instructions of the shader of this layer's first pass."
    )
    formats.add_argument(
        "--why",
        metavar="LAYER",
        help="Explain the instructions of this layer: products, fetches, waits and the store, each with its minimum.",
    )
    formats.add_argument(
        "--pixels",
        action="store_true",
        help="Draw on a virtual VideoCore IV instead, and print how every layer differs from the exact reference.",
    )
    formats.add_argument(
        "--time",
        action="store_true",
        help="Draw on a virtual VideoCore IV instead, and print the frame time on each board as a range.",
    )
    output.add_argument(
        "--images",
        dest="picture",
        type=Path,
        action="append",
        default=[],
        metavar="IMAGE",
        help="With --pixels, draw this image from input to output as well. Can be repeated.",
    )
    arguments.accept(parser, "--images", "--picture")
    output.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="Draw the instructions of the layers as well (png, svg, pdf)."
    )


def _add_driver(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the compiler and of the estimate."""
    from glsl_infer.tools.videocore.driver import RELEASES
    from glsl_infer.tools.videocore.estimate import DRAW_SHARE

    advanced = arguments.group(parser, arguments.ADVANCED)
    advanced.add_argument(
        "--driver",
        type=Path,
        metavar="DIR",
        help="The folder of Mesa's vc4 driver and shim (default: VC4_PREFIX, VC4_RUN, or the result of "
        "scripts/vc4/build.sh).",
    )
    advanced.add_argument(
        "--mesa",
        choices=tuple(RELEASES),
        help="Compile with Mesa 22 of Debian 12 or Mesa 25 of Debian 13 (default: with each that is installed).",
    )
    advanced.add_argument(
        "--draw-share",
        type=arguments.number(float, "a share from 0 to 1", lambda share: 0.0 <= share <= 1.0),
        default=DRAW_SHARE,
        metavar=arguments.SHARE,
        help="The estimated cost of a draw that shares its job with others, as a share of the cost of a draw with its "
        "own job (default: %(default)s).",
    )


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 1 if a layer would fail on the GPU."""
    from glsl_infer.tools.videocore import driver, plot

    if args.plot is not None:
        plot.check(args.plot)
    _check_combination(args)
    _check_models(args)
    compilers = driver.find_all(args.driver, args.mesa)
    if args.pixels:
        return vc4_pixels.run(args, compilers)
    if args.time:
        return vc4_time.run(args, compilers)
    for layer, show in ((args.disassemble, _disassemble), (args.why, _explain)):
        if layer is not None:
            show(_listed(args.models, compilers, layer), layer, args)
            return 0
    reports = _reports(args.models, compilers)
    _print(args, reports)
    if args.plot is not None:
        plot.plot(reports, args.plot)
    return _complain(reports)


def _check_combination(args: argparse.Namespace) -> None:
    """Refuse options that exclude each other, and a file that cannot be written."""
    if args.json and (args.csv or args.disassemble is not None):
        raise InputError("--json cannot be used with --csv or --disassemble; leave one out")
    modes = {
        "--disassemble": args.disassemble is not None,
        "--why": args.why is not None,
        "--pixels": args.pixels,
        "--time": args.time,
    }
    for first, chosen, others in (
        ("--shaders", args.shaders, {"--json": args.json, "--csv": args.csv is not None, **modes}),
        ("--plot", args.plot is not None, modes),
    ):
        for option, value in others.items():
            if chosen and value:
                raise InputError(f"{first} and {option} cannot be used together; leave one out")
    if args.picture and not args.pixels:
        raise InputError("--images is used with --pixels only; give both")
    if args.csv not in (None, STANDARD_OUTPUT):
        files.check_output(args.csv, option="--csv")


def _check_models(args: argparse.Namespace) -> None:
    """Read all files, to refuse a bad one before the search for a driver and any measurement."""
    from glsl_infer import bundle as bundles

    for path in args.models:
        bundle = bundles.read(path)
        if args.pixels or args.time:
            bundle.require_one_part(f"glsl-infer vc4 --{'pixels' if args.pixels else 'time'}")
        elif len(bundle.parts) > 1:
            say_warning(f"{path}: the operators on the CPU ({', '.join(bundle.cpu_operators)}) are not counted")


def _write_csv(path: Path, text: str) -> None:
    if path == STANDARD_OUTPUT:
        print(text)
        return
    files.write_output(path, f"{text}\n")


def _reports(models: Sequence[Path], compilers: Sequence[Driver]) -> list[Report]:
    from glsl_infer.tools.videocore.report import file_report

    watch = partial(progress.bar, name="vc4")
    return [file_report(path, driver, watch=watch) for path in models for driver in compilers]


def _print(args: argparse.Namespace, reports: Sequence[Report]) -> None:
    from glsl_infer.tools.videocore import table

    if args.json:
        print(json.dumps({"bundles": [_as_json(report, args.draw_share) for report in reports]}, indent=1))
    elif args.csv:
        _write_csv(args.csv, table.as_csv(reports, args.draw_share))
    elif not args.shaders:
        by_file = {path: [report for report in reports if report.file == str(path)] for path in args.models}
        print("\n\n".join(table.summary(reports, args.draw_share) for reports in by_file.values() if reports))
    elif len(args.models) == 1:
        print(table.as_text(reports, args.draw_share))
    else:
        print(table.side_by_side(reports, args.draw_share))


def _as_json(report: Report, draw_share: float) -> dict[str, Any]:
    from glsl_infer.tools.videocore import advice, estimate

    return {
        **report.as_json(),
        "estimates": [
            {
                "board": board.name,
                "clock_mhz": board.clock / 1e6,
                "draw_share": draw_share,
                "milliseconds": vars(estimate.estimate(report, board, draw_share)),
                "layers": {row.layer: estimate.layer_ms(row, board, draw_share) for row in report.rows},
            }
            for board in estimate.BOARDS
        ],
        "advice": [vars(hint) for hint in advice.advise(report)],
        "network_advice": [vars(hint) for hint in advice.advise_author(report, estimate.BOARDS[0], draw_share)],
    }


def _complain(reports: Sequence[Report]) -> int:
    """Print problems; return 1 if one of them is fatal."""
    code = 0
    several = len({report.mesa for report in reports}) > 1
    for report in reports:
        for problem in report.problems:
            code = 1 if problem.fatal else code
            subject = one_line(f"{report.file}: layer '{problem.layer}'{f' (Mesa {report.mesa})' if several else ''}")
            (say_error if problem.fatal else say_warning)(f"{subject}: {problem.text}")
    return code


def _listed(
    models: Sequence[Path], compilers: Sequence[Driver], layer: str
) -> Iterator[tuple[Path, Driver, Bundle, Measured]]:
    """Yield the part of each model that has a layer, with its statistics and disassembly by each compiler.

    Raises:
        InputError: a model has no such layer.
    """
    from glsl_infer.tools.videocore.measure import measure
    from glsl_infer.tools.videocore.report import gpu_parts, written

    indices = []
    for path in models:
        layers = [list(dict.fromkeys(draw.layer for draw in part.manifest.passes)) for part in gpu_parts(path)]
        index = next((index for index, names in enumerate(layers) if layer in names), None)
        if index is None:
            drawn = [name for names in layers for name in names]
            suggestion = did_you_mean(layer, drawn)
            raise InputError(f"{path}: no layer '{layer}' that draws{suggestion}; there are: {choices(drawn)}")
        indices.append(index)
    for path, index in zip(models, indices):
        for driver in compilers:
            with tempfile.TemporaryDirectory() as folder:
                (file,) = written([gpu_parts(path)[index]], path.name, Path(folder))
                yield path, driver, *measure(file, driver, disassembly=True)


def _disassemble(listed: Iterator[tuple[Path, Driver, Bundle, Measured]], layer: str, args: argparse.Namespace) -> None:
    for path, driver, bundle, measured in listed:
        used = list(dict.fromkeys(draw.program for draw in bundle.manifest.passes if draw.layer == layer))
        more = f", the first of {len(used)}" if len(used) > 1 else ""
        print(one_line(f"; {path}: layer '{layer}', program '{used[0]}'{more}, Mesa {driver.version}"))
        print(measured.listings.get(used[0], f"; {measured.failures.get(used[0], 'nothing was compiled')}"))


def _explain(listed: Iterator[tuple[Path, Driver, Bundle, Measured]], layer: str, args: argparse.Namespace) -> None:
    from glsl_infer.tools.videocore.report import report
    from glsl_infer.tools.videocore.why import explain

    reasons = [
        explain(bundle, measured, report(bundle, measured, str(path)), layer) for path, _, bundle, measured in listed
    ]
    if args.json:
        print(json.dumps({"bundles": [why.as_json() for why in reasons]}, indent=1))
        return
    print("\n\n".join(f"{one_line(f'{why.file}, Mesa {why.mesa}')}: {why.as_text()}" for why in reasons))
