#!/usr/bin/env python3
"""Build android/build/glsl-infer-demo.apk, the camera app with a model inside.

    android/build_apk.py [--model FILE.glslnn ...] [--models FOLDER ...] [-o FILE.apk] [--keystore FILE] [--json]

The build needs Debian's packages only. The same sources, models and tools give the same bytes, except for the signature
of another key. The default key is that of Android's debug builds, ~/.android/debug.keystore, created if missing, so
that the app can replace an app that Gradle built. Exit status 2: an argument is unusable; 1: a tool failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolchain import ANDROID, ToolError, Tools, run

APK = ANDROID / "build" / "glsl-infer-demo.apk"
KEYSTORE = Path("~/.android/debug.keystore")
MODULES = ("runner", "gles", "app")
PACKAGE = ANDROID.parent / "glsl_infer" / "tasks" / "data"
KINDS = ("detection", "landmarks", "segmentation")
"""Kinds of tasks with files in the app. Classification works with any model."""

MAIN = ANDROID / "app" / "src" / "main"

TESTS = ANDROID.parent / "glsl_infer" / "tools" / "aibench" / "tests.csv"
"""Tests of the AI Benchmark."""

STORED = (".arsc", ".glslnn", ".png")
"""Uncompressed members: Android 11 rejects a compressed resources.arsc, and the other files are compressed already."""


def main(argv: list[str] | None = None) -> int:
    """Build, sign and verify the APK; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Build the Android camera app.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument(
        "--model", type=Path, nargs="+", default=[default_model()], metavar="FILE", help="models to put inside"
    )
    parser.add_argument(
        "--models",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="tasks to put inside: those of the package whose models lie in these folders, and tasks (*.json) there",
    )
    parser.add_argument("-o", "--output", type=Path, default=APK, metavar="FILE", help="the APK")
    parser.add_argument("--keystore", type=Path, default=KEYSTORE, metavar="FILE", help="made if it is not there")
    parser.add_argument("--json", action="store_true", help="print the facts about the APK as JSON")
    arguments = parser.parse_args(argv)
    try:
        arguments.keystore = arguments.keystore.expanduser()
    except RuntimeError:
        print(f"error: {arguments.keystore}: this user has no home folder; give --keystore FILE", file=sys.stderr)
        return 2
    for model in arguments.model:
        if model.suffix != ".glslnn" or not zipfile.is_zipfile(model):
            print(f"error: {model}: not a model file; give a *.glslnn file", file=sys.stderr)
            return 2
    for folder in arguments.models:
        if not folder.is_dir():
            print(f"error: --models {folder}: there is no such folder", file=sys.stderr)
            return 2
    try:
        facts = build(Tools(), arguments.model, arguments.output, arguments.keystore, arguments.models)
    except (ToolError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(facts))
    else:
        print(f"{facts['apk']}: {facts['bytes']:,} bytes, {facts['package']}, signed {', '.join(facts['signatures'])}")
    return 0


def files_of_tasks(folders: Sequence[Path]) -> list[Path]:
    """Return the files of all tasks with a model in ``folders``: JSON, models and licences.

    A task in ``folders`` replaces a task of the package with the same name. A task with a detector needs the detector's
    files too.

    Args:
        folders: folders of bundles, such as that of ``glsl-infer get``, and of other tasks with their models.
    """
    tasks: dict[str, tuple[Path, dict[str, Any]]] = {}  # later folders replace tasks of the package
    for path in (path for folder in (PACKAGE, *folders) for path in sorted(folder.glob("*.json"))):
        try:
            task = json.loads(path.read_text("utf-8"))
        except ValueError:
            continue
        if isinstance(task, dict) and task.get("task") in KINDS and isinstance(task.get("model"), str):
            tasks[path.stem] = path, task

    def needs(name: str) -> list[Path] | None:
        if name not in tasks:
            return None
        path, task = tasks[name]
        model = task["model"]
        is_package_model = not model.endswith(".glslnn")
        candidates = [folder / f"{model}.glslnn" for folder in folders] if is_package_model else [path.parent / model]
        models = [path for path in candidates if path.is_file()]
        detector_files = needs(task["detector"].removesuffix(".json")) if "detector" in task else []
        if not models or detector_files is None:
            return None
        licence = models[0].with_suffix(".licence.txt")
        return [path, models[0], *([licence] if licence.is_file() else []), *detector_files]

    file_lists = [needs(name) for name in tasks]
    return sorted({path for files in file_lists if files is not None for path in files})


def build(
    tools: Tools, models: list[Path], apk: Path, keystore: Path, folders: Sequence[Path] = ()
) -> dict[str, object]:
    """Build, sign and verify the APK. An existing file is replaced at the end.

    Returns:
        Data for ``--json``: path, size, package, models, tasks and signatures of the APK.

    Raises:
        ToolError: a tool is missing or fails.
    """
    apk.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".apk-", dir=apk.parent) as name:
        folder = Path(name)
        sources = [ANDROID / module / "src" / "main" / "java" for module in MODULES]
        tools.javac(sources, folder / "classes", android=True)
        shutil.copytree(MAIN / "assets", folder / "assets")
        (folder / "assets" / "models").mkdir()
        shutil.copyfile(TESTS, folder / "assets" / "models" / TESTS.name)
        for model in models:
            shutil.copyfile(model, folder / "assets" / "models" / model.name)
            if (picture := model.with_suffix(".png")).is_file():  # input image of an AI Benchmark test
                shutil.copyfile(picture, folder / "assets" / "models" / picture.name)
        tasks = files_of_tasks(folders)
        for path in tasks:
            (folder / "assets" / "tasks").mkdir(exist_ok=True)
            shutil.copyfile(path, folder / "assets" / "tasks" / path.name)
        identity = settings()
        verified = assemble(tools, folder, [folder / "classes"], MAIN, identity, keystore)
        badging = tools.command("aapt", "dump", "badging", folder / "signed.apk")
        (folder / "signed.apk").replace(apk)
    return {
        "apk": os.path.relpath(apk),
        "bytes": apk.stat().st_size,
        "package": f"{identity['namespace']} {identity['versionName']}",
        "models": [model.name for model in models],
        "tasks": [path.stem for path in tasks if path.suffix == ".json"],
        "signatures": [f"v{version}" for version in re.findall(r"using v(\d) scheme [^\n]*: true", verified)],
        "badging": badging,
    }


def assemble(
    tools: Tools, folder: Path, classes: list[Path], main: Path, identity: dict[str, str], keystore: Path
) -> str:
    """Build ``folder/signed.apk`` from compiled classes, and return the output of apksigner's verification.

    Args:
        tools: build tools.
        folder: folder with ``assets``, and for intermediate files.
        classes: folders and jars, converted to classes.dex.
        main: folder with AndroidManifest.xml, and with ``res`` if the app has resources.
        identity: namespace, SDKs and version, as returned by ``settings``.
        keystore: created if missing.

    Raises:
        ToolError: a tool is missing or fails.
    """
    dex = folder / "classes.dex"
    run(["java", "-Xmx512m", "-jar", tools.dx, "--dex", "--min-sdk-version=21", f"--output={dex}", *classes])
    manifest = (main / "AndroidManifest.xml").read_text("utf-8")
    package = f'<manifest package="{identity["namespace"]}" '  # in Gradle builds it is in build.gradle only
    (folder / "AndroidManifest.xml").write_text(manifest.replace("<manifest ", package, 1), "utf-8")
    tools.command(
        *("aapt", "package", "-f", "-M", folder / "AndroidManifest.xml"),
        *(("-S", main / "res") if (main / "res").is_dir() else ()),
        *("--min-sdk-version", identity["minSdk"], "--target-sdk-version", identity["targetSdk"]),
        *("--version-code", identity["versionCode"], "--version-name", identity["versionName"]),
        *("-A", folder / "assets", "-I", tools.framework, "-F", folder / "resources.apk"),
    )
    pack(folder / "resources.apk", dex, folder / "packed.apk")
    tools.command("zipalign", "-f", "-p", "4", folder / "packed.apk", folder / "aligned.apk")
    make_key(keystore)
    sign = ["java", "-jar", tools.apksigner]
    versions = [f"--v{version}-signing-enabled" for version in (1, 2, 3)]
    run(
        [*sign, "sign", "--ks", keystore, "--ks-pass", "pass:android", "--ks-key-alias", "androiddebugkey"]
        + [word for version in versions for word in (version, "true")]
        + ["--v4-signing-enabled", "false", "--out", folder / "signed.apk", folder / "aligned.apk"]
    )
    return run([*sign, "verify", "--verbose", "--min-sdk-version", identity["minSdk"], folder / "signed.apk"])


def settings() -> dict[str, str]:
    """Return the namespace and SDKs of the app, from app/build.gradle, and its version."""
    text = (ANDROID / "app" / "build.gradle").read_text("utf-8")
    keys = ("namespace", "minSdk", "targetSdk")
    matches = {key: re.search(rf"^ *{key} '?([^'\n]*)'?$", text, re.MULTILINE) for key in keys}
    release = version()
    code = 0
    for part in release.split("."):
        code = 100 * code + int(part)
    return {
        **{key: match.group(1) for key, match in matches.items() if match},
        "versionCode": str(code),
        "versionName": release,
    }


def version() -> str:
    """Return the version of the Python package, used by all others (scripts/build/release.py)."""
    text = (ANDROID.parent / "glsl_infer" / "__init__.py").read_text("utf-8")
    (release,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(release)


def default_model() -> Path:
    """Return the default model of the app, from app/build.gradle."""
    text = (ANDROID / "app" / "build.gradle").read_text("utf-8")
    (path,) = re.findall(r"^def model = .* \?: '([^']*)'$", text, re.MULTILINE)
    return (ANDROID / "app" / path).resolve()


def pack(resources: Path, dex: Path, out: Path) -> None:
    """Write the output of aapt and the classes to an APK, reproducibly."""
    with zipfile.ZipFile(resources) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["classes.dex"] = dex.read_bytes()
    write_zip(members, out)


def write_zip(members: dict[str, bytes], out: Path) -> None:
    """Write a zip file. The same members give the same bytes: they are sorted and have a fixed date."""
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            info.create_system = 3
            info.compress_type = zipfile.ZIP_STORED if name.endswith(STORED) else zipfile.ZIP_DEFLATED
            archive.writestr(info, members[name], compresslevel=9)


def make_key(keystore: Path) -> None:
    """Create the debug key of Android SDKs, if it does not exist."""
    if keystore.exists():
        return
    keystore.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".key-", dir=keystore.parent) as folder:  # private to this user
        new_keystore = Path(folder) / keystore.name
        run(
            [
                *("keytool", "-genkeypair", "-keystore", new_keystore, "-storepass", "android", "-keypass", "android"),
                *("-alias", "androiddebugkey", "-dname", "CN=Android Debug,O=Android,C=US"),
                *("-keyalg", "RSA", "-keysize", "2048", "-validity", "10950", "-storetype", "PKCS12"),
            ]
        )
        new_keystore.replace(keystore)


if __name__ == "__main__":
    sys.exit(main())
