#!/usr/bin/env python3
"""Write docs/engineering/aibench/page.png: the demo page's AI Benchmark with its real networks, four images each.

PYTHONPATH=.:tests .venv/bin/python tests/web/benchmark_screenshot.py DIR [FILE.png]

DIR has the bundles and images of `glsl-infer aibench --models DIR`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from chromium import Browser
from screenshots import save
from web_site import ROOT, WEB, Site

PATIENCE = 1800.0
WIDTH, HEIGHT = 1110, 2400
FLAGS = ("--hide-scrollbars", "--disable-gpu-watchdog")
"""Chromium's watchdog ends a GPU process that computes for ten seconds, as rendering on a CPU does."""


def main() -> None:
    """Build the page with the networks, run them, and save the benchmark's part of the page."""
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/engineering/aibench/page.png"
    subprocess.run(["node", "build.mjs", "--models", str(Path(sys.argv[1]).resolve())], cwd=WEB, check=True)
    with Site({"": WEB / "dist"}) as site, Browser(FLAGS, patience=PATIENCE) as browser:
        page = browser.page(f"{site.address}/index.html?quick")
        page.resize(WIDTH, HEIGHT)
        page.wait_for("!document.getElementById('bench').disabled")
        page.evaluate("document.getElementById('bench').click()")
        page.wait_for("document.getElementById('status').textContent.startsWith('The AI Benchmark:')")
        box = page.evaluate("""(() => {
            const {x, y, width, height} = document.getElementById("benchmark").getBoundingClientRect();
            return {x: x + scrollX - 12, y: y + scrollY - 12, width: width + 24, height: height + 24};
        })()""")
        save(page, target, box)


if __name__ == "__main__":
    main()
