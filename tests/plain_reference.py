"""A CPU reference, written from docs/reference/graph-format.md and docs/reference/bundle-format.md alone."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
CLIPS = ("linear", "relu")
SCALES = ("absolute", "leaky_relu", "prelu")


class PlainReference:
    """A bundle, which is not checked."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.graph = json.loads(self.members["graph.json"])
        self.layers = {layer["name"]: layer for layer in self.graph["layers"]}

    def run(self, given: dict[str, Array]) -> Iterator[tuple[str, Array]]:
        """Yield every layer's name and stored output.

        Args:
            given: bytes of pictures and values of other inputs, by name.
        """
        values: dict[str, Array] = {}
        for layer in self.layers.values():
            inputs = [values[name] for name in layer["inputs"]]
            if layer["op"] == "input" and layer["attrs"]["fit"] is not None:
                scale, zero = self.range_of(layer["name"])
                values[layer["name"]] = scale * (given[layer["name"]] - zero) / 255
                continue
            if layer["op"] in ("input", "input_fixed"):
                exact = given[layer["name"]]
            else:
                exact = getattr(self, layer["op"])(layer, layer["attrs"], *inputs)
            output = layer["output"]
            if "scale" in output:
                n = np.clip(np.floor(exact / output["scale"] * 256 + 0.5), -32768, 32767)
                exact = n * output["scale"] / 256
            elif "scales" in layer["attrs"]:
                scale, zero = self.range_of(layer["name"])
                parts = 256 if output.get("bits") == 16 else 1
                b = np.clip(np.floor((exact / scale * 255 + zero) * parts + (0.5 + 1e-9)), 0, 255 * parts) / parts
                exact = scale * (b - zero) / 255
            values[layer["name"]] = exact
            yield layer["name"], exact

    def range_of(self, name: str) -> tuple[Array, Array]:
        output = self.layers[name]["output"]
        scale, zero = (np.broadcast_to(np.array(output[k], float), output["channels"]) for k in ("scales", "zeros"))
        return scale, zero

    # Convolutions ---------------------------------------------------------------------------------

    def conv2d(self, layer: Any, attrs: Any, x: Array, *residual: Array) -> Array:
        height, width, channels, filters = layer["weights"]["kernel"]
        s_in, z_in = self.of_inputs(layer, attrs["groups"], channels, filters)
        a, o = self.stores(layer, attrs["activation"])
        i_channels = 4 if attrs["alpha"] else channels
        slices = math.ceil(filters / 4)
        places = list(columns(height, width, i_channels, filters, attrs["groups"]))
        if len(layer["members"]) == 2:
            texels, units = (self.members[name] for name in layer["members"])
            count = 1 + max(p[4] for p in places)
            if len(units) in (20, 36):
                floats = weight_pairs(texels, units, slices, count, {p[4]: p[1:4] for p in places})
            else:
                floats = weight_texture(texels, units, slices, count)
        else:
            floats = np.frombuffer(self.members[layer["members"][0]], "<f4").astype(float).reshape(slices, -1, 4)
            if (floats[:, -1] == [1, 1, 1, 2**40]).all():
                floats = floats[:, :-1] * [1, 1, 1, 2**40]
        k = np.zeros((height, width, i_channels, filters))
        for i, s, ky, kx, at, c in places:
            for j, f, g in lanes(i, filters, attrs["groups"]):
                if c is None:
                    k[ky, kx, 0, f] = floats[i, at, j]
                elif 0 <= c - g * i_channels < i_channels:
                    k[ky, kx, c - g * i_channels, f] = floats[i, at, j]
            assert s >= 0
        k = k[:, :, :channels]
        rest = floats[:, -1].reshape(-1)[:filters] - o
        if not attrs["alpha"]:
            rest = rest + (k * z_in / 255).sum(axis=(0, 1, 2))
        if residual:
            s_r, z_r = self.range_of(layer["inputs"][1])
            rest = rest + a * s_r * z_r / 255
        out = convolve(x, k / (s_in * a), attrs) + rest / a
        return activate(attrs["activation"], out + sum(residual))

    def convolution_products(self, layer: Any, attrs: Any, x: Array) -> Array:
        height, width, channels, filters = layer["weights"]["kernel"]
        s_in, _ = self.of_inputs(layer, attrs["groups"], channels, filters)
        slices = math.ceil(filters / 4)
        places = list(columns(height, width, channels, filters, attrs["groups"]))
        slots = 1 + max(place[1] for place in places)
        members = [self.members[name] for name in layer["members"]]
        numbers, out = np.frombuffer(members[0] if len(members) == 1 else b"", "<f4").astype(float), []
        start = 0
        for index, first in enumerate(range(0, slots, attrs["block"])):
            mine = [place for place in places if first <= place[1] < first + attrs["block"]]
            begin = min(place[4] for place in mine)
            count = 1 + max(place[4] for place in mine) - begin
            if len(members) == 1:
                pairs = count + 1 + (count + 1) % 2
                block = numbers[start : start + slices * 2 * pairs * 2].reshape(slices, 2, pairs, 2)
                start += block.size
            else:
                unit = np.frombuffer(members[2 * index + 1], "<f4").astype(float)
                texels = np.frombuffer(members[2 * index], np.uint8).astype(float).reshape(slices, 2, count + 3, 4)
                whole = 256 * texels[..., 0::2] + texels[..., 1::2]
                block = (whole[:, :, :count] - 32768) * whole[:, :, count : count + 1] * unit[0]
            k = np.zeros((height, width, channels, filters))
            for i, _, ky, kx, at, c in mine:
                for j, f, g in lanes(i, filters, attrs["groups"]):
                    if 0 <= c - g * channels < channels:
                        k[ky, kx, c - g * channels, f] = block[i, j // 2, at - begin, j % 2]
            sums = convolve(x, k * attrs["scale"] / s_in, attrs)
            out.append(np.pad(sums, ((0, 0), (0, 0), (0, 4 * slices - filters))))
        assert start == len(numbers)
        return np.concatenate(out, axis=2)

    def convolution_sum(self, layer: Any, attrs: Any, x: Array, *residual: Array) -> Array:
        (filters,) = layer["weights"]["bias"]
        a, o = self.stores(layer, attrs["activation"])
        members = [self.members[name] for name in layer["members"]]
        rows = np.frombuffer(members[-1], "<f4").astype(float)
        if len(members) > 1:
            texels = np.frombuffer(members[0], np.uint8).reshape(-(-filters // 4), len(rows), -1, 4)
            places = texels.shape[2] - 1 - np.arange(texels.shape[2])
            whole = np.einsum("rntl,t->rnl", texels, 256.0**places) - 2.0 ** (8 * texels.shape[2] - 1)
            rows = (whole * rows[:, None] / 255)[:, : 2 + len(residual)]
        rows = rows.reshape(-1, 2 + len(residual), 4)
        unit = rows[:, 0].reshape(-1)[:filters] / (a * self.layers[layer["inputs"][0]]["output"]["scale"])
        bias = rows[:, -1].reshape(-1)[:filters] - o
        if residual:
            s_r, z_r = self.range_of(layer["inputs"][1])
            bias = bias + a * s_r * z_r / 255
        sums = x.reshape(*x.shape[:2], attrs["blocks"], -1).sum(axis=2)[..., :filters]
        return activate(attrs["activation"], unit * sums + bias / a + sum(residual))

    def of_inputs(self, layer: Any, groups: int, channels: int, filters: int) -> tuple[Array, Array]:
        """Return s_in and z_in for every (i, f)."""
        c = np.arange(filters) // (filters // groups) * channels + np.arange(channels)[:, None]
        scale, zero = self.range_of(layer["inputs"][0])
        return scale[c], zero[c]

    def stores(self, layer: Any, function: str) -> tuple[Array, Array]:
        scale, zero = self.range_of(layer["name"])
        numbers = pieces(function)
        if numbers:
            return np.full_like(scale, numbers[0]), np.full_like(zero, numbers[1])
        name = function.partition("(")[0]
        if name in CLIPS:
            return 1 / scale, zero / 255
        return (1 / scale if name in SCALES else np.ones_like(scale)), np.zeros_like(zero)

    # Other maps -----------------------------------------------------------------------------------

    def add(self, layer: Any, attrs: Any, *maps: Array) -> Array:
        return activate(attrs["activation"], sum(maps))

    def gated_sum(self, layer: Any, attrs: Any, a: Array, b: Array, c: Array) -> Array:
        return activate(attrs["activation"], a * b + c)

    def activation(self, layer: Any, attrs: Any, x: Array) -> Array:
        return activate(attrs["function"], x)

    def max_pool(self, layer: Any, attrs: Any, x: Array) -> Array:
        return pooled(x, attrs, np.max)

    def min_pool(self, layer: Any, attrs: Any, x: Array) -> Array:
        return pooled(x, attrs, np.min)

    def average_pool(self, layer: Any, attrs: Any, x: Array) -> Array:
        return pooled(x, attrs, np.mean)

    def upsample_nearest(self, layer: Any, attrs: Any, x: Array) -> Array:
        return x.repeat(attrs["size"][0], axis=0).repeat(attrs["size"][1], axis=1)

    def upsample_bilinear(self, layer: Any, attrs: Any, x: Array) -> Array:
        for axis, size in enumerate(attrs["size"]):
            last = x.shape[axis] - 1
            p = (np.arange(x.shape[axis] * size) + 0.5) / size - 0.5
            low = np.floor(p).astype(int)
            share = (p - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
            x = x.take(low.clip(0, last), axis) * (1 - share) + x.take((low + 1).clip(0, last), axis) * share
        return x

    def depth_to_space(self, layer: Any, attrs: Any, x: Array) -> Array:
        v, h = attrs["block"] if isinstance(attrs["block"], list) else [attrs["block"]] * 2
        height, width, channels = x.shape
        c = channels // (v * h)
        out = np.zeros((height * v, width * h, c))
        together = attrs.get("order", "depth_column_row") == "depth_column_row"
        for i in range(v):
            for j in range(h):
                for k in range(c):
                    out[i::v, j::h, k] = x[:, :, (h * i + j) * c + k if together else (v * k + i) * h + j]
        return out

    def zero_padding(self, layer: Any, attrs: Any, x: Array) -> Array:
        top, bottom, left, right = attrs["padding"]
        x = x[max(0, -top) : x.shape[0] + min(0, bottom), max(0, -left) : x.shape[1] + min(0, right)]
        around = [[max(0, side) for side in pair] for pair in ((top, bottom), (left, right), (0, 0))]
        return np.pad(x, around, constant_values=attrs.get("value", 0.0))

    def constant_map(self, layer: Any, attrs: Any) -> Array:
        height, width, channels = layer["weights"]["value"]
        fine = attrs.get("bits") == 16
        tall, slices = height * (1 + fine), math.ceil(channels / 4)
        rows = min(2048 // tall, slices)
        texels = np.frombuffer(self.members[layer["members"][0]], np.uint8).astype(float).reshape(rows * tall, -1, 4)
        out = []
        for s in range(slices):
            x, y = s // rows * width, s % rows * tall
            tiles = [texels[y + k * height : y + (k + 1) * height, x : x + width] for k in range(1 + fine)]
            out += [t[..., k : k + 2] @ [1, 1 / 256] for t in tiles for k in (0, 2)] if fine else list(tiles[0].T)
        scale, zero = self.range_of(layer["name"])
        byte = np.stack([b if fine else b.T for b in out][:channels], axis=-1)
        return scale * (byte - zero) / 255

    def constant_padding(self, layer: Any, attrs: Any, x: Array) -> Array:
        return self.zero_padding(layer, attrs, x)

    def l2_pool(self, layer: Any, attrs: Any, x: Array) -> Array:
        return np.sqrt(pooled(x**2, attrs, np.mean))

    def resample(self, layer: Any, attrs: Any, x: Array) -> Array:
        taps, length = layer["weights"]["kernel"]
        sides = (taps + 2, length) if attrs["axis"] else (length, taps + 2)
        table = np.frombuffer(self.members[layer["members"][0]], np.uint8).astype(float).reshape(*sides, 4)
        table = table if attrs["axis"] else table.transpose(1, 0, 2)
        whole = 65536 * table[..., 0] + 256 * table[..., 1] + table[..., 2] - 8388608
        rows = np.moveaxis(x, attrs["axis"], 0)
        out = []
        for i, first in enumerate(256 * table[-1, :, 0].astype(int) + table[-1, :, 1].astype(int)):
            out.append(sum(whole[t, i] * attrs["kernel_unit"] * rows[first + t] for t in range(taps)))
            out[-1] = out[-1] + whole[taps, i] * attrs["offset_unit"]
        return np.moveaxis(np.array(out), 0, attrs["axis"])

    def channel_gather(self, layer: Any, attrs: Any, x: Array) -> Array:
        return np.stack([x[..., c] if c >= 0 else 0 * x[..., 0] for c in attrs["channels"]], axis=2)

    def channel_shuffle(self, layer: Any, attrs: Any, x: Array) -> Array:
        step, d = attrs["step"], x.shape[2] // 4
        order = [(step * i) % d + step * i // d if d > step else i for i in range(d)]
        return np.concatenate([x[:, :, 4 * s : 4 * s + 4] for s in order], axis=2)

    def concat(self, layer: Any, attrs: Any, *maps: Array) -> Array:
        return np.concatenate(maps, axis=2)

    concat_copy = concat

    # Normalisation --------------------------------------------------------------------------------

    def channel_extreme(self, layer: Any, attrs: Any, x: Array) -> Array:
        return (x.max if attrs["operation"] == "max" else x.min)(axis=2, keepdims=True)

    def channel_argmax(self, layer: Any, attrs: Any, x: Array) -> Array:
        return (x.argmin if attrs["smallest"] else x.argmax)(axis=2)[..., None].astype(float)

    def channel_softmax(self, layer: Any, attrs: Any, x: Array) -> Array:
        e = np.exp(x - x.max(axis=2, keepdims=True))
        return rounded(e / e.sum(axis=2, keepdims=True))

    def channel_norm(self, layer: Any, attrs: Any, x: Array) -> Array:
        x = x - x.mean(axis=2, keepdims=True) if attrs["kind"] == "layer" else x
        v = (x * x).sum(axis=2, keepdims=True) / (1 if attrs["kind"] == "unit" else x.shape[2])
        return self.normalised(attrs, x, v)

    def map_norm(self, layer: Any, attrs: Any, x: Array, m: Array, d: Array) -> Array:
        return self.normalised(attrs, x - m, d * d)

    def normalised(self, attrs: Any, x: Array, v: Array) -> Array:
        y = np.array(attrs["gamma"]) * x / np.sqrt(np.maximum(v + attrs["epsilon"], 2**-40)) + np.array(attrs["beta"])
        return activate(attrs["activation"], y)

    def global_deviation(self, layer: Any, attrs: Any, x: Array) -> Array:
        return x.std(axis=(0, 1))

    def group_statistics(self, layer: Any, attrs: Any, m: Array, d: Array) -> Array:
        m, d = m.reshape(attrs["groups"], -1), d.reshape(attrs["groups"], -1)
        mean = m.mean(axis=1, keepdims=True)
        if attrs["statistic"] == "deviation":
            mean = np.sqrt((d * d + (m - mean) ** 2).mean(axis=1, keepdims=True))
        return mean.repeat(m.shape[1], axis=1).reshape(-1)

    # Vectors --------------------------------------------------------------------------------------

    def global_average_pool(self, layer: Any, attrs: Any, x: Array) -> Array:
        return x.mean(axis=(0, 1))

    def vector_concat(self, layer: Any, attrs: Any, *vectors: Array) -> Array:
        return np.concatenate(vectors)

    def vector_sum(self, layer: Any, attrs: Any, *vectors: Array) -> Array:
        return activate(attrs["activation"], sum(vectors))

    def flatten(self, layer: Any, attrs: Any, x: Array) -> Array:
        return x.reshape(-1)

    def flatten_rows(self, layer: Any, attrs: Any, x: Array) -> Array:
        height, width, channels = x.shape
        out = []
        for row in range(attrs["first"], attrs["first"] + attrs["count"]):
            for column in range(width):
                for channel in (row // height * 2, row // height * 2 + 1):
                    out.append(x[row % height, column, channel] if channel < channels else 0.0)
        return np.array(out)

    def vector_map(self, layer: Any, attrs: Any, *vectors: Array) -> Array:
        height, width, channels = attrs["shape"]
        numbers = iter([number for vector in vectors for number in vector])
        pixels = [[[next(numbers) for _ in range(channels)] for _ in range(width)] for _ in range(height)]
        return activate(attrs["activation"], np.array(pixels))

    def vector_gather(self, layer: Any, attrs: Any, x: Array) -> Array:
        return np.array([x[place] for place in attrs["channels"]])

    def vector_binary(self, layer: Any, attrs: Any, a: Array, b: Array) -> Array:
        results = {
            "add": a + b,
            "subtract": a - b,
            "multiply": a * b,
            "divide": a / np.where(b == 0, 1e-30, b),
            "maximum": np.where(a > b, a, b),
            "minimum": np.where(a < b, a, b),
            "squared_difference": (a - b) ** 2,
            "hypot": (a * a + b * b) ** 0.5,
        }
        return activate(attrs["activation"], results[attrs["operation"]])

    def vector_affine(self, layer: Any, attrs: Any, x: Array) -> Array:
        rows = np.frombuffer(self.members[layer["members"][0]], np.uint8).astype(float).reshape(3, -1, 4)
        whole = 65536 * rows[0] + 256 * rows[1] + rows[2] - 8388608
        factor, offset = (whole[:, half : half + 2].reshape(-1)[: len(x)] for half in (0, 2))
        return activate(attrs["activation"], x * factor * attrs["factor_unit"] + offset * attrs["offset_unit"])

    def vector_softmax(self, layer: Any, attrs: Any, x: Array) -> Array:
        return np.exp(x - x.max()) / sum(np.exp(x - x.max()))

    def vector_norm(self, layer: Any, attrs: Any, x: Array) -> Array:
        x = x - sum(x) / len(x) * (attrs["kind"] == "layer")
        square = sum(x * x) / (1 if attrs["kind"] == "unit" else len(x))
        y = x / math.sqrt(max(square + attrs["epsilon"], 2.0**-40))
        return activate(attrs["activation"], y * np.array(attrs["gamma"]) + np.array(attrs["beta"]))

    def dense_products(self, layer: Any, attrs: Any, x: Array) -> Array:
        inputs, outputs = layer["weights"]["kernel"]
        kernel = fixed(self.members[layer["members"][0]]).reshape(-1, 16 * attrs["columns"])[:outputs, :inputs] / 256
        blocks = [kernel[:, c : c + 16] @ x[c : c + 16] for c in range(0, 16 * attrs["columns"], 16)]
        return np.array(blocks)

    def dense_at_once(self, layer: Any, attrs: Any, x: Array) -> Array:
        inputs, outputs = layer["weights"]["kernel"]
        numbers = fixed(self.members[layer["members"][0]]).reshape(-1, outputs + outputs % 2, 2)[:, :outputs]
        kernel = numbers.transpose(0, 2, 1).reshape(-1, outputs)[:inputs] / 256
        row_scale, bias = numbers[-1, :, 0] * attrs["row_unit"], numbers[-1, :, 1] * attrs["bias_scale"] / 256
        return activate(attrs["activation"], row_scale * (x @ kernel) + bias)

    def dense_sum(self, layer: Any, attrs: Any, x: Array) -> Array:
        sums = x.reshape(-1, attrs["count"], x.shape[1]).sum(axis=1)
        if not attrs["last"]:
            return sums
        constants = fixed(self.members[layer["members"][0]]).reshape(-1, 2)[: x.shape[1]]
        row_scale, bias = constants[:, 0] * attrs["row_unit"], constants[:, 1] * attrs["bias_scale"] / 256
        return activate(attrs["activation"], row_scale * sums[0] + bias)


def weight_texture(texels: bytes, units: bytes, slices: int, count: int) -> Array:
    """Return the columns of a weight texture followed by the bias, as in the other kind of member."""
    numbers = np.count_nonzero(np.frombuffer(units, "<f4")[4:])  # one for each channel, after all others
    if count > 1 and len(texels) in (4 * slices * (count + more + 3 * numbers) for more in (4, 7)):
        return weight_bytes(np.frombuffer(texels, np.uint8).astype(float).reshape(slices, -1, 4), units, count)
    high, low = np.frombuffer(texels, np.uint8).astype(float).reshape(2, slices, -1, 4)
    u = np.frombuffer(units, "<f4").astype(float)
    scale = (256 * high[:, count] + low[:, count]) * u[0]
    columns = (256 * high[:, :count] + low[:, :count] - 32768) * scale[:, None]
    bias = (65536 * high[:, count + 1] + 256 * low[:, count + 1] + high[:, count + 2] - 8388608) * u[1]
    return np.concatenate([columns, bias[:, None]], axis=1)


def weight_bytes(rows: Array, units: bytes, count: int) -> Array:
    """Return the same for weights of 8 bits."""
    u = np.frombuffer(units, "<f4").astype(float)
    scale = rows[:, count + 3] * u[0]
    long = 65536 * rows[:, count] + 256 * rows[:, count + 1] + rows[:, count + 2] - 8388608
    return np.concatenate([(rows[:, :count] - 128) * scale[:, None], (long * u[1] * scale)[:, None]], axis=1)


def weight_pairs(texels: bytes, units: bytes, slices: int, count: int, taps: dict[int, Any]) -> Array:
    """Return the same for rows of two output channels; ``taps`` has the texel that each column is multiplied with."""
    u = np.frombuffer(units, "<f4").astype(float)
    each = int(u[-1]) // 8
    rows = np.frombuffer(texels, np.uint8).astype(float).reshape(2, slices, -1, 2, 2)  # half, slice, texel, column
    out, at, before = np.zeros((slices, count + 1, 4)), 0, 0
    while before < count:
        both = 2 if taps.get(before + 1) == taps[before] else 1
        for half in range(2):
            high = rows[half, :, at, :both]
            low = rows[half, :, at + 1, :both] if each == 2 else 0
            out[:, before : before + both, 2 * half : 2 * half + 2] = high - 128 + low / 256
        at, before = at + each, before + both
    for half in range(2):
        mine = out[:, :, 2 * half : 2 * half + 2]
        scale = rows[half, :, at + 1, 1] * u[0]
        long = 65536 * rows[half, :, at, 0] + 256 * rows[half, :, at, 1] + rows[half, :, at + 1, 0] - 8388608
        mine[:, :count] *= scale[:, None]
        mine[:, count] = long * u[1] * scale
    return out


def columns(height: int, width: int, channels: int, filters: int, groups: int) -> Iterator[tuple[Any, ...]]:
    """Yield (output slice, slot, ky, kx, column, channel) of every column; the channel is None if depthwise."""
    slices = range(math.ceil(filters / 4))
    if groups > 1 and channels == 1 and filters == groups:
        for i in slices:
            for tap in range(height * width):
                yield i, 0, tap // width, tap % width, tap, None
        return
    touched = [
        sorted({g * channels + c for _, _, g in lanes(i, filters, groups) for c in range(channels)}) for i in slices
    ]
    reads = [sorted({c // 4 for c in channels}) for channels in touched]
    slots = max(map(len, reads))
    in_slot = [
        sorted({c % 4 for i in slices if s < len(reads[i]) for c in touched[i] if c // 4 == reads[i][s]})
        for s in range(slots)
    ]
    for i in slices:
        at = 0
        for s in range(slots):
            for tap in range(height * width):
                for lane in in_slot[s]:
                    if s < len(reads[i]):
                        yield i, s, tap // width, tap % width, at, 4 * reads[i][s] + lane
                    at += 1


def lanes(i: int, filters: int, groups: int) -> list[tuple[int, int, int]]:
    """Return (component, filter, group) of output slice i."""
    return [(j, 4 * i + j, (4 * i + j) // (filters // groups)) for j in range(4) if 4 * i + j < filters]


def convolve(x: Array, kernel: Array, attrs: Any) -> Array:
    height, width, channels, filters = kernel.shape
    (step_y, step_x), (top, bottom, left, right) = attrs["strides"], attrs["padding"]
    apart_y, apart_x = attrs.get("dilations", [1, 1])
    high, broad = (height - 1) * apart_y + 1, (width - 1) * apart_x + 1
    x = np.pad(x, ((top, bottom), (left, right), (0, 0)))
    out = np.zeros(((x.shape[0] - high) // step_y + 1, (x.shape[1] - broad) // step_x + 1, filters))
    for f in range(filters):
        g = f // (filters // attrs["groups"])
        part = x[:, :, g * channels : (g + 1) * channels]
        for y in range(out.shape[0]):
            for z in range(out.shape[1]):
                window = part[y * step_y :, z * step_x :][:high:apart_y, :broad:apart_x]
                out[y, z, f] = (window * kernel[..., f]).sum()
    return out


def pooled(x: Array, attrs: Any, function: Any) -> Array:
    (pool_y, pool_x), (step_y, step_x), (top, bottom, left, right) = attrs["pool"], attrs["strides"], attrs["padding"]
    rows = (x.shape[0] + top + bottom - pool_y) // step_y + 1
    across = (x.shape[1] + left + right - pool_x) // step_x + 1
    out = np.zeros((rows, across, x.shape[2]))
    for y in range(rows):
        for z in range(across):
            first, before = y * step_y - top, z * step_x - left
            window = x[max(first, 0) : first + pool_y, max(before, 0) : before + pool_x]
            out[y, z] = function(window, axis=(0, 1))
    return out


def pieces(name: str) -> list[float]:
    """Return the parameters of a piecewise linear function."""
    return numbers_of(name) if name.startswith("piecewise_linear(") else []


def numbers_of(name: str) -> list[float]:
    return [float(number) for number in name.partition("(")[2].rstrip(")").split(",") if number]


def activate(text: str, x: Array) -> Array:
    name, numbers = text.partition("(")[0], numbers_of(text)
    if name == "piecewise_linear":
        z = numbers[0] * x + numbers[1]
        terms = [np.clip(f * z, low, high) for f, low, high in zip(numbers[2::3], numbers[3::3], numbers[4::3])]
        return np.clip(sum(terms, z), 0, 1)
    if name in ("leaky_relu", "prelu"):
        return np.where(x < 0, np.array(numbers) * x, x)
    if name == "bent_relu":
        slope, threshold, *most = numbers
        return np.where(x < threshold, slope * (x - threshold), np.minimum(x, *most or [np.inf]))
    if name == "elu":
        return elu(x, numbers[0])
    if name == "celu":
        return np.where(x < 0, numbers[0] * (np.exp(np.minimum(x, 0) / numbers[0]) - 1), x)
    if name == "soft_shrink":
        return x - np.clip(x, -numbers[0], numbers[0])
    if name == "hard_shrink":
        return np.where(np.abs(x) > numbers[0], x, 0)
    if name == "threshold":
        return np.where(x > numbers[0], x, numbers[1])
    if name == "squareplus":
        return (x + np.sqrt(x * x + numbers[0])) / 2
    if name == "power":
        return power(x, numbers[0])
    if name in ("clip", "at_least", "at_most"):
        return np.clip(x, None if name == "at_most" else numbers[0], None if name == "at_least" else numbers[-1])
    if name == "relu":
        return np.clip(x, 0, numbers[0] if numbers else np.inf)
    return FUNCTIONS[name](x)


def elu(x: Array, a: float) -> Array:
    return np.where(x < 0, a * (np.exp(np.minimum(x, 0)) - 1), x)


def power(x: Array, p: float) -> Array:
    size = np.abs(x) if p == int(p) else np.maximum(x, 0)
    y = np.where((size < 2**-40) & (p > 0), 0, np.minimum(np.maximum(size, 2**-40) ** p, 1e30))
    return np.where((x < 0) & (p % 2 == 1), -y, y)


def seven_pieces(x: Array) -> Array:
    inner = 0.05 * x + np.clip(0.1 * x, -0.05, 0.05) + np.clip(0.05 * x, -0.125, 0.125)
    return np.clip(inner, -0.5, 0.5) + 0.5


FUNCTIONS = {
    "absolute": np.abs,
    "linear": lambda x: x,
    "log": lambda x: np.log(np.maximum(x, 2**-40)),
    "reciprocal": lambda x: np.where(x < 0, -1, 1) / np.maximum(np.abs(x), 2**-40),
    "rsqrt": lambda x: 1 / np.sqrt(np.maximum(x, 2**-40)),
    "sqrt": lambda x: np.sqrt(np.maximum(x, 0)),
    "sparse_plus": lambda x: np.where(x > 1, x, np.clip(x + 1, 0, 2) ** 2 / 4),
    "square": lambda x: x * x,
    "tanh_shrink": lambda x: x - np.tanh(x),
    "piecewise_linear_sigmoid": seven_pieces,
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
    "exponential": lambda x: np.exp(np.minimum(x, 80)),
    "gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "log_sigmoid": lambda x: -np.log(1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    "sigmoid": lambda x: 1 / (1 + np.exp(-np.maximum(x, -80))),
    "cos": np.cos,
    "sin": np.sin,
    "silu": lambda x: x / (1 + np.exp(-np.maximum(x, -80))),
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
}


def rounded(x: Array) -> Array:
    """Return values rounded to 8 bits over [0, 1]."""
    return np.floor(x * 255 + (0.5 + 1e-9)) / 255


def fixed(texels: bytes) -> Array:
    pairs = np.frombuffer(texels, np.uint8).astype(float).reshape(-1, 2)
    return (pairs[:, 0] - 128) * 256 + pairs[:, 1]
