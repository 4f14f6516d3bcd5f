"""Placeholder module for the package python3-picamera2: a camera that shows one picture, 640 x 480."""

from pathlib import Path

import numpy as np
from fake_picamera import Picamera
from PIL import Image

Picamera2 = Picamera([np.asarray(Image.open(Path(__file__).with_suffix(".png")))]).Picamera2
