"""The AAR: its contents, its reproducible build, and an app with only the AAR, run from its own dex."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import build_aar
import build_apk
import numpy as np
import pytest
from app import command_of_app
from phone import Phone
from tiny import write_tiny
from toolchain import Tools

import glsl_infer
from glsl_infer import Classifier

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).with_name("consumer")


@pytest.fixture(scope="module")
def aar(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aar") / "glsl-infer.aar"
    build_aar.build(tools, path)
    return path


@pytest.fixture(scope="module")
def jar(aar: Path) -> zipfile.ZipFile:
    with zipfile.ZipFile(aar) as archive:
        return zipfile.ZipFile(io.BytesIO(archive.read("classes.jar")))


def test_the_aar_has_the_classes_of_its_modules_and_a_license(aar: Path, jar: zipfile.ZipFile) -> None:
    with zipfile.ZipFile(aar) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert {"AndroidManifest.xml", "classes.jar", "R.txt", "LICENSE"} <= set(members)
    manifest = members["AndroidManifest.xml"].decode()
    assert 'package="glslinfer.gles"' in manifest and 'minSdkVersion="21"' in manifest
    assert "uses-permission" not in manifest
    sources = [
        path.relative_to(ROOT / "android" / module / "src/main/java").with_suffix(".class").as_posix()
        for module in build_aar.MODULES
        for path in (ROOT / "android" / module).rglob("*.java")
        if path.stem != "package-info"
    ]
    inside = jar.namelist()
    assert set(sources) == {name for name in inside if name.endswith(".class") and "$" not in name}
    assert "glslinfer/gles/AndroidGl.class" in inside
    assert jar.read("META-INF/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert f"Implementation-Version: {glsl_infer.__version__}\r\n".encode() in jar.read("META-INF/MANIFEST.MF")


def test_metadata_names_the_smallest_compile_sdk(aar: Path) -> None:
    with zipfile.ZipFile(aar) as archive:
        text = archive.read("META-INF/com/android/build/gradle/aar-metadata.properties").decode()
    assert dict(line.split("=") for line in text.split()) == {
        **{"aarFormatVersion": "1.0", "aarMetadataVersion": "1.0"},
        "minCompileSdk": "21",
    }


def test_equal_sources_give_equal_bytes(aar: Path, tmp_path: Path) -> None:
    rebuilt = tmp_path / "new" / "rebuilt.aar"
    done = subprocess.run(
        [sys.executable, ROOT / "android" / "build_aar.py", "-o", rebuilt], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r".*rebuilt\.aar: [\d,]+ bytes, version [\d.]+\n", done.stdout)
    assert hashlib.sha256(rebuilt.read_bytes()).digest() == hashlib.sha256(aar.read_bytes()).digest()
    assert [path.name for path in rebuilt.parent.iterdir()] == ["rebuilt.aar"]


def test_an_app_with_only_the_aar_classifies(tools: Tools, aar: Path, tmp_path: Path) -> None:
    model = write_tiny(tmp_path)
    with zipfile.ZipFile(aar) as archive:
        archive.extract("classes.jar", tmp_path)
    library = tmp_path / "classes.jar"
    build = tmp_path / "build"
    tools.javac([CONSUMER / "java"], build / "classes", classpath=[library], android=True)
    (build / "assets").mkdir()
    shutil.copyfile(model, build / "assets" / "tiny.glslnn")
    identity = {"namespace": "example.consumer", "minSdk": "21", "targetSdk": "34"}
    identity |= {"versionCode": "1", "versionName": "1"}
    verification = build_apk.assemble(
        tools, build, [build / "classes", library], CONSUMER, identity, tmp_path / "debug.keystore"
    )
    assert verification.startswith("Verifies")
    badging = tools.command("aapt", "dump", "badging", build / "signed.apk")
    assert "launchable-activity: name='example.consumer.MainActivity'" in badging
    command = command_of_app(tools, build / "signed.apk", tmp_path, "example.consumer.MainActivity")
    phone = Phone(command, build / "signed.apk", tmp_path)
    try:
        phone.command("start")
        (text,) = phone.command("idle")["texts"]
    finally:
        phone.close()
    y, x = np.mgrid[0:40, 0:60]
    with Classifier(model) as classifier:  # the same image as in the app
        best = classifier.classify(np.stack([4 * x, 6 * y, 0 * x], axis=2).astype(np.uint8), top=1)[0]
    label, thousandths = text.rsplit(" ", 1)
    assert (label, int(thousandths)) == (best.label, pytest.approx(1000 * best.probability, abs=1))
