"""Report as one HTML file for users, without scripts or external files."""

from __future__ import annotations

import html
from typing import Any

from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.report.saved import frame_ms, start_ms

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; } th, td { padding: .2rem 1rem .2rem 0; text-align: right; }
th { border-bottom: 1px solid #999; } td:first-child, th:first-child { text-align: left; }
.bar { background: #4a7; height: .7rem; display: inline-block; } .wrong { color: #b00; font-weight: bold; }
.right { color: #284; } polyline { fill: none; stroke: #4a7; stroke-width: 2; }
svg { border-bottom: 1px solid #999; } table.pairs td { text-align: left; }
"""
_WIDTH, _HEIGHT = 640, 120


def page(report: dict[str, Any]) -> str:
    """Return the page of a report, as ``collect`` or ``saved.read`` returns it."""
    driver, machine = report["driver"], report["machine"]
    title = f"{machine['cpu']}: {driver.get('renderer', 'no OpenGL ES 2.0')}"
    parts = [
        f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{_text(title)}</title><style>{_STYLE}</style>",
        f"<h1>{_text(title)}</h1>",
        f"<p>glsl-infer {_text(report.get('glsl_infer'))}, {_text(report['measured'])}. {_text(report['note'])}</p>",
        _models(report["models"]),
        _sustained(report.get("sustained")),
        _checks(report.get("checks", [])),
        "<h2>Machine</h2>",
        _pairs(_flat(machine)),
        "<h2>Driver</h2>",
        _pairs(_flat({key: value for key, value in driver.items() if key != "extensions"})),
        *(_counters(model) for model in report["models"] if model["counters"]),
        "</html>\n",
    ]
    return "\n".join(paragraph for paragraph in parts if paragraph)


def _models(models: list[dict[str, Any]]) -> str:
    slowest = max((times["median"] for model in models if (times := frame_ms(model))), default=1.0) or 1.0
    rows = []
    for model in models:
        times, start = frame_ms(model), start_ms(model)
        frame = "-" if times is None else f"{times['median']:.2f} ms ({times['p5']:.2f} to {times['p95']:.2f})"
        bar = "" if times is None else f'<span class=bar style="width:{10 * times["median"] / slowest:.2f}rem"></span>'
        counts = model["benchmark"].get("counts", {})
        rows.append(
            f"<tr><td>{_text(model['model'])}</td><td>{_verdict(model['selfcheck'])}</td><td>{frame}</td>"
            f"<td style='text-align:left'>{bar}</td><td>{'-' if start is None else f'{start:.0f} ms'}</td>"
            f"<td>{_text(counts.get('draws', '-'))}</td></tr>"
        )
    head = "<tr><th>model</th><th>self-check</th><th>frame (5 % to 95 %)</th><th></th><th>start</th><th>draws</th></tr>"
    failures = [
        f"<p class=wrong>{_text(model['model'])}: {section}: {_text(model[section]['failed'])}</p>"
        for model in models
        for section in ("selfcheck", "benchmark", "counters")
        if "failed" in model[section]
    ]
    return f"<h2>Models</h2>\n<table>{head}{''.join(rows)}</table>\n{''.join(failures)}"


def _verdict(check: dict[str, Any]) -> str:
    if check.get("passed") is True:
        return "<span class=right>right</span>"
    return f"<span class=wrong>{_text(check.get('wrong') or 'not run')}</span>"


def _sustained(run: dict[str, Any] | None) -> str:
    if not run:
        return ""
    if "windows" not in run:
        return f"<h2>Sustained</h2><p class=wrong>{_text(run.get('failed'))}</p>"
    medians = [window["ms"]["median"] for window in run["windows"]]
    top, last = max(medians) or 1.0, max(1, len(medians) - 1)
    points = " ".join(
        f"{_WIDTH * index / last:.1f},{_HEIGHT * (1.0 - median / top):.1f}" for index, median in enumerate(medians)
    )
    return (
        f"<h2>Sustained: {_text(run['model'])}, {run['minutes']:g} minutes</h2>"
        f"<p>The last tenth took {run['slowdown']:.2f} times as long as the first. "
        f"Milliseconds of a frame, 0 to {top:.1f}:</p>"
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role=img><polyline points="{points}"/></svg>'
    )


def _checks(checks: list[dict[str, Any]]) -> str:
    """Return a table of the findings of ``glsl-infer doctor``; empty for reports of other programs."""
    if not checks:
        return ""
    rows = "".join(
        f"<tr><td>{_text(finding.get('check'))}</td><td>{_text(finding.get('status'))}</td>"
        f"<td>{_text(finding.get('message'))}</td></tr>"
        for finding in checks
    )
    return f"<h2>Checks</h2><table class=pairs>{rows}</table>"


def _counters(model: dict[str, Any]) -> str:
    finite = {name: value for name, value in model["counters"].items() if isinstance(value, (int, float))}
    if not finite:
        return ""
    return f"<h2>Counters of a frame: {_text(model['model'])}</h2>{_pairs({k: f'{v:,.0f}' for k, v in finite.items()})}"


def _flat(data: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        name = f"{before}{key}".replace("_", " ")
        flat.update(_flat(value, f"{name}, ") if isinstance(value, dict) else {name: value})
    return flat


def _pairs(pairs: dict[str, Any]) -> str:
    present = {key: value for key, value in pairs.items() if value not in (None, "", [])}
    rows = "".join(f"<tr><td>{_text(key)}</td><td>{_text(value)}</td></tr>" for key, value in present.items())
    return f"<table class=pairs>{rows}</table>"


def _text(value: object) -> str:
    return html.escape(one_line(value))
