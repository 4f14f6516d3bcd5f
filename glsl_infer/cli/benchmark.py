"""Measure the speed of a model on this machine, step by step.

docs/engineering/performance.md explains each number.
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

from glsl_infer.cli import arguments, model_options, progress
from glsl_infer.cli.terminal_text import print_result, say_warning
from glsl_infer.errors import InputError
from glsl_infer.support import files
from glsl_infer.support.plain_text import cell

RUNS, WARM_UP = 100, 10


EXAMPLES = (
    "glsl-infer benchmark model.glslnn",
    "glsl-infer benchmark model.glslnn --profile --plot layers.png",
    "glsl-infer benchmark --compare before.glslnn after.glslnn",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add_only_model(parser)
    _add_measurement(parser)
    _add_output(parser)
    arguments.add_context(parser)
    model_options.add_operator(parser)
    arguments.group(parser, arguments.ADVANCED).add_argument(
        "--no-cache",
        action="store_true",
        help="Compile every program at the start, and store none. The driver may still have a cache of its own.",
    )
    arguments.add_json(parser, "Print everything as JSON, to save it and to compare it later.")


def _add_measurement(parser: argparse.ArgumentParser) -> None:
    measured = arguments.group(parser, "Measurement")
    measured.add_argument(
        "--profile",
        action="store_true",
        help="Time every layer as well, with GPU timer queries if the driver has them, else by waiting for each layer.",
    )
    measured.add_argument(
        "--minutes",
        type=arguments.minutes,
        metavar="MINUTES",
        help="Run for this long as well, to measure whether the speed is sustained.",
    )
    measured.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("A", "B"),
        help="Print the ratio of two results saved with --json, or of two .glslnn files, which run in turn: A B A B.",
    )
    measured.add_argument(
        "--runs",
        type=arguments.count,
        default=RUNS,
        metavar="N",
        help=f"The number of measured runs (default: {RUNS}).",
    )
    measured.add_argument(
        "--warm-up",
        type=arguments.number(int, "0 or more (10 is usual)", lambda runs: runs >= 0),
        default=WARM_UP,
        metavar="N",
        help=f"The number of runs before the measured ones (default: {WARM_UP}).",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = arguments.group(parser, "Output")
    output.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.png",
        help="With --profile, draw the time of each layer. With --minutes, draw the latency over time.",
    )
    output.add_argument(
        "--csv",
        type=Path,
        metavar="FILE.csv",
        help="Write a row for every measured run; with --profile for every layer, with --minutes for every window of "
        "time, with --compare for every step.",
    )


def run(args: argparse.Namespace) -> int:
    """Measure or compare, then print and write the result."""
    model_options.load_operators(args.operator, draws=True)
    check(args)
    result = _compare(args) if args.compare else _measure(args)
    if args.csv is not None:
        _write_csv(table_of(result), args.csv)
    if args.plot is not None:
        from glsl_infer.tools.benchmark import plots

        (plots.profile if args.profile else plots.sustained)(result, args.plot)
    print_result(args, result, comparison_lines(result) if args.compare else result_lines(result))
    return 0


def check(args: argparse.Namespace) -> None:
    """Refuse incompatible arguments before any measurement.

    Raises:
        InputError: arguments are incompatible. The message names them.
    """
    if args.compare:
        for name, value in (("MODEL.glslnn", args.model), ("--profile", args.profile), ("--minutes", args.minutes)):
            if value:
                raise InputError(f"{name} and --compare cannot be used together; leave one out")
    if args.profile and args.minutes is not None and (args.plot or args.csv):
        raise InputError("--plot and --csv write one result; leave out --profile or --minutes")
    if args.csv is not None:
        files.check_output(args.csv, ".csv", option="--csv")
    if args.plot is not None:
        from glsl_infer.tools.benchmark import plots

        if not args.profile and args.minutes is None:
            raise InputError("--plot draws the result of --profile or of --minutes; give one of these as well")
        plots.check(args.plot)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    from glsl_infer.support.resources import default_model
    from glsl_infer.tools.benchmark.measuring import measure, steps_of

    options = {"runs": args.runs, "warm_up": args.warm_up, "layers": args.profile, "minutes": args.minutes}
    how = {"context": args.context, "cache": not args.no_cache}
    with progress.counter(steps_of(**options), "runs", "benchmark") as say:
        result = measure(args.model or default_model(), progress=say, **how, **options)
    _warn_of_load(result["machine"])
    return result


def _compare(args: argparse.Namespace) -> dict[str, Any]:
    from glsl_infer.tools.benchmark import comparison
    from glsl_infer.tools.benchmark.result import read

    a, b = args.compare
    if not comparison.are_bundles(a, b):
        saved = read(a), read(b)
        for difference in comparison.differences(saved):
            say_warning(f"the results are from different machines: {difference}")
        return comparison.results(a, b, saved)
    with progress.counter(2 * (args.runs + args.warm_up), "runs", "benchmark") as say:
        return comparison.bundles(a, b, context=args.context, runs=args.runs, warm_up=args.warm_up, progress=say)


def _warn_of_load(machine: dict[str, Any]) -> None:
    from glsl_infer.tools.benchmark.machine import BUSY

    load, cores = machine["load_before"], machine["cores"]
    if load is not None and load > BUSY * cores:
        say_warning(
            f"other programs were running (load average {load:g} on {cores} cores), so the times are too long; the "
            "ratios of --compare are more reliable"
        )


def table_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the CSV file: the main table of a result, with ``KEY.PART`` for nested values."""
    if "ratio" in result:
        rows = [{"step": step, **ratio} for step, ratio in result["ratio"].items()]
    elif "profile" in result:
        rows = [{**layer, "shape": "x".join(map(str, layer["shape"]))} for layer in result["profile"]["layers"]]
    elif "sustained" in result:
        rows = result["sustained"]["windows"]
    else:
        steps = result["runs_ms"]
        rows = [{"run": index, **dict(zip(steps, times))} for index, times in enumerate(zip(*steps.values()))]
    return [_flat(row) for row in rows]


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        flat.update(
            {f"{key}.{inner_key}": cell for inner_key, cell in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
    return flat


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows({key: cell(value) for key, value in row.items()} for row in rows)
    files.write_output(path, text.getvalue())


_STEPS = {
    "upload": "upload",
    "gpu": "GPU, submit until finished",
    "submit": "  of which CPU to submit",
    "read_back": "read-back",
    "total": "whole frame",
}
_START = {
    "context": "make the context",
    "bundle": "read the rest of the bundle",
    "isolation": "check it in a child, once",
    "rounding_test": "measure its rounding",
    "programs": "compile the programs",
    "program_cache": "keep them for the next start",
    "textures": "textures and buffers",
    "first_run": "first run",
    "total": "until the first result",
}


def result_lines(measured: dict[str, Any]) -> list[str]:
    """Return the lines of a result."""
    model, counts = measured["model"], measured["counts"]
    calls = counts["gl_calls"]
    restored = f" ({counts['programs_restored']} of them from the cache)" if counts["programs_restored"] else ""
    lines = [
        f"{'model':12} {model['file']} ({model['name']}, {model['input']}x{model['input']})",
        *_machine(measured["machine"]),
        f"{'a frame':12} {counts['draws']:,} draws in {counts['jobs']} jobs, {calls['frame']:,} GL calls (and "
        f"{calls['upload']} to upload, {calls['read_back']} to read back)",
        f"{'the model':12} {counts['programs']} programs{restored}, {counts['textures']} textures of "
        f"{counts['texture_bytes'] / 1e6:.2f} MB",
    ]
    if counts["peak_rss_bytes"] is not None:
        lines.append(f"{'memory':12} {counts['peak_rss_bytes'] / 1e6:.1f} MB at the most, this whole process")
    lines += ["", f"{'start':28} {'ms':>9}"]
    lines += [
        f"{name:28} {measured['start_ms'][step]:9.2f}" for step, name in _START.items() if step in measured["start_ms"]
    ]
    settings = measured["settings"]
    head = f"{settings['runs']} runs after {settings['warm_up']}, ms"
    lines += ["", f"{head:28} {'median':>9} {'5 %':>9} {'95 %':>9}"]
    lines += [f"{name:28} {_times(measured['frame_ms'][step])}" for step, name in _STEPS.items()]
    if "parts" in measured:
        lines += _parts(measured["parts"])
    if "profile" in measured:
        lines += _profile(measured["profile"], measured["frame_ms"]["gpu"]["median"])
    if "sustained" in measured:
        lines += _sustained(measured["sustained"])
    return lines


def comparison_lines(compared: dict[str, Any]) -> list[str]:
    """Return the lines of a comparison."""
    lines = [f"{side.upper():12} {compared[side]['file']}" for side in ("a", "b")]
    if "machine" in compared:
        lines += _machine(compared["machine"])
    spread = "5 % and 95 % of the pairs" if compared["paired"] else "as far as the two spreads allow"
    lines += ["", f"{'medians':28} {'A, ms':>9} {'B, ms':>9} {'B / A':>9}  {spread}"]
    for step, name in _STEPS.items():
        a, b = (compared[side]["frame_ms"][step]["median"] for side in ("a", "b"))
        ratio = compared["ratio"][step]
        lines.append(f"{name:28} {a:9.2f} {b:9.2f} {ratio['median']:9.3f}  {ratio['p5']:.3f} to {ratio['p95']:.3f}")
    return lines


def _machine(machine: dict[str, Any]) -> list[str]:
    return [
        f"{'driver':12} {machine['renderer']}, {machine['version']}, by {machine['context']}",
        f"{'machine':12} {machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}",
    ]


def _parts(parts: list[dict[str, Any]]) -> list[str]:
    lines = ["", f"{'part':28} {'median':>9} {'5 %':>9} {'95 %':>9} {'kB up':>9} {'kB back':>9}"]
    for number, part in enumerate(parts, 1):
        first, *more = part["operators"]
        label = f"{number} {part['kind'].upper()}, {first}{f' and {len(more)} more' * bool(more)}"
        transfers = f"{part['uploaded'] / 1e3:9.1f} {part['read_back'] / 1e3:9.1f}"
        lines.append(f"{label:28} {_times(part['ms'])} {transfers}")
    return lines


def _profile(profile: dict[str, Any], gpu: float) -> list[str]:
    head = f"{'layer':24} {'operator':20} {'shape':>12} {'draws':>5}"
    lines = ["", f"measured by {profile['by']}, {profile['runs']} runs, ms"]
    lines.append(f"{head} {'median':>9} {'5 %':>9} {'95 %':>9} {'share':>7}")
    for layer in profile["layers"]:
        shape = "x".join(map(str, layer["shape"]))
        label = f"{layer['layer']:24} {layer['op']:20} {shape:>12} {layer['draws']:5}"
        lines.append(f"{label} {_times(layer['ms'])} {100 * layer['share']:5.1f} %")
    lines.append(f"all layers: {profile['sum_ms']:.2f} ms; the same as one frame, not taken apart: {gpu:.2f} ms")
    return lines


def _sustained(sustained: dict[str, Any]) -> list[str]:
    return [
        "",
        f"{sustained['minutes']:g} minutes, {sustained['runs']:,} runs, ms: median {sustained['ms']['median']:.2f}, "
        f"5 % {sustained['ms']['p5']:.2f}, 95 % {sustained['ms']['p95']:.2f}",
        f"the last tenth of the time took {sustained['slowdown']:.3f} times as long for a frame as the first",
    ]


def _times(row: dict[str, float]) -> str:
    return f"{row['median']:9.2f} {row['p5']:9.2f} {row['p95']:9.2f}"
