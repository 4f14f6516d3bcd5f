"""Text output of ``glsl-infer benchmark``."""

from __future__ import annotations

from typing import Any

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


def result(measured: dict[str, Any]) -> list[str]:
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


def comparison(compared: dict[str, Any]) -> list[str]:
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
        first, *others = part["operators"]
        what = f"{number} {part['kind'].upper()}, {first}{f' and {len(others)} more' * bool(others)}"
        moved = f"{part['uploaded'] / 1e3:9.1f} {part['read_back'] / 1e3:9.1f}"
        lines.append(f"{what:28} {_times(part['ms'])} {moved}")
    return lines


def _profile(profile: dict[str, Any], gpu: float) -> list[str]:
    head = f"{'layer':24} {'operator':20} {'shape':>12} {'draws':>5}"
    lines = ["", f"measured by {profile['by']}, {profile['runs']} runs, ms"]
    lines.append(f"{head} {'median':>9} {'5 %':>9} {'95 %':>9} {'share':>7}")
    for layer in profile["layers"]:
        shape = "x".join(map(str, layer["shape"]))
        what = f"{layer['layer']:24} {layer['op']:20} {shape:>12} {layer['draws']:5}"
        lines.append(f"{what} {_times(layer['ms'])} {100 * layer['share']:5.1f} %")
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
