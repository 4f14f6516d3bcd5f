"""Text of ``glsl-infer export``: a summary, and with ``--explain`` the tables of layers, ranges, costs and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from glsl_infer.compiler.ranges.sensitivity import Spent
    from glsl_infer.tools.export_report import ExportReport
    from glsl_infer.tools.videocore.verify import Verification


def print_report(report: ExportReport, out: Path, *, explain: bool, command: str, advice: str | None) -> None:
    """Print the size of the result, its difference from the float network, its cost, and the next steps.

    Args:
        report: the report of the export.
        out: the exported file.
        explain: first print the tables of layers, ranges, weights and memory.
        command: the command that runs the exported model.
        advice: advice about the number of programs, or None.
    """
    if explain:
        _print_layers(report)
        _print_sensitivity(report)
        _print_weights(report)
        _print_programs(report)
        _print_memory(report)
        print()
    for line in summary(report, out, command=command, advice=advice):
        print(line)


def summary(report: ExportReport, out: Path, *, command: str, advice: str | None) -> list[str]:
    """Return the report in at most ten lines, as in ``print_report``."""
    from glsl_infer.compiler.ranges import unseen

    totals = report.totals
    lines = [
        f"{out}: {totals['passes']} passes in {totals['jobs']} jobs, {totals['programs']} programs, "
        f"{totals['texture_bytes'] / 1e6:.2f} MB of textures, {totals['file_bytes'] / 1e6:.2f} MB on disk"
    ]
    if report.unseen:
        lines.append(f"accuracy: {unseen.sentence(max(report.unseen, key=lambda part: part.worst.badness))}")
    else:
        lines.append("accuracy: not measured; give --images DIR with typical images to measure it, and to improve it")
    if report.spent is not None:
        lines.append(_spent(report.spent))
    if report.parts:
        from glsl_infer.tools.export_report import parts_sentence

        lines.append(parts_sentence(report.parts))
    if report.board is not None:
        lines.append(str(report.board))
    if report.videocore is not None:
        lines.append(_verified(report.videocore))
    if advice is not None:
        lines.append(advice)
    lines.append(f"next: {command}; export with --explain to see the tables of layers, ranges, weights and memory")
    return lines


def _print_layers(report: ExportReport) -> None:
    print(
        f"{'layer':24} {'operator':20} {'shape':>12} {'weights':>8} {'passes':>6} {'programs':>8} "
        f"{'gain':>6} {'error':>6}  texture"
    )
    for layer in report.layers:
        shape, texture = "x".join(map(str, layer.shape)), "x".join(map(str, layer.texture))
        location = f"{layer.textures} of {texture}" if layer.textures > 1 else texture
        gain = "-" if layer.gain is None else f"{layer.gain:.4g}"
        error = "-" if layer.error is None else f"{layer.error:.2f}"
        print(
            f"{layer.layer:24} {layer.op:20} {shape:>12} {layer.weights:>8} {layer.passes:6} {layer.programs:8} "
            f"{gain:>6} {error:>6}  {location}"
        )
    learnt = [choice for choice in report.ranges if choice.by != "function"]
    if learnt:
        print(f"\n{'8-bit feature map':24} {'lowest':>10} {'highest':>10} {'narrowest':>10}  learnt by")
        for chosen in learnt:
            print(f"{chosen.layer:24} {chosen.low:10.4g} {chosen.high:10.4g} {chosen.narrowest:10.4g}  {chosen.by}")
    if report.precision:
        print(f"\n{'16-bit feature map':24} {'passes':>6} {'added work':>10}  because")
        passes = {layer.layer: layer.passes for layer in report.layers}
        for decision in report.precision:
            print(f"{decision.layer:24} {passes.get(decision.layer, 0):6} {decision.added:10.1%}  {decision.why}")
    if report.wide:
        print(f"\n{'wide convolution':24} {'slices read':>11} {'partial sums':>12} {'passes':>6}")
        for wide in report.wide:
            print(f"{wide.layer:24} {wide.slices:11} {wide.blocks:12} {wide.passes:6}")
    print(f"\n{'16-bit values':24} {'bound':>10} {'calibrated':>10} {'scale':>10} {'step':>10}  chosen by")
    for choice in report.scales:
        calibrated = "-" if choice.calibrated is None else f"{choice.calibrated:.4g}"
        print(
            f"{choice.layer:24} {choice.bound:10.4g} {calibrated:>10} {choice.scale:10.4g} {choice.step:10.3g}  "
            f"{choice.by}"
        )


def _spent(spent: Spent) -> str:
    """Return a line about the layers with 16 bits, and the remaining error."""
    sixteen_bit = [layer for layer in spent.layers if layer.bits == 16]
    cost = sum(layer.milliseconds for layer in sixteen_bit)
    aims = [f"at most {100.0 * spent.tolerance:.2g} %"] if spent.tolerance is not None else []
    aims += [f"at most {spent.budget:g} ms"] if spent.budget is not None else []
    missed = spent.tolerance is not None and spent.error > spent.tolerance
    # For outputs with too large an error, the search goes on beyond its usual limit.
    limited = missed and spent.share is not None and (spent.times or 0.0) <= 1.0 + spent.share
    limit = f" within {100.0 * (spent.share or 0.0):.0f} % more work" if limited else ""
    before, after = (f"{100.0 * error:.2g} %" for error in (spent.before, spent.error))
    error = f"falls from {before} to {after}" if sixteen_bit else f"is {after}"
    price = f", for {cost:.2g} ms more on a Pi Zero W" if sixteen_bit else ""
    return (
        f"precision: {len(sixteen_bit)} of {len(spent.layers)} maps in 16 bits; the error of the outputs {error} of "
        f"their spread{price} (aim: {', '.join(aims)}{', not reached' * missed}{limit})"
    )


def _print_sensitivity(report: ExportReport) -> None:
    if report.spent is None:
        return
    why = {choice.layer: choice.why for choice in report.precision}
    print(f"\n{'rounded to 8 bits alone':24} {'error':>9} {'16 bits, ms':>11} {'bits':>4}  because")
    for layer in report.spent.layers:
        reason = why.get(layer.layer, "it gains less for its time")
        print(f"{layer.layer:24} {layer.error:9.3g} {layer.milliseconds:11.3f} {layer.bits:4}  {reason}")


def _print_weights(report: ExportReport) -> None:
    modes = ("baked", "uniform", "texture")
    print(f"\n{'us a frame (Pi Zero W)':24} {'slices':>6} {'pixels':>7} {'columns':>7}", end="")
    print("".join(f" {mode:>8}" for mode in modes), " taken     why")
    for choice in report.weights:
        costs = [choice.microseconds[mode] for mode in modes]
        columns = "".join(f" {'-' if cost is None else format(cost, '.0f'):>8}" for cost in costs)
        size = f"{choice.slices:6} {choice.pixels:7} {choice.columns:7}"
        print(f"{choice.layer:24} {size}{columns}  {choice.mode:8}  {choice.reason}")


def _print_programs(report: ExportReport) -> None:
    """Print the results of VideoCore IV's compiler for every layer's programs."""
    if report.videocore is None:
        return
    print(
        f"\n{'on VideoCore IV':24} {'programs':>8} {'compiled':>8} {'threads':>7} {'registers':>9} {'instructions':>12}"
    )
    for layer in report.videocore.layers:
        figures = [
            "-" if count is None else str(count) for count in (layer.threads, layer.registers, layer.instructions)
        ]
        how = "verified" if layer.verified else "predicted to compile"
        print(
            f"{layer.layer:24} {layer.programs:8} {layer.compiled:8} {figures[0]:>7} {figures[1]:>9} {figures[2]:>12}  "
            f"{layer.failure or how}"
        )


def _verified(checked: Verification) -> str:
    """Return a line with the number of layers that VideoCore IV's driver has compiled."""
    verified = sum(layer.verified for layer in checked.layers)
    failed = sum(bool(layer.failure) for layer in checked.layers)
    wrong = f", {failed} with a warning" if failed else ""
    sentence = f"VideoCore IV: {verified} of {len(checked.layers)} layers verified by its compiler{wrong}"
    unverified = len(checked.layers) - verified
    return f"{sentence}, {unverified} predicted to compile ({checked.note})" if unverified else sentence


def _print_memory(report: ExportReport) -> None:
    print(f"\n{'activations by planner':24} {'MB':>10} {'textures':>10}")
    for use in report.memory:
        here = "  used here" if use.chosen else ""
        print(f"{use.method:24} {use.texture_bytes / 1e6:10.3f} {use.textures:10}{here}")
    print(f"{'slices alone':24} {report.totals['slice_bytes'] / 1e6:10.3f} {'':10}  of all layers, without gutters")
