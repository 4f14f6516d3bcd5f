"""Tools of the Android build: a JDK of the machine, and the folder filled by ``fetch-tools``."""

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
"""Python program that runs enjarify from the folder in its first argument, without imports from the current folder."""


class ToolError(Exception):
    """A tool is missing or failed. The message includes its output."""


class Tools:
    """The folder of ``fetch-tools``, filled if necessary.

    Raises:
        ToolError: packages or a JDK are unavailable, or the user has no home folder.
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
        """Run a program of the folder (``aapt``, ``zipalign``) and return its output."""
        library = self._libraries
        library_folders = (
            library,
            library / "android",
            self.root / "lib" / library.name,
            library.parent,
            library.parent / "p7zip",
        )
        path = ":".join(str(folder) for folder in library_folders)
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
            ToolError: the sources do not compile, or use parts missing in API level 23.
        """
        out.mkdir(parents=True, exist_ok=True)
        files = sorted(path for source in sources for path in source.rglob("*.java"))
        class_path = ":".join(str(path) for path in (*([self._android_stubs()] if android else []), *classpath))
        run(
            ["javac", "-encoding", "UTF-8", "-Xlint:all,-options", "-Werror", "--release", "8"]
            + (["-cp", class_path] if class_path else [])
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
        """Return the folder of compiled stubs of Android's classes, compiled once for each version of the list."""
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
                if not folder.is_dir():  # otherwise another process created it at the same time
                    raise
        return folder

    def java(self, classpath: Sequence[Path], main: str) -> list[str]:
        """Return a command line that starts a class on the JVM with JNA. The caller adds arguments."""
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
        """Convert an APK's dex file to a jar."""
        packages = self.root / "usr" / "lib" / "python3" / "dist-packages"
        run(
            [sys.executable, "-O", "-c", ENJARIFY, packages, "-f", "-o", jar, dex],
        )


def run(command: Sequence[object], *, environment: dict[str, str] | None = None, show: bool = False) -> str:
    """Run a command and return its standard output. With ``show``, its error output goes to the terminal.

    Raises:
        ToolError: the command is missing or fails.
    """
    arguments = [str(word) for word in command]
    try:
        completed = subprocess.run(
            arguments,
            stdout=subprocess.PIPE,
            stderr=None if show else subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **(environment or {})},
            check=False,
        )
    except FileNotFoundError:
        advice = "sudo apt install default-jdk-headless" if arguments[0] in ("java", "javac", "keytool") else "make apk"
        raise ToolError(f"{arguments[0]} is not installed; on Debian: {advice}") from None
    if completed.returncode:
        output = (completed.stdout + (completed.stderr or "")).strip()
        raise ToolError(f"{Path(arguments[0]).name} failed with {completed.returncode}:\n{output}")
    return completed.stdout
