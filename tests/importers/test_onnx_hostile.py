"""Damaged and hostile files are refused with an error of the package, in little memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run_python
from onnx_networks import File, TensorProto, helper, onnx

from glsl_infer.errors import GlslInferError, ModelError
from glsl_infer.importers import onnx as importer
from glsl_infer.importers.onnx.file import read_model

MAP = (1, 4, 8, 6)

CREATORS_OF_AXES = ("ConstantOfShape", "Expand", "Reshape", "Tile")
"""Operators creating constants with any number of axes, more than NumPy's limit."""


def sound() -> bytes:
    """Return a valid file with constants, attributes, computed shapes and several outputs."""
    file = File(3, 17)
    x = file.conv(file.input(("N", 3, 8, 6)), 4)
    y = file.clip(file.op("PRelu", [x, file.random(4, 1, 1)], MAP), 0.0, 6.0)
    shape = file.op("Shape", [y], (4,))
    rows = file.op("Reshape", [file.transpose(file.pad(y, [0, 0, 1, 1, 0, 0, 1, 1]), (0, 2, 3, 1)),
                               file.constant([1, -1, 2], "int64")], (1, 160, 2))  # fmt: skip
    expanded = file.op("Expand", [file.op("GlobalAveragePool", [y], (1, 4, 1, 1)), shape], MAP)
    for name in (rows, file.op("Concat", [expanded, y], (1, 8, 8, 6), axis=1)):
        file.output(name)
    return file.model().SerializeToString()


def refused_or_read(data: bytes, folder: Path) -> None:
    """Import a file; a refusal must have a message."""
    path = folder / "model.onnx"
    path.write_bytes(data)
    try:
        survey = importer.survey(path)
    except GlslInferError as error:
        assert str(error)
    else:
        assert survey.problems or survey.graph is not None


def test_every_length(tmp_path: Path) -> None:
    data = sound()
    refused_or_read(data, tmp_path)
    for length in range(0, len(data), 11):
        refused_or_read(data[:length], tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_changed_bytes(seed: int, tmp_path: Path) -> None:
    rng, data = np.random.default_rng(seed), sound()
    for _ in range(60):
        changed = np.frombuffer(data, np.uint8).copy()
        for offset in rng.integers(0, len(changed), rng.integers(1, 4)):
            changed[offset] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
        refused_or_read(changed.tobytes(), tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_changed_numbers(seed: int, tmp_path: Path) -> None:
    """Valid files with swapped attributes, shapes and names."""
    rng = np.random.default_rng(100 + seed)
    for _ in range(40):
        model = onnx.ModelProto.FromString(sound())
        nodes = model.graph.node
        for _ in range(int(rng.integers(1, 3))):
            node, other = nodes[int(rng.integers(len(nodes)))], nodes[int(rng.integers(len(nodes)))]
            kind = rng.integers(4)
            if kind == 0 and node.input and other.output:
                node.input[int(rng.integers(len(node.input)))] = other.output[0]
            elif kind == 1:
                node.op_type = other.op_type
            elif kind == 2:
                for attribute in node.attribute:
                    values = attribute.ints if attribute.ints else []
                    for index in range(len(values)):
                        values[index] = int(rng.choice([-1, 0, 1, 7, 2**31, -(2**63)]))
            else:
                tensor = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
                for index in range(len(tensor.dims)):
                    tensor.dims[index] = int(rng.choice([0, 1, 2, -1, 2**40]))
        refused_or_read(model.SerializeToString(), tmp_path)


Build = Callable[[File, str], str]
"""A function from the input ``x`` to the name of the output."""


def op(kind: str, *inputs: str, **attributes: Any) -> Build:
    """Return a builder of an operator on the input, or on the inputs."""
    return lambda file, x: file.op(kind, inputs or [x], MAP, **attributes)


def added(constant: Callable[[File], str]) -> Build:
    """Return a builder of the sum of the input and a computed constant."""
    return lambda file, x: file.op("Add", [x, constant(file)], MAP)


def nodes(*described: tuple[str, str, str]) -> Build:
    """Return a builder of operators by (kind, inputs, output), with the output "y"."""

    def build(file: File, x: str) -> str:
        file.nodes += [helper.make_node(kind, inputs.split(), [output]) for kind, inputs, output in described]
        return "y"

    return build


def many_operators(file: File, x: str) -> str:
    for _ in range(20_000):
        x = file.op("Relu", [x], MAP)
    return x


def sizes(file: File, *values: int) -> str:
    return file.constant(values, "int64")


def outer_sum(file: File) -> str:
    operands = [file.constant(np.zeros(shape)) for shape in ((100_000, 1), (1, 100_000))]
    return file.op("Add", operands, (4,))


def column(length: int) -> np.ndarray:
    return np.zeros((length, 1))


def of_constants(kind: str, *values: object, **attributes: Any) -> Build:
    """Return a builder of the sum of the input and an operator on float constants, or on int64 if integers."""

    def build(file: File) -> str:
        arrays = [np.asarray(value) for value in values]
        operands = [file.constant(array, "int64" if array.dtype.kind == "i" else "float32") for array in arrays]
        return file.op(kind, operands, (4,), **attributes)

    return added(build)


def many_sizes(file: File) -> str:
    """Expand a constant to millions of sizes, as a view, and reshape another to it."""
    many = file.op("Expand", [file.constant([1], "uint8"), sizes(file, 2**24)], (1,))
    return file.op("Reshape", [file.constant(np.ones((1, 1))), many], (1,))


def huge_kernel(file: File, x: str) -> str:
    operands = [x, file.constant(np.ones((4, 4, 3, 3)))]
    return file.op("ConvTranspose", operands, MAP, strides=[2, 2], dilations=[2**23, 2**23])


def negative_sparse(file: File) -> str:
    """Add a constant that would lower the count of bytes."""
    values = helper.make_tensor("values", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("indices", TensorProto.INT64, [1], [0])
    sparse = helper.make_sparse_tensor(values, indices, [-(2**40), 1])
    return file.op("Constant", [], (4,), sparse_value=sparse)


def integers_up_to(end: int) -> Callable[[File], str]:
    return lambda file: file.op("Range", [file.constant(number, "int64") for number in (0, end, 1)], (4,))


def many_axes(kind: str) -> Callable[[File], str]:
    """Return a builder of a constant of 70 axes."""

    def build(file: File) -> str:
        shape = sizes(file, *[1] * 70)
        return file.op(kind, [shape] if kind == "ConstantOfShape" else [file.constant(np.ones((1, 1))), shape], (1,))

    return build


def doubled_40_times(file: File) -> str:
    y = file.op("Sum", [file.constant(np.zeros(2**16))], (2**16,))
    for _ in range(40):
        y = file.op("Concat", [y, y], (2,), axis=0)
    return y


def weights_without_values(file: File, x: str) -> str:
    file.constants.append(TensorProto(name="w", data_type=1, dims=[2**20, 4, 3, 3]))
    return file.op("Conv", [x, "w"], MAP)


def loop(file: File, x: str) -> str:
    body = helper.make_graph([], "body", [], [])
    return file.op("Loop", [sizes(file, 10**9), "", x], MAP, body=body)


def scan(file: File, x: str) -> str:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, MAP[1:]) for name in ("a", "b")]
    body = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "body", values[:1], values[1:])
    return file.op("Scan", [x], MAP, body=body, num_scan_inputs=1)


def conditional(file: File, x: str) -> str:
    """Add an If whose branches have different shapes."""
    branches = [
        helper.make_graph([helper.make_node(kind, [x], [name])], name, [], [onnx.ValueInfoProto(name=name)])
        for kind, name in (("Relu", "a"), ("ReduceMax", "b"))
    ]
    bright = file.op("Greater", [file.op("ReduceMax", [x], (), keepdims=0), file.constant(0.5)], ())
    return file.op("If", [bright], MAP, then_branch=branches[0], else_branch=branches[1])


def local_function(name: str, *calls: tuple[str, str, str]) -> Any:
    """Return a function from "a" to "b", with calls of the same domain or of ONNX's Relu."""
    body = [helper.make_node(kind, [x], [y], domain="" if kind == "Relu" else "local") for kind, x, y in calls]
    return helper.make_function("local", name, ["a"], ["b"], body, [])


FUNCTIONS = {
    "a function that calls itself": [local_function("Own", ("Own", "a", "b"))],
    "functions that double": [
        local_function(f"F{index}", *((f"F{index - 1}" if index else "Relu", *ends) for ends in ("am", "mb")))
        for index in range(40)
    ],
}
"""Local functions of files, by fault; the files call the last one."""

HARMFUL: dict[str, tuple[Build, str]] = {
    "reads itself": (nodes(("Add", "x y", "y")), "no earlier operator"),
    "a circle": (nodes(("Add", "x z", "y"), ("Relu", "y", "z")), "no earlier operator"),
    "made twice": (nodes(("Relu", "x", "y"), ("Tanh", "x", "y")), "made twice"),
    "many operators": (many_operators, "more than 16,384 operators"),
    "huge by shape": (added(lambda file: file.op("ConstantOfShape", [sizes(file, *[2**15] * 4)], MAP)), "too large"),
    "huge by broadcast": (lambda file, x: file.op("Mul", [x, outer_sum(file)], MAP), "too large"),
    "huge by product": (of_constants("MatMul", column(100_000), np.zeros((100_000, 1, 1))), "too large"),
    "huge by gathering": (of_constants("GatherND", np.zeros((1, 2**18)), np.zeros((2**18, 1), np.int64)), "too large"),
    "huge by scattering": (
        of_constants("ScatterND", np.zeros((1, 2**18)), np.zeros((2**18, 1), np.int64), np.zeros(1)),
        "too large",
    ),
    "huge remainder": (of_constants("Mod", column(2**18), column(2**18).T, fmod=1), "too large"),
    "huge by clipping": (of_constants("Clip", column(2**18), column(2**18).T), "too large"),
    "huge by normalising": (
        of_constants("BatchNormalization", column(2**18), *[np.ones(2**18)] * 4),
        "too large",
    ),
    "huge by scales": (
        of_constants("DequantizeLinear", np.zeros((2**18, 1), np.int64), np.ones((1, 2**18)), axis=0),
        "cannot be broadcast",
    ),
    "huge by more counts than axes": (of_constants("Tile", np.zeros(1), np.array([2**20, 2**20])), "too large"),
    "huge by fewer counts than axes": (
        of_constants("Tile", column(2**18).T.repeat(2, 0), np.array([2**18])),
        "too large",
    ),
    "many parts": (op("Split", axis=2, num_outputs=2**30), "into 1073741824 parts"),
    "huge by dilations": (huge_kernel, "a kernel of 16777217x16777217"),
    "sparse with a negative size": (added(negative_sparse), "a shape of"),
    "many sizes": (added(many_sizes), "16777216 sizes or axes"),
    "huge range": (added(integers_up_to(2**40)), "too large"),
    "huge by tiles": (lambda file, x: file.op("Tile", [x, sizes(file, 1, 1, 2**20, 2**20)], MAP), "damaged"),
    "huge by padding": (lambda file, x: file.pad(x, [0, 0, 2**30, 0, 0, 0, 0, 2**30]), "numbers"),
    "huge by resizing": (
        lambda file, x: file.op("Resize", [x, "", "", sizes(file, 1, 4, 2**30, 2**30)], MAP),
        "8192",
    ),
    **{
        f"axes by {kind}": (added(many_axes(kind)), f"{kind} of constants that do not fit|shape")
        for kind in CREATORS_OF_AXES
    },
    "70 axes of a feature map": (
        lambda file, x: file.op("Reshape", [x, sizes(file, *[1] * 69, 192)], MAP),
        "axes|shape",
    ),
    "doubled 40 times": (added(doubled_40_times), "large|room"),
    "weights without values": (weights_without_values, "needs"),
    "stride 0": (op("MaxPool", kernel_shape=[2, 2], strides=[0, 0]), "damaged"),
    "an unknown padding": (op("MaxPool", kernel_shape=[2, 2], auto_pad="SAME"), "auto_pad 'SAME'.*SAME_UPPER"),
    "no such tensor": (op("Relu", "nowhere"), "no earlier operator"),
    "a loop": (loop, "Loop.*without If, Loop and Scan"),
    "a scan": (scan, "Scan.*without If, Loop and Scan"),
    "a conditional": (conditional, "If whose branches make tensors of"),
    "another's operator": (op("Magic", domain="example.org"), "Magic of the domain 'example.org'"),
    "a function that calls itself": (op("Own", domain="local"), "calls itself"),
    "functions that double": (op("F39", domain="local"), "operators|without end"),
}


def harmful(fault: str) -> Any:
    """Return the model with a fault."""
    file = File(1, 17)
    file.output(HARMFUL[fault][0](file, file.input(MAP)))
    model = file.model()
    model.functions.extend(FUNCTIONS.get(fault, []))
    return model


@pytest.mark.parametrize("fault", HARMFUL)
def test_hostile_models_are_refused_by_name(fault: str) -> None:
    with pytest.raises(ModelError, match=HARMFUL[fault][1]):
        importer.load(harmful(fault))


def test_all_problems_at_once() -> None:
    file = File(0, 17)
    x = file.input((1, 4, 8, 6))
    y = file.op("LSTM", [x, file.random(1, 4, 4), file.random(1, 4, 4)], MAP)
    z = file.op("Magic", [x], MAP, domain="example.org")
    for name in (y, z):
        file.output(name)
    with pytest.raises(ModelError, match=r"(?s)LSTM.*Magic"):
        importer.load(file.model())


def stored_outside(folder: Path, location: str) -> Path:
    """Return a file whose weights are in another file."""
    file = File(0, 17)
    weights = TensorProto(name="w", data_type=1, dims=[4, 3, 1, 1], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "48")):
        weights.external_data.add(key=key, value=value)
    file.constants.append(weights)
    file.output(file.op("Conv", [file.input((1, 3, 8, 6)), "w"], MAP))
    path = folder / "model.onnx"
    path.write_bytes(file.model().SerializeToString())
    return path


def test_weights_next_to_the_model_are_read(tmp_path: Path) -> None:
    values = np.arange(12, dtype=np.float32)
    (tmp_path / "weights.bin").write_bytes(values.tobytes())
    graph = importer.load(stored_outside(tmp_path, "weights.bin"))
    assert graph.nodes[1].weights["kernel"].transpose(3, 2, 0, 1).reshape(-1).tolist() == values.tolist()
    (tmp_path / "weights.bin").write_bytes(values.tobytes()[:-1])
    with pytest.raises(ModelError, match=r"weights\.bin"):
        importer.load(stored_outside(tmp_path, "weights.bin"))


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", "link.bin", "nowhere.bin", ""])
def test_weights_outside_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret.bin").write_bytes(b"\0" * 48)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(ModelError, match="is stored in"):
        importer.load(stored_outside(folder, location))


@pytest.mark.parametrize("content", ["a folder", "text", "nothing", "missing"])
def test_no_onnx_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "model.onnx"
    if content == "a folder":
        path.mkdir()
    elif content != "missing":
        path.write_bytes({"text": b"hello, I am no model\n" * 9, "nothing": b""}[content])
    with pytest.raises(ModelError, match=r"model.onnx: (is a folder|not an ONNX file|no such file)"):
        read_model(path)


@pytest.mark.exhaustive
def test_memory_is_bounded(tmp_path: Path) -> None:
    """Files of a few bytes that request huge tensors are refused in a process limited to 1.5 GB."""
    kinds = [fault for fault in HARMFUL if fault.startswith("huge")]
    kinds += ["many parts", "many sizes", "doubled 40 times", "functions that double"]
    for index, fault in enumerate(kinds):
        (tmp_path / f"{index}.onnx").write_bytes(harmful(fault).SerializeToString())
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from glsl_infer.importers import onnx; from glsl_infer.errors import ModelError\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (1536 << 20, 1536 << 20))\n"
        "for path in sorted(Path(sys.argv[1]).glob('*.onnx')):\n"
        "    try: onnx.load(path); print('read', path)\n"
        "    except ModelError: pass\n"
    )
    done = run_python("-c", script, tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
