"""Report of ``glsl-infer validate`` as one HTML file, without scripts, images or external files."""

from __future__ import annotations

import html
from typing import Any

from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.validate.verdict import blamed

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: right; }
th { border-bottom: 1px solid #999; } td.name, th.name { text-align: left; }
.bar { background: #4a7; height: .7rem; display: inline-block; } .beyond { color: #b00; font-weight: bold; }
td.wide { text-align: left; width: 16rem; }
"""
_BEST_DB = 60.0
"""Ratio of a bar of full length; 8 bits of a value that fills its range have about 50 dB."""


def page(agreement: dict[str, Any], failures: list[str]) -> str:
    """Return the page.

    Args:
        agreement: result of ``compare.compare``, with ``model`` and ``bundle``.
        failures: a sentence for each exceeded threshold.
    """
    names = f"{_text(agreement['bundle'])} beside {_text(agreement['model'])}"
    facts = "".join(
        f"<tr><td class=name>{_text(name)}</td><td class=name>{_text(value)}</td></tr>"
        for name, value in _facts(agreement)
    )
    failed = "".join(f"<p class=beyond>{_text(failure)}</p>" for failure in failures)
    verdict = failed or "<p>Everything is within its thresholds.</p>"
    reasons = "".join(f"<p>{_text(sentence)}</p>" for sentence in blamed(agreement))
    layers = "".join(map(_layer_row, agreement["layers"]))
    return (
        f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{names}</title><style>{_STYLE}</style>\n"
        f"<h1>{names}</h1>\n{verdict}{reasons}\n<table>{facts}</table>\n<h2>Layer by layer</h2>\n"
        "<table><tr><th class=name>layer</th><th class=name>layer of the model</th><th>cosine</th>"
        "<th>max error</th><th>mean error</th><th>SQNR</th><th>clipped</th>"
        f"<th class=name>(bar: {_BEST_DB:.0f} dB)</th></tr>"
        f"{layers}</table>\n</html>\n"
    )


def _facts(agreement: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of the upper table: the subject of the comparison, and the errors of each output."""
    facts = [
        ("images", f"{agreement['pictures']}"),
        (agreement["framework"], agreement["beside"]),
        ("GPU", agreement["driver"]),
    ]
    for output in agreement["outputs"]:
        of = f" of '{output['name']}'" if len(agreement["outputs"]) > 1 else ""
        facts += [
            (f"cosine similarity{of}", f"{output['cosine']:.6f}"),
            (f"of the worst image{of}", f"{output['worst_cosine']:.6f}"),
            (f"largest error{of}", f"{output['max_error']:.6g}"),
            (f"mean error{of}", f"{output['mean_error']:.6g}"),
            (f"SQNR{of}", decibels(output["sqnr_db"])),
        ]
        if "top1" in output:
            facts.append((f"same first label{of}", f"{100 * output['top1']:.2f} %"))
        if "same" in output:
            facts.append((f"same class of a pixel{of}", f"{100 * output['same']:.2f} %"))
    return facts


def _layer_row(layer: dict[str, Any]) -> str:
    """Return the row of a layer in the lower table."""
    return (
        f"<tr><td class=name>{_text(layer['layer'])}</td><td class=name>{_text(layer['computes'])}</td>"
        f"<td>{layer['cosine']:.6f}</td><td>{layer['max_error']:.4g}</td><td>{layer['mean_error']:.4g}</td>"
        f"<td>{decibels(layer['sqnr_db'])}</td><td>{clipped_share(layer)}</td>"
        f"<td class=wide>{_bar(layer['sqnr_db'])}</td></tr>"
    )


def decibels(value: float | None) -> str:
    """Return a signal to noise ratio as text; None means without noise."""
    return "no error" if value is None else f"{value:.1f} dB"


def clipped_share(layer: dict[str, Any]) -> str:
    """Return the share of a layer's values clipped by its range, in %."""
    return f"{100.0 * layer['clipped_share']:.2g} %" if "clipped_share" in layer else "-"


def _bar(value: float | None) -> str:
    share = 1.0 if value is None else min(1.0, max(0.0, value / _BEST_DB))
    return f'<span class=bar style="width:{100 * share:.1f}%"></span>'


def _text(value: object) -> str:
    return html.escape(one_line(value))
