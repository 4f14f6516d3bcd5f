"""Image patches for training, and the degradation that each network learns to undo. Independent of the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PATCH, TRAINING, HELD_OUT = 96, 1500, 96
SHRINK = 2 / 3
"""Factor by which images are reduced first, which removes artefacts of JPEG."""

BLUR = 1.6
"""Standard deviation of the blur for SRCNN, in pixels."""

SCALE = 3


def pack(data: Path, out: Path) -> None:
    """Write patches of the images in ``data``: train splits for training, val splits for validation."""
    from PIL import Image

    rng = np.random.default_rng(2018)
    arrays: dict[str, Any] = {}
    for split, count in (("train", TRAINING), ("val", HELD_OUT)):
        files = sorted(data.rglob(f"{split}/*/*.jpg"))
        if not files:
            raise SystemExit(f"{data}: no images in .../{split}/CLASS/*.jpg")
        patches = []
        for index in rng.choice(len(files), count, replace=len(files) < count):
            with Image.open(files[index]) as image:
                size = [max(PATCH, round(side * SHRINK)) for side in image.size]
                pixels = np.asarray(image.convert("RGB").resize(size, Image.Resampling.LANCZOS))
            tries = []
            for _ in range(4):  # the patch with the most contrast, because uniform ones are useless
                y, x = (int(rng.integers(side - PATCH + 1)) for side in pixels.shape[:2])
                tries.append(pixels[y : y + PATCH, x : x + PATCH])
            patches.append(max(tries, key=lambda patch: float(np.diff(patch.astype(np.float32), axis=1).std())))
        # Differences of neighbouring pixels compress better.
        arrays[split] = np.diff(np.stack(patches), axis=2, prepend=np.uint8(0))
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out, **arrays)
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def unpack(path: Path) -> dict[str, NDArray[np.uint8]]:
    """Return the patches (n, 96, 96, 3) of each split."""
    with np.load(path) as packed:
        return {split: np.cumsum(packed[split], axis=2, dtype=np.uint8) for split in ("train", "val")}


# ---- data of the image tasks: (n, side, side, 3) in [0, 1] -> (input of the network, expected output)


def in_bytes(x: Any) -> Any:
    """Round to the values of bytes."""
    import jax.numpy as jnp

    return jnp.round(jnp.clip(x, 0.0, 1.0) * 255.0) / 255.0


def _gauss(x: Any, sigma: float) -> Any:
    """Blur without padding: the result is 8 pixels smaller along each axis."""
    from jax import lax

    line = np.exp(-0.5 * (np.arange(-4, 5) / sigma) ** 2)
    line = (line / line.sum()).astype(np.float32)
    for shape in ((9, 1), (1, 9)):
        kernel: Any = np.tile(line.reshape(*shape, 1, 1), (1, 1, 1, x.shape[-1]))
        x = lax.conv_general_dilated(
            x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=x.shape[-1]
        )
    return x


def blurred(sharp: Any, key: Any) -> tuple[Any, Any]:
    """Test 4: a Gaussian blur."""
    return in_bytes(_gauss(sharp, BLUR)), sharp[:, 4:-4, 4:-4]


def enlarged(sharp: Any, key: Any) -> tuple[Any, Any]:
    """Test 5: grey, reduced to a third by a bicubic filter and enlarged again."""
    import jax

    grey = in_bytes((sharp * np.array([0.299, 0.587, 0.114], np.float32)).sum(axis=-1, keepdims=True))
    count, side = grey.shape[:2]
    small = in_bytes(jax.image.resize(grey, (count, side // SCALE, side // SCALE, 1), "cubic", antialias=True))
    large = in_bytes(jax.image.resize(small, grey.shape, "cubic"))
    return large[:, 6:-6, 6:-6], grey[:, 6:-6, 6:-6]


def dull(sharp: Any, key: Any) -> tuple[Any, Any]:
    """Test 8: the image of a poor camera: soft, pale, dark, yellow and noisy."""
    import jax
    import jax.numpy as jnp

    soft = _gauss(sharp, 0.7)
    keys = jax.random.split(key, 3)
    count = len(sharp)
    grey = soft.mean(axis=-1, keepdims=True)
    pale = grey + (soft - grey) * jax.random.uniform(keys[0], (count, 1, 1, 1), minval=0.5, maxval=0.65)
    light = jax.random.uniform(keys[1], (count, 1, 1, 1), minval=0.62, maxval=0.78)
    dark = light * (0.06 + 0.88 * pale) ** 1.15 * jnp.array([1.0, 0.95, 0.8])
    noisy = dark + 0.012 * jax.random.normal(keys[2], dark.shape)
    return in_bytes(noisy), sharp[:, 4:-4, 4:-4]
