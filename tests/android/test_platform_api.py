"""API level 23 for the app: the listed members of Android, and the part of Java 8 that Android 6.0 has."""

from __future__ import annotations

from pathlib import Path

import pytest
from platform_api import stub_sources
from toolchain import ToolError, Tools

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
