"""Pictures with a truth for each pixel: waste cut out of its white board, pasted onto photographs of groceries.

A pixel's class is the material of what was pasted there, or 0. As pictures are put together here, the truth is exact.
Needs nothing of this project.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLASSES = ("background", "cardboard", "glass", "metal", "paper", "plastic", "trash")
SIDE, CUT = 96, 72
"""Pixels of a picture, and of the longer side of what is cut out."""

TRAINING, HELD_OUT = 900, 150
OBJECTS = 2
"""At most, in a picture; each is there with a chance of CHANCE."""

CHANCE = 0.75
LEAST, MOST = 0.06, 0.7
"""Share of a photograph that a cut may have: less is a speck, more is a board that was too dark."""


def pack(trash: Path, groceries: Path, out: Path) -> None:
    """Write cuts and backgrounds of two data sets (.../SPLIT/CLASS/*.jpg) into one file."""
    rng = np.random.default_rng(7)
    arrays: dict[str, Any] = {}
    for split, count in (("train", TRAINING), ("val", HELD_OUT)):
        files = [(path, CLASSES.index(path.parent.name)) for path in sorted(trash.glob(f"{split}/*/*.jpg"))]
        cuts, materials = [], []
        for index in rng.permutation(len(files)):
            cut = cut_out(files[index][0])
            if cut is not None:
                cuts.append(cut)
                materials.append(files[index][1])
            if len(cuts) == count:
                break
        arrays[f"{split}_cuts"], arrays[f"{split}_materials"] = np.stack(cuts), np.array(materials, np.uint8)
        behind = sorted(groceries.glob(f"{split}/*/*.jpg"))
        chosen = rng.choice(len(behind), count, replace=len(behind) < count)
        arrays[f"{split}_behind"] = np.stack([_square(behind[index]) for index in chosen])
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out, **arrays)
    counts = {split: len(arrays[f"{split}_cuts"]) for split in ("train", "val")}
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB, cuts {counts}")


def _square(path: Path) -> NDArray[np.uint8]:
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        return np.asarray(ImageOps.fit(image.convert("RGB"), (SIDE, SIDE), Image.Resampling.LANCZOS))


def cut_out(path: Path) -> NDArray[np.uint8] | None:
    """Return what lies on the white board, (CUT, CUT, 4) with alpha; None where it cannot be told from the board."""
    from PIL import Image, ImageDraw, ImageFilter

    with Image.open(path) as image:
        small = image.convert("RGB").copy()
    small.thumbnail((192, 192), Image.Resampling.LANCZOS)
    pixels = np.asarray(small, np.float32)
    edge = np.concatenate([pixels[:4].reshape(-1, 3), pixels[-4:].reshape(-1, 3), pixels[:, :4].reshape(-1, 3)])
    off = np.abs(pixels - np.median(edge, axis=0)).max(axis=-1)
    mask = Image.fromarray(np.uint8(255 * (off > max(28.0, 0.5 * float(np.percentile(off, 90))))))
    mask = mask.filter(ImageFilter.MaxFilter(5)).filter(ImageFilter.MinFilter(5)).filter(ImageFilter.MinFilter(3))
    framed = Image.new("L", (mask.width + 2, mask.height + 2))
    framed.paste(mask, (1, 1))
    ImageDraw.floodfill(framed, (0, 0), 128)  # what this does not reach is the thing, or a hole in it
    thing = np.asarray(framed)[1:-1, 1:-1] != 128
    if not LEAST <= thing.mean() <= MOST:
        return None
    ys, xs = np.nonzero(thing)
    box = (int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1)
    alpha = Image.fromarray(np.uint8(255 * thing)).filter(ImageFilter.GaussianBlur(0.7))
    cut = Image.merge("RGBA", (*small.split(), alpha)).crop(box)
    cut.thumbnail((CUT, CUT), Image.Resampling.LANCZOS)
    out = Image.new("RGBA", (CUT, CUT))
    out.paste(cut, ((CUT - cut.width) // 2, (CUT - cut.height) // 2))
    return np.asarray(out)


def pasted(cut: NDArray[np.uint8], behind: Path, side: int, at: tuple[int, int]) -> tuple[Any, NDArray[np.bool_]]:
    """Return a picture (SIDE, SIDE, 3) with one thing in it, uint8, and where that is.

    Args:
        cut: the thing, of ``cut_out``.
        behind: photograph behind it.
        side: pixels of the cut in the picture.
        at: x and y of its upper left corner.
    """
    from PIL import Image

    picture = Image.fromarray(_square(behind))
    thing = Image.fromarray(cut).resize((side, side), Image.Resampling.LANCZOS)
    picture.paste(thing, at, thing)
    alpha = Image.new("L", picture.size)
    alpha.paste(thing.getchannel("A"), at)
    return np.asarray(picture), np.asarray(alpha) > 127


def composed(cuts: Any, materials: Any, behind: Any, key: Any, count: int) -> tuple[Any, Any]:
    """Return pictures (count, SIDE, SIDE, 3) of whole bytes in [0, 1], and their classes (count, SIDE, SIDE)."""
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(key, 12)
    picture = _flipped(behind[jax.random.randint(keys[0], (count,), 0, len(behind))] / 255.0, keys[1])
    truth = jnp.zeros((count, SIDE, SIDE), jnp.int32)
    for number in range(OBJECTS):
        k = jax.random.split(keys[2 + number], 6)
        which = jax.random.randint(k[0], (count,), 0, len(cuts))
        scale = jax.random.uniform(k[1], (count,), minval=0.5, maxval=1.2)
        room = SIDE - CUT * scale
        place = jax.random.uniform(k[2], (count, 2), minval=-0.15, maxval=1.15) * room[:, None]
        cut = _flipped(cuts[which] / 255.0, k[3])

        def put(one: Any, times: Any, at: Any) -> Any:
            return jax.image.scale_and_translate(
                one, (SIDE, SIDE, 4), (0, 1), jnp.stack([times, times]), at, "linear", antialias=True
            )

        placed = jax.vmap(put)(cut, scale, place)
        there = jax.random.bernoulli(k[4], CHANCE, (count, 1, 1))
        alpha = jnp.clip(placed[..., 3], 0.0, 1.0) * there
        light = jax.random.uniform(k[5], (count, 1, 1, 1), minval=0.7, maxval=1.1)
        picture = picture * (1.0 - alpha[..., None]) + jnp.clip(placed[..., :3] * light, 0.0, 1.0) * alpha[..., None]
        truth = jnp.where(alpha > 0.5, materials[which][:, None, None], truth)
    return jnp.round(jnp.clip(picture, 0.0, 1.0) * 255.0) / 255.0, truth


def _flipped(x: Any, key: Any) -> Any:
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(key, 2)
    x = jnp.where(jax.random.bernoulli(keys[0], 0.5, (len(x), 1, 1, 1)), x[:, :, ::-1], x)
    return jnp.where(jax.random.bernoulli(keys[1], 0.5, (len(x), 1, 1, 1)), x.transpose(0, 2, 1, 3), x)
