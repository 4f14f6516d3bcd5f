"""Where the tools of ``fetch-tools`` are, and how to call them: a JDK of the machine, the rest from one folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ANDROID = Path(__file__).resolve().parent


ENJARIFY = """\
import sys
sys.path[:] = [sys.argv.pop(1), *(folder for folder in sys.path if folder)]
import runpy
runpy.run_module("enjarify.main", run_name="__main__", alter_sys=True)
"""
"""Runs enjarify from the folder that is the first argument, and imports nothing from the current folder."""


class ToolError(Exception):
    """A tool that is missing or that failed; the message has what it said."""


class Tools:
    """The folder that ``fetch-tools`` fills, filled if it was not.

    Raises:
        ToolError: the packages cannot be had, or there is no JDK.
    """

    def __init__(self) -> None:
        try:
            cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        except RuntimeError:
            raise ToolError("this user has no home folder; set XDG_CACHE_HOME to a folder for the tools") from None
        self.root = cache / "glsl-infer" / "android" / "root"
        run([ANDROID / "fetch-tools"], show=True)
        (self._libraries,) = (self.root / "usr" / "lib").glob("*-linux-gnu*")
        java = self.root / "usr" / "share" / "java"
        self.android_jar = java / "com.android.android-23.jar"
        self.dx = java / "com.android.dx.jar"
        self.apksigner = java / "apksigner.jar"
        self.jna = java / "jna.jar"
        self.framework = self.root / "usr" / "share" / "android-framework-res" / "framework-res.apk"

    def command(self, name: str, *arguments: object) -> str:
        """Run a program of the folder (``aapt``, ``zipalign``) and return what it writes."""
        library = self._libraries
        places = (
            library,
            library / "android",
            self.root / "lib" / library.name,
            library.parent,
            library.parent / "p7zip",
        )
        path = ":".join(str(place) for place in places)
        return run(
            [self.root / "usr" / "bin" / name, *arguments], environment={"LD_LIBRARY_PATH": path, "LC_ALL": "C.UTF-8"}
        )

    def javac(self, sources: Iterable[Path], out: Path, *, classpath: Sequence[Path] = (), android: bool) -> None:
        """Compile to ``out`` for Java 8: against Android's classes, or against the JDK's own.

        Every warning is an error, apart from those about the old version itself.
        """
        out.mkdir(parents=True, exist_ok=True)
        # dx takes classes up to Java 7's 51 plus what 8 adds without lambdas; --release knows no other boot classes.
        target = ["-source", "8", "-target", "8", "-bootclasspath", self.android_jar] if android else ["--release", "8"]
        files = sorted(path for source in sources for path in source.rglob("*.java"))
        joined = ":".join(str(path) for path in classpath)
        run(
            ["javac", "-encoding", "UTF-8", "-Xlint:all,-options", "-Werror", *target]
            + (["-cp", joined] if joined else [])
            + ["-d", out, *files]
        )

    def java(self, classpath: Sequence[Path], main: str) -> list[str]:
        """Return the command line that starts a class on the JVM with JNA, to which its arguments are added."""
        return [
            "java",
            "-Xshare:auto",
            "-Djava.awt.headless=true",
            "-Djna.nosys=false",  # Debian's JNA looks into java.library.path only then
            f"-Djava.library.path={self._libraries / 'jni'}",
            "-cp",
            ":".join(str(path) for path in (*classpath, self.jna)),
            main,
        ]

    def enjarify(self, dex: Path, jar: Path) -> None:
        """Turn an APK's dex back into a jar."""
        packages = self.root / "usr" / "lib" / "python3" / "dist-packages"
        run(
            [sys.executable, "-O", "-c", ENJARIFY, packages, "-f", "-o", jar, dex],
        )


def run(command: Sequence[object], *, environment: dict[str, str] | None = None, show: bool = False) -> str:
    """Run a command and return its standard output; ``show`` lets its messages through.

    Raises:
        ToolError: it is missing or fails.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=None if show else subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **(environment or {})},
            check=False,
        )
    except FileNotFoundError:
        advice = "sudo apt install default-jdk-headless" if words[0] in ("java", "javac", "keytool") else "make apk"
        raise ToolError(f"{words[0]} is not installed; on Debian: {advice}") from None
    if done.returncode:
        said = (done.stdout + (done.stderr or "")).strip()
        raise ToolError(f"{Path(words[0]).name} failed with {done.returncode}:\n{said}")
    return done.stdout
