"""Images with exact masks: waste cut out of photographs with a white board, pasted onto photographs of groceries.

The class of a pixel is the material of the pasted object, or 0. This module does not depend on the project.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLASSES = ("background", "cardboard", "glass", "metal", "paper", "plastic", "trash")
SIDE, CUT = 96, 72
"""Side of an image, and longer side of a cut-out, in pixels."""

TRAINING, HELD_OUT = 900, 150
OBJECTS = 2
"""Largest number of objects in an image; each is present with probability CHANCE."""

CHANCE = 0.75
LEAST, MOST = 0.06, 0.7
"""Accepted share of a photograph covered by a cut-out: smaller ones are specks, larger ones come from dark boards."""


def pack(trash: Path, groceries: Path, out: Path) -> None:
    """Write cut-outs and backgrounds of two data sets (.../SPLIT/CLASS/*.jpg) into one file."""
    rng = np.random.default_rng(7)
    arrays: dict[str, Any] = {}
    for split, count in (("train", TRAINING), ("val", HELD_OUT)):
        files = [(path, CLASSES.index(path.parent.name)) for path in sorted(trash.glob(f"{split}/*/*.jpg"))]
        cuts, materials = [], []
        for index in rng.permutation(len(files)):
            cutout = cut_out(files[index][0])
            if cutout is not None:
                cuts.append(cutout)
                materials.append(files[index][1])
            if len(cuts) == count:
                break
        arrays[f"{split}_cuts"], arrays[f"{split}_materials"] = np.stack(cuts), np.array(materials, np.uint8)
        backgrounds = sorted(groceries.glob(f"{split}/*/*.jpg"))
        chosen = rng.choice(len(backgrounds), count, replace=len(backgrounds) < count)
        arrays[f"{split}_behind"] = np.stack([_square(backgrounds[index]) for index in chosen])
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out, **arrays)
    counts = {split: len(arrays[f"{split}_cuts"]) for split in ("train", "val")}
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB, cuts {counts}")


def _square(path: Path) -> NDArray[np.uint8]:
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        return np.asarray(ImageOps.fit(image.convert("RGB"), (SIDE, SIDE), Image.Resampling.LANCZOS))


def cut_out(path: Path) -> NDArray[np.uint8] | None:
    """Return the object on the white board, (CUT, CUT, 4) with alpha; None if it cannot be separated from the board."""
    from PIL import Image, ImageDraw, ImageFilter

    with Image.open(path) as image:
        small = image.convert("RGB").copy()
    small.thumbnail((192, 192), Image.Resampling.LANCZOS)
    pixels = np.asarray(small, np.float32)
    edge = np.concatenate([pixels[:4].reshape(-1, 3), pixels[-4:].reshape(-1, 3), pixels[:, :4].reshape(-1, 3)])
    distance = np.abs(pixels - np.median(edge, axis=0)).max(axis=-1)
    mask = Image.fromarray(np.uint8(255 * (distance > max(28.0, 0.5 * float(np.percentile(distance, 90))))))
    mask = mask.filter(ImageFilter.MaxFilter(5)).filter(ImageFilter.MinFilter(5)).filter(ImageFilter.MinFilter(3))
    bordered = Image.new("L", (mask.width + 2, mask.height + 2))
    bordered.paste(mask, (1, 1))
    ImageDraw.floodfill(bordered, (0, 0), 128)  # pixels that this does not reach belong to the object or to its holes
    object_mask = np.asarray(bordered)[1:-1, 1:-1] != 128
    if not LEAST <= object_mask.mean() <= MOST:
        return None
    ys, xs = np.nonzero(object_mask)
    box = (int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1)
    alpha = Image.fromarray(np.uint8(255 * object_mask)).filter(ImageFilter.GaussianBlur(0.7))
    cutout = Image.merge("RGBA", (*small.split(), alpha)).crop(box)
    cutout.thumbnail((CUT, CUT), Image.Resampling.LANCZOS)
    out = Image.new("RGBA", (CUT, CUT))
    out.paste(cutout, ((CUT - cutout.width) // 2, (CUT - cutout.height) // 2))
    return np.asarray(out)


def pasted(
    cutout: NDArray[np.uint8], background: Path, side: int, at: tuple[int, int]
) -> tuple[Any, NDArray[np.bool_]]:
    """Return an image (SIDE, SIDE, 3) with one object, uint8, and the mask of the object.

    Args:
        cutout: the object, from ``cut_out``.
        background: photograph for the background.
        side: side of the cut-out in the image, in pixels.
        at: x and y of its upper left corner.
    """
    from PIL import Image

    picture = Image.fromarray(_square(background))
    image = Image.fromarray(cutout).resize((side, side), Image.Resampling.LANCZOS)
    picture.paste(image, at, image)
    alpha = Image.new("L", picture.size)
    alpha.paste(image.getchannel("A"), at)
    return np.asarray(picture), np.asarray(alpha) > 127


def composed(cuts: Any, materials: Any, backgrounds: Any, key: Any, count: int) -> tuple[Any, Any]:
    """Return images (count, SIDE, SIDE, 3) of bytes in [0, 1], and their classes (count, SIDE, SIDE)."""
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(key, 12)
    picture = _flipped(backgrounds[jax.random.randint(keys[0], (count,), 0, len(backgrounds))] / 255.0, keys[1])
    truth = jnp.zeros((count, SIDE, SIDE), jnp.int32)
    for object_index in range(OBJECTS):
        k = jax.random.split(keys[2 + object_index], 6)
        indices = jax.random.randint(k[0], (count,), 0, len(cuts))
        scale = jax.random.uniform(k[1], (count,), minval=0.5, maxval=1.2)
        free_range = SIDE - CUT * scale
        position = jax.random.uniform(k[2], (count, 2), minval=-0.15, maxval=1.15) * free_range[:, None]
        cutout = _flipped(cuts[indices] / 255.0, k[3])

        def put(image: Any, factor: Any, offset: Any) -> Any:
            return jax.image.scale_and_translate(
                image, (SIDE, SIDE, 4), (0, 1), jnp.stack([factor, factor]), offset, "linear", antialias=True
            )

        placed = jax.vmap(put)(cutout, scale, position)
        present = jax.random.bernoulli(k[4], CHANCE, (count, 1, 1))
        alpha = jnp.clip(placed[..., 3], 0.0, 1.0) * present
        light = jax.random.uniform(k[5], (count, 1, 1, 1), minval=0.7, maxval=1.1)
        picture = picture * (1.0 - alpha[..., None]) + jnp.clip(placed[..., :3] * light, 0.0, 1.0) * alpha[..., None]
        truth = jnp.where(alpha > 0.5, materials[indices][:, None, None], truth)
    return jnp.round(jnp.clip(picture, 0.0, 1.0) * 255.0) / 255.0, truth


def _flipped(x: Any, key: Any) -> Any:
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(key, 2)
    x = jnp.where(jax.random.bernoulli(keys[0], 0.5, (len(x), 1, 1, 1)), x[:, :, ::-1], x)
    return jnp.where(jax.random.bernoulli(keys[1], 0.5, (len(x), 1, 1, 1)), x.transpose(0, 2, 1, 3), x)
