"""The app of an APK, run as a program on the JVM."""

from __future__ import annotations

from pathlib import Path

from toolchain import ANDROID, Tools

FAKES = ANDROID.parent / "tests" / "android" / "fakes"


def command_of_app(tools: Tools, apk: Path, folder: Path, activity: str = "glslinfer.app.MainActivity") -> list[str]:
    """Return the command for the APK's own classes on the fake phone, after converting its dex to a jar.

    Args:
        tools: compilers and converters.
        apk: the app.
        folder: output folder of the compiled classes.
        activity: class name of the activity to start.
    """
    tools.enjarify(apk, folder / "app.jar")
    runner, desktop = (ANDROID / name / "src" / "main" / "java" for name in ("runner", "desktop"))
    tools.javac([runner], folder / "runner", android=False)  # only to compile against: app.jar has no generics
    tools.javac([desktop, FAKES], folder / "fakes", classpath=[folder / "runner", tools.jna], android=False)
    java, *arguments = tools.java([folder / "app.jar", folder / "fakes"], "glslinfer.fake.Phone")
    return [java, f"-Dactivity={activity}", *arguments]
