"""The APK: manifest, contents, signature, reproducible build, and only members of API level 23."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import build_apk
import pytest
from phone import MODEL
from platform_api import stub_sources
from toolchain import ToolError, Tools, run

import glsl_infer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def badging(tools: Tools, apk: Path) -> str:
    return tools.command("aapt", "dump", "badging", apk)


def members(apk: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(apk) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_manifest_has_name_version_and_activities(badging: str) -> None:
    code = sum(int(part) * 100**power for power, part in enumerate(reversed(glsl_infer.__version__.split("."))))
    name = f"versionCode='{code}' versionName='{glsl_infer.__version__}'"
    assert f"package: name='glslinfer.app' {name}" in badging
    assert "sdkVersion:'21'" in badging
    (target,) = re.findall(r"targetSdkVersion:'(\d+)'", badging)
    assert int(target) >= 34
    assert "uses-gl-es: '0x20000'" in badging
    assert "application-label:'glsl-infer'" in badging
    assert "launchable-activity: name='glslinfer.app.MainActivity'" in badging
    assert re.findall(r"uses-permission: name='([^']*)'", badging) == ["android.permission.CAMERA"]
    manifest = (ROOT / "android/app/src/main/AndroidManifest.xml").read_text("utf-8")
    assert re.findall(r'android:name="android\.intent\.action\.(\w+)"', manifest) == ["MAIN"], "others can open no file"


def test_the_icon_is_a_png_in_the_package(apk: Path, badging: str) -> None:
    (icon,) = re.findall(r"application: label='glsl-infer' icon='([^']*)'", badging)
    inside = members(apk)
    assert icon in inside
    (png,) = [data for name, data in inside.items() if name.endswith("/icon.png")]
    assert png.startswith(b"\x89PNG")


def test_signature_schemes_1_to_3_verify(tools: Tools, apk: Path) -> None:
    message = run(["java", "-jar", tools.apksigner, "verify", "--verbose", "--min-sdk-version", "21", apk])
    assert message.startswith("Verifies\n")
    for version in (1, 2, 3):
        assert re.search(rf"using v{version} scheme \(.*\): true", message)


def test_a_changed_byte_breaks_the_signature(tools: Tools, apk: Path, tmp_path: Path) -> None:
    data = bytearray(apk.read_bytes())
    data[data.index(b"glslnn") + 200] ^= 1
    (tmp_path / "changed.apk").write_bytes(data)
    done = subprocess.run(
        ["java", "-jar", str(tools.apksigner), "verify", str(tmp_path / "changed.apk")],
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0


def test_the_model_that_make_apk_puts_inside() -> None:
    assert build_apk.default_model() == MODEL


def test_archive_members(apk: Path) -> None:
    inside = members(apk)
    assert inside[f"assets/models/{MODEL.name}"] == MODEL.read_bytes()
    shaders = build_apk.MAIN / "assets" / "shaders"
    for path in shaders.iterdir():
        assert inside[f"assets/shaders/{path.name}"] == path.read_bytes()
    assert inside["classes.dex"].startswith(b"dex\n")
    assert not [name for name in inside if name.endswith((".java", ".class", ".keystore"))]


def test_resources_are_stored_and_aligned(apk: Path) -> None:
    """Resources are stored and aligned to 4 bytes, which Android 11 and later require of apps that target them."""
    data = apk.read_bytes()
    with zipfile.ZipFile(apk) as archive:
        info = archive.getinfo("resources.arsc")
    assert info.compress_type == zipfile.ZIP_STORED
    name, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
    assert (info.header_offset + 30 + name + extra) % 4 == 0


def test_equal_sources_give_equal_bytes(tools: Tools, apk: Path, squares: Path, tmp_path: Path) -> None:
    rebuilt = tmp_path / "elsewhere" / "rebuilt.apk"
    build_apk.build(tools, [MODEL], rebuilt, apk.parent / "key" / "debug.keystore", [squares])
    assert hashlib.sha256(rebuilt.read_bytes()).digest() == hashlib.sha256(apk.read_bytes()).digest()
    assert [path.name for path in rebuilt.parent.iterdir()] == ["rebuilt.apk"]


@pytest.mark.exhaustive
def test_other_models_and_another_key(apk: Path, squares: Path, tmp_path: Path) -> None:
    models = [ROOT / "models" / "superres-x2-96.glslnn", MODEL]
    command = [sys.executable, str(ROOT / "android" / "build_apk.py"), "--json", "-o", str(tmp_path / "two.apk")]
    command += ["--keystore", str(tmp_path / "own.keystore"), "--models", str(squares), "--model", *map(str, models)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["signatures"] == ["v1", "v2", "v3"]
    first, second = members(apk), members(tmp_path / "two.apk")
    del second["assets/models/superres-x2-96.glslnn"]
    assert {name for name in first if first[name] != second[name]} == {
        f"META-INF/{name}" for name in ("MANIFEST.MF", "ANDROIDD.SF", "ANDROIDD.RSA")
    }


@pytest.mark.parametrize("name", ["missing.glslnn", "example.jpg"])
def test_a_file_of_another_kind_is_refused_as_a_model(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app.apk").write_text("an app from before")
    model = ROOT / "docs" / "images" / name
    assert build_apk.main(["--model", str(model), "-o", str(tmp_path / "app.apk")]) == 2
    assert capsys.readouterr().err == f"error: {model}: not a model file; give a *.glslnn file\n"
    assert (tmp_path / "app.apk").read_text() == "an app from before"


def test_the_runner_imports_no_android_packages() -> None:
    sources = list((ROOT / "android" / "runner").rglob("*.java"))
    assert len(sources) > 15
    for path in sources:
        assert not re.search(r"^import (android|javax|com)\.", path.read_text("utf-8"), re.MULTILINE)


def test_no_line_of_java_is_longer_than_those_of_python() -> None:
    for folder in (ROOT / "android", ROOT / "tests" / "android"):
        for path in folder.rglob("*.java"):
            for index, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                assert len(line) <= 120, f"{path}:{index}"


OLD = """
package example;
class Use extends java.util.concurrent.ConcurrentHashMap<String, Integer> {
    private static final long serialVersionUID = 1;
    int use(android.view.View view, java.util.List<Integer> values) {
        java.util.Collections.sort(values);
        putIfAbsent("a", Math.max(view.getWidth(), Integer.compare(1, 2)));
        return android.os.Build.VERSION.SDK_INT + get("a") + hashCode();
    }
}
"""

NEW = """
package example;
class Use extends java.util.HashMap<String, Integer> {
    private static final long serialVersionUID = 1;
    void use(java.util.LinkedList<Integer> values, java.util.concurrent.ConcurrentHashMap<String, Integer> other) {
        values.sort(null);
        putIfAbsent("a", Math.floorMod(1, 2));
        for (String key : other.keySet()) {
            System.out.println(key);
        }
        Runnable later = () -> System.out.println(java.time.Instant.now());
        later.run();
    }
    void sort(java.util.Comparator<String> order) {
        sort(order);
    }
}
"""


def compile_one(tools: Tools, folder: Path, source: str) -> None:
    (folder / "java").mkdir()
    (folder / "java" / "Use.java").write_text(source, "utf-8")
    tools.javac([folder / "java"], folder / "classes", android=True)


def test_api_level_23_is_accepted(tools: Tools, tmp_path: Path) -> None:
    compile_one(tools, tmp_path, OLD)
    assert (tmp_path / "classes" / "example" / "Use.class").is_file()


def test_java_8_that_android_6_lacks_is_refused(tools: Tools, tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        compile_one(tools, tmp_path, NEW)
    refused = {line.removeprefix("example/Use: ") for line in str(caught.value).splitlines()[1:]}
    assert refused >= {
        "java/util/LinkedList.sort(Ljava/util/Comparator;)V",
        "java/lang/Math.floorMod(II)I",
        "example/Use.putIfAbsent(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
        "java/util/concurrent/ConcurrentHashMap$KeySetView",
        "java/lang/invoke/LambdaMetafactory",
        "java/time/Instant",
    }
    assert not [name for name in refused if name.startswith(("example/Use.sort", "java/io", "java/lang/System"))]


def test_a_member_of_android_that_is_not_listed_is_refused(tools: Tools, tmp_path: Path) -> None:
    source = "package example; class Use { Object use(android.app.Activity app) { return app.getDisplay(); } }"
    with pytest.raises(ToolError, match=r"cannot find symbol(?s:.*)getDisplay"):
        compile_one(tools, tmp_path, source)


def test_a_line_of_the_list_that_is_not_java() -> None:
    with pytest.raises(ValueError, match="neither a type nor a member: public clas"):
        stub_sources("public class a.B\npublic clas a.C\n")
