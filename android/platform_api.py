"""API level 23 (Android 6.0) for javac: stubs of Android's classes, and a check of the calls to Java's own classes.

``android-6.txt`` lists the members of Android used by the app and the library. ``java-8-additions.txt`` lists the parts
of Java 8 missing in API level 23.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ANDROID_API = Path(__file__).with_name("android-6.txt")
JAVA_ADDITIONS = Path(__file__).with_name("java-8-additions.txt")

HEADER = re.compile(r"(?P<modifiers>(?:\w+ )*)(?P<kind>class|interface|enum) (?P<name>[\w.$]+)(?P<rest>.*)")
PRIMITIVES = ("boolean", "byte", "char", "short", "int", "long", "float", "double")


@dataclass
class _Type:
    """A type of the list: its first line in parts, and its members without semicolons."""

    modifiers: str
    kind: str
    rest: str
    members: list[str] = field(default_factory=list)


def stub_sources(text: str) -> dict[str, str]:
    """Return Java source files by path: each listed type with its members, without an implementation.

    Args:
        text: like ``android-6.txt``.

    Raises:
        ValueError: a line is neither a type, a member nor a comment.
    """
    types: dict[str, _Type] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" ") and types and line.endswith(";"):
            next(reversed(types.values())).members.append(line.strip(" ;"))
        elif match := HEADER.fullmatch(line):
            types[match["name"]] = _Type(match["modifiers"], match["kind"], match["rest"])
        else:
            raise ValueError(f"neither a type nor a member: {line}")
    sources = {}
    for name in types:
        if "$" not in name:
            package = name.rpartition(".")[0]
            lines = [f"package {package};", *_declaration(types, name)]
            sources[f"{name.replace('.', '/')}.java"] = "\n".join(lines).replace("$", ".") + "\n"
    return sources


def _declaration(types: dict[str, _Type], name: str) -> Iterator[str]:
    """Yield the lines of a type with its nested types."""
    api = types[name]
    simple = re.split(r"[.$]", name)[-1]
    static = "static " if "$" in name else ""
    yield f"{static}{api.modifiers}{api.kind} {simple}{api.rest} {{"
    if api.kind == "enum":
        yield ", ".join(api.members) + ";"
    else:
        constructors = [member for member in api.members if f" {name}(" in member]
        body = f"{{ super({_super_arguments(types, api)}); }}"
        for member in constructors:
            yield f"{member.split(' ')[0]} {simple}({_named(_parameters(member))}) {body}"
        if api.kind == "class" and not constructors:  # package-private, so that the app cannot call it
            yield f"{simple}() {body}"
        for member in api.members:
            if member not in constructors:
                yield _member(member, api.kind)
    for other in types:
        if other.startswith(f"{name}$") and "$" not in other[len(name) + 1 :]:
            yield from _declaration(types, other)
    yield "}"


def _member(member: str, kind: str) -> str:
    """Return the declaration of a method or a field."""
    if "(" in member and "=" not in member:
        head, tail = member.split("(", 1)
        native = "native " if kind == "class" and "abstract " not in head else ""
        return f"{native}{head}({_named(_parameters(member))}){tail.rpartition(')')[2]};"
    if "final " not in member or "=" in member:
        return f"{member};"
    # Not a constant expression, which javac would copy into the app.
    value_type = member.split(" ")[-2]
    return f"{member} = {f'(new {value_type}[1])[0]' if value_type in PRIMITIVES else 'null'};"


def _parameters(member: str) -> list[str]:
    """Return the parameter types of a method."""
    inside = member.split("(", 1)[1].rpartition(")")[0]
    return re.split(r", (?![^<]*>)", inside) if inside else []


def _named(parameters: list[str]) -> str:
    return ", ".join(f"{parameter} p{number}" for number, parameter in enumerate(parameters))


def _super_arguments(types: dict[str, _Type], api: _Type) -> str:
    """Return arguments for the first listed constructor of the superclass."""
    match = re.search(r"extends ([\w.$]+)", api.rest)
    parent = match[1] if match else ""
    if parent not in types:
        return ""
    for member in types[parent].members:
        if f" {parent}(" in member:
            zeros = {"boolean": "false"} | {name: f"({name}) 0" for name in PRIMITIVES[1:]}
            return ", ".join(zeros.get(parameter, f"({parameter}) null") for parameter in _parameters(member))
    return ""


@dataclass
class ClassFile:
    """The references of a class file.

    Attributes:
        name: of the class; all names have slashes between their parts.
        supers: the superclass and the interfaces.
        methods: the declared methods, as name and descriptor.
        types: all types in the constant pool.
        calls: owner, and name with descriptor, of each called method.
    """

    name: str
    supers: list[str]
    methods: set[str]
    types: set[str]
    calls: set[tuple[str, str]]


def read_class(data: bytes) -> ClassFile:
    """Read a class file's references (chapter 4 of the Java Virtual Machine Specification)."""
    texts: dict[int, str] = {}
    pairs: dict[int, tuple[int, int, int]] = {}
    (count,) = struct.unpack_from(">H", data, 8)
    sizes = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
    at, index = 10, 1
    while index < count:
        tag = data[at]
        if tag == 1:
            (size,) = struct.unpack_from(">H", data, at + 1)
            texts[index] = data[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            if tag in (7, 9, 10, 11, 12):
                first, second = struct.unpack_from(">HH", data, at + 1)  # of a class, the second is the next tag
                pairs[index] = (tag, first, second)
            at += sizes[tag]
        index += 2 if tag in (5, 6) else 1

    def class_name(at: int) -> str:
        return texts[pairs[at][1]]

    def name_and_type(at: int) -> str:
        return texts[pairs[at][1]] + texts[pairs[at][2]]

    _, own, parent, interfaces = struct.unpack_from(">4H", data, at)
    supers = [parent, *struct.unpack_from(f">{interfaces}H", data, at + 8)]
    at += 8 + 2 * interfaces
    methods = set()
    descriptors = {texts[second] for tag, _, second in pairs.values() if tag == 12}
    for is_method in (False, True):
        (members,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(members):
            _, name, descriptor, attributes = struct.unpack_from(">4H", data, at)
            at += 8
            descriptors.add(texts[descriptor])
            if is_method:
                methods.add(texts[name] + texts[descriptor])
            for _ in range(attributes):
                at += 6 + struct.unpack_from(">I", data, at + 2)[0]
    names = {texts[first] for tag, first, _ in pairs.values() if tag == 7}
    types = {name for name in names if not name.startswith("[")}
    types.update(*(re.findall(r"L([^;<]+);", text) for text in (*descriptors, *(names - types))))
    calls = {(class_name(first), name_and_type(second)) for tag, first, second in pairs.values() if tag in (10, 11)}
    return ClassFile(class_name(own), [class_name(at) for at in supers if at], methods, types, calls)


def missing_in_android(classes: list[ClassFile], text: str) -> list[str]:
    """Return each use of a Java type or method missing in API level 23, after the name of the using class.

    Args:
        classes: all classes of a compilation.
        text: like ``java-8-additions.txt``.
    """
    words: dict[str, set[str]] = {"package": set(), "type": set(), "method": set()}
    for line in text.splitlines():
        if not line.startswith("#"):
            kind, name = line.split(" ", 1)
            words[kind].add(name)
    by_name = {api.name: api for api in classes}

    def owners(owner: str, method: str) -> Iterator[str]:
        """Yield Java's types that can implement a call: the owner, or the nearest supertypes of a compiled class."""
        if owner not in by_name:
            yield owner
        elif method not in by_name[owner].methods:
            for parent in by_name[owner].supers:
                yield from owners(parent, method)

    def java(name: str) -> bool:
        return name.startswith(("java/", "javax/")) and not name.startswith("javax/microedition/")

    problems = []
    for api in classes:
        for name in api.types:
            if java(name) and (name.rpartition("/")[0] not in words["package"] or name in words["type"]):
                problems.append(f"{api.name}: {name}")
        for owner, method in api.calls:
            ends = [end for end in owners(owner, method) if java(end)]
            # A supertype that has the method in API level 23 is enough: Object's methods are in every chain.
            if ends and (method in words["method"] or all(f"{end}.{method}" in words["method"] for end in ends)):
                problems.append(f"{api.name}: {owner}.{method}")
    return sorted(problems)
