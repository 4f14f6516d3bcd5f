"""Where the tools of ``fetch-tools`` are, and how to call them: a JDK of the machine, the rest from one folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import platform_api

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
        """Compile to ``out`` for Java 8; every warning is an error, apart from those about the old version itself.

        Args:
            sources: folders of Java files.
            out: a folder, made if it is missing.
            classpath: jars and folders of classes.
            android: use Android's classes too, and refuse what API level 23 lacks, of Android or of Java.

        Raises:
            ToolError: the sources do not compile, or use something that API level 23 lacks.
        """
        out.mkdir(parents=True, exist_ok=True)
        files = sorted(path for source in sources for path in source.rglob("*.java"))
        joined = ":".join(str(path) for path in (*([self._android_stubs()] if android else []), *classpath))
        run(
            ["javac", "-encoding", "UTF-8", "-Xlint:all,-options", "-Werror", "--release", "8"]
            + (["-cp", joined] if joined else [])
            + ["-d", out, *files]
        )
        if android:
            classes = [platform_api.read_class(path.read_bytes()) for path in sorted(out.rglob("*.class"))]
            problems = platform_api.missing_in_android(classes, platform_api.JAVA_ADDITIONS.read_text("utf-8"))
            if problems:
                raise ToolError(
                    "the sources use Java classes or methods that Android 6.0 (API level 23) lacks "
                    "(android/java-8-additions.txt):\n" + "\n".join(problems)
                )

    def _android_stubs(self) -> Path:
        """Return the folder of the listed classes of Android, compiled once for each version of the list."""
        text = platform_api.ANDROID_API.read_text("utf-8")
        generator = Path(platform_api.__file__).read_bytes()
        folder = self.root / f"android-api-{hashlib.sha256(text.encode() + generator).hexdigest()[:16]}"
        if folder.is_dir():
            return folder
        with tempfile.TemporaryDirectory(prefix=".api-", dir=self.root) as name:
            sources, classes = Path(name) / "sources", Path(name) / "classes"
            for path, source in platform_api.stub_sources(text).items():
                (sources / path).parent.mkdir(parents=True, exist_ok=True)
                (sources / path).write_text(source, "utf-8")
            classes.mkdir()
            files = sorted(sources.rglob("*.java"))
            run(["javac", "-encoding", "UTF-8", "-Xlint:none", "-nowarn", "--release", "8", "-d", classes, *files])
            try:
                classes.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process made the same one meanwhile
                    raise
        return folder

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
