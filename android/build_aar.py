#!/usr/bin/env python3
"""Build android/build/glsl-infer.aar, the runner library for other apps (runner and gles).

    android/build_aar.py [-o FILE.aar]

Gradle uses the AAR with ``implementation files('libs/glsl-infer.aar')``. The build needs Debian's packages only, and is
reproducible: the same sources and tools give the same bytes. Exit status 1: a tool failed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from build_apk import version, write_zip
from toolchain import ANDROID, ToolError, Tools

AAR = ANDROID / "build" / "glsl-infer.aar"
MODULES = ("runner", "gles")

MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="{namespace}">
    <uses-sdk android:minSdkVersion="{minSdk}" />
    <uses-feature android:glEsVersion="0x00020000" android:required="true" />
</manifest>
"""

METADATA = "aarFormatVersion=1.0\naarMetadataVersion=1.0\nminCompileSdk={minSdk}\n"
"""Requirements of the library, for Gradle's plugin: the lowest SDK with which an app can be compiled."""


def main(argv: list[str] | None = None) -> int:
    """Build the AAR; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Build the runner as an Android library.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=AAR, metavar="FILE", help="the AAR")
    arguments = parser.parse_args(argv)
    try:
        build(Tools(), arguments.output)
    except (ToolError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.output}: {arguments.output.stat().st_size:,} bytes, version {version()}")
    return 0


def build(tools: Tools, aar: Path) -> None:
    """Build the AAR. An existing file is replaced at the end.

    Raises:
        ToolError: a tool is missing or fails.
    """
    aar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".aar-", dir=aar.parent) as name:
        folder = Path(name)
        tools.javac(
            [ANDROID / module / "src" / "main" / "java" for module in MODULES], folder / "classes", android=True
        )
        classes = {
            path.relative_to(folder / "classes").as_posix(): path.read_bytes()
            for path in (folder / "classes").rglob("*.class")
        }
        licence = (ANDROID.parent / "LICENSE").read_bytes()
        jar_manifest = f"Manifest-Version: 1.0\r\nImplementation-Version: {version()}\r\n\r\n".encode()
        write_zip(
            {"META-INF/MANIFEST.MF": jar_manifest, "META-INF/LICENSE": licence, **classes}, folder / "classes.jar"
        )
        fields = settings()
        write_zip(
            {
                "AndroidManifest.xml": MANIFEST.format(**fields).encode(),
                "classes.jar": (folder / "classes.jar").read_bytes(),
                "R.txt": b"",  # it has no resources
                "LICENSE": licence,
                "META-INF/com/android/build/gradle/aar-metadata.properties": METADATA.format(**fields).encode(),
            },
            folder / "made.aar",
        )
        (folder / "made.aar").replace(aar)


def settings() -> dict[str, str]:
    """Return the library's namespace and lowest SDK, from gles/build.gradle."""
    text = (ANDROID / "gles" / "build.gradle").read_text("utf-8")
    matches = {key: re.search(rf"^ *{key} '?([^'\n]*)'?$", text, re.MULTILINE) for key in ("namespace", "minSdk")}
    return {key: match.group(1) for key, match in matches.items() if match}


if __name__ == "__main__":
    sys.exit(main())
