"""Images that exceed the free memory are decoded at a smaller size if the format can, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairwise import each_of
from PIL import Image

from glsl_infer.errors import ImageError
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support import memory

WIDTH, HEIGHT = 1200, 900


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the bytes of free memory."""
    return lambda number: monkeypatch.setattr(memory, "available", lambda: number)


def smooth(mode: str = "RGB") -> Image.Image:
    """Return an image of few details, which is similar at every size."""
    ramp = np.linspace(0, 255, WIDTH)[None] * np.linspace(0.5, 1, HEIGHT)[:, None]
    return Image.fromarray(np.stack([ramp, ramp[::-1], 255 - ramp], -1).astype(np.uint8)).convert(mode)


def test_a_photograph_is_decoded_smaller(tmp_path: Path, free: Any) -> None:
    path = tmp_path / "photo.jpg"
    smooth().save(path, quality=95)
    expected = preprocess.load(path, 64).astype(int)
    sizes = set()
    for pixel_count in (8_000_000, 4_000_000, 1_000_000):
        free(pixel_count)
        result = preprocess.load(path, 64).astype(int)
        assert np.abs(result - expected).max() <= 3
        sizes.add(result.tobytes())
    assert len(sizes) > 1, "it was decoded at other sizes"
    free(100_000_000)
    assert (preprocess.load(path, 64) == expected).all()


def test_images_are_never_decoded_smaller_than_the_network(tmp_path: Path, free: Any) -> None:
    path = tmp_path / "photo.jpg"
    smooth().save(path)
    free(1_000_000)
    with pytest.raises(
        ImageError, match=r"1200 x 900 pixels.*6 MB to decode, where 1 MB of memory are free; shrink it"
    ):
        preprocess.load(path, 300)
    with pytest.raises(ImageError, match="shrink it first"):
        preprocess.open_image(path)  # reads all pixels


@pytest.mark.parametrize(
    ("mode", "name", "options", "megabytes"),
    [
        ("RGB", "a.png", {}, 6),
        ("RGBA", "a.png", {}, 22),
        ("RGB", "a.webp", {}, 22),
        ("CMYK", "a.tif", {}, 15),
        ("RGB", "a.jpg", {"progressive": True}, 13),
    ],
)
def test_memory_of_each_format(
    tmp_path: Path, free: Any, mode: str, name: str, options: dict[str, Any], megabytes: int
) -> None:
    path = tmp_path / name
    smooth(mode).save(path, **options)
    free(megabytes * 1_000_000)  # three fourths are available to a decoder
    with pytest.raises(ImageError, match=f"about {megabytes} MB to decode"):
        preprocess.load(path, 800)
    free(megabytes * 1_500_000)
    assert preprocess.load(path, 800).shape == (800, 800, 3)


def test_free_memory_can_be_unknown(tmp_path: Path, free: Any) -> None:
    path = tmp_path / "a.png"
    smooth().save(path)
    free(None)
    assert preprocess.load(path, 8).shape == (8, 8, 3)


def test_free_memory_of_this_machine_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  1000 kB\nMemAvailable:    300 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    assert memory.available() == 300 << 10
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert memory.available() == 300 << 10
    (tmp_path / "memory.max").write_text("201000\n")
    assert memory.available() == 200_000
    (tmp_path / "meminfo").unlink()
    (tmp_path / "memory.max").unlink()
    assert memory.available() is None


@each_of(("compression", [None, "tiff_lzw", "tiff_deflate"]), ("kind", [np.int32, np.uint32, np.float32]))
def test_every_kind_of_32_bit_tiff_is_refused(tmp_path: Path, compression: str | None, kind: Any) -> None:
    path = tmp_path / "a.tif"
    Image.fromarray(np.full((6, 6), 200, kind)).save(path, compression=compression)
    with pytest.raises(ImageError, match="more than 16 bits a channel are not supported"):
        preprocess.load(path, 4)


def test_a_tiff_of_16_bits_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    Image.fromarray(np.full((6, 6), 200 * 257, np.uint16)).save(path)
    assert (preprocess.load(path, 4) == 200).all()


def test_a_jpeg_of_endless_scans_is_refused(tmp_path: Path) -> None:
    """A JPEG with more than 100 scans is refused: each scan takes the time of a full image, but only a few bytes."""
    path = tmp_path / "scans.jpg"
    smooth().resize((40, 30)).save(path, progressive=True)
    data = path.read_bytes()
    assert preprocess.open_image(path).size == (40, 30)
    path.write_bytes(data[:-2] + data[data.index(b"\xff\xda") : -2] * 12 + data[-2:])
    with pytest.raises(ImageError, match="more than 100 scans"):
        preprocess.open_image(path)


@pytest.mark.parametrize("before", [b"\xff\xe1\xff\xffExif\x00\x00" + bytes(65_527), b"\xff" * 9000])
def test_a_jpeg_of_endless_metadata_is_refused(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "a.jpg"
    smooth().resize((40, 30)).save(path)
    data = path.read_bytes()
    path.write_bytes(data[:2] + before * 10 + data[2:])
    assert preprocess.open_image(path).size == (40, 30)
    path.write_bytes(data[:2] + before * (1 + (33 << 20) // len(before)) + data[2:])
    with pytest.raises(ImageError, match="more than 32 MiB before its pixels"):
        preprocess.open_image(path)
