# SPDX-License-Identifier: Apache-2.0
"""Decoded, resized and cropped pictures against PIL with torchvision's rules for sizes and crops.

Needs Debian's python3-pil; PICTURE_MIDDLE names the program that calls Nibble.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

try:
    from PIL import Image
except ImportError:
    print("no PIL")
    sys.exit(77)

PROGRAM = os.environ["PICTURE_MIDDLE"]

# width, height, shorter, height and width of what is kept
SIZES = [(500, 375, 256, 224, 224), (375, 500, 256, 224, 224), (333, 499, 256, 224, 224), (500, 281, 256, 224, 224),
         (256, 256, 256, 224, 224), (224, 224, 256, 224, 224), (97, 61, 256, 224, 224), (61, 97, 73, 64, 51),
         (1200, 801, 256, 224, 224), (2001, 1333, 256, 224, 224), (7, 9, 37, 32, 32), (31, 500, 9, 8, 8),
         (640, 479, 255, 254, 1), (3, 3, 1, 1, 1), (1, 5, 64, 64, 64), (449, 331, 146, 128, 97)]


def middle(picture, shorter, height, width):
    """torchvision's Resize(shorter) and CenterCrop((height, width))."""
    w, h = picture.size
    size = (shorter, int(shorter * h / w)) if w <= h else (int(shorter * w / h), shorter)
    resized = picture.convert("RGB").resize(size, Image.BILINEAR)
    top, left = int(round((size[1] - height) / 2.0)), int(round((size[0] - width) / 2.0))
    return np.asarray(resized.crop((left, top, left + width, top + height))).astype(int)


def scene(width, height, seed):
    """Noise over waves: both flat parts and the sharpest edges that there are."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = 127 + 100 * np.sin(x / 11.0 + seed)[..., None] * np.cos(y / 7.0)[..., None] * np.array([1, 0.5, -1])
    noise = rng.integers(0, 256, (height, width, 3))
    return np.where(rng.random((height, width, 1)) < 0.3, noise, waves).clip(0, 255).astype(np.uint8)


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ours(self, path, *sizes):
        subprocess.run([PROGRAM, *map(str, sizes), path, self.folder / "y.npy"], check=True)
        return np.load(self.folder / "y.npy").astype(int)

    def difference(self, picture, name, *sizes, **options):
        path = self.folder / name
        picture.save(path, **options)
        got, wanted = self.ours(path, *sizes), middle(Image.open(path), *sizes)
        self.assertEqual(got.shape, wanted.shape)
        return np.abs(got - wanted)

    def test_resized_pictures_are_within_one_level_of_pils(self):
        for i, (width, height, *sizes) in enumerate(SIZES):
            difference = self.difference(Image.fromarray(scene(width, height, i)), "x.png", *sizes)
            self.assertLessEqual(difference.max(), 1, (width, height, sizes))
            self.assertGreater((difference == 0).mean(), 0.98, (width, height, sizes))

    def test_every_kind_of_picture_becomes_rgb_as_pil_does_it(self):
        rgb = Image.fromarray(scene(300, 200, 1))
        alpha = Image.fromarray(scene(300, 200, 2)[..., 0])
        rgba, la = rgb.copy(), rgb.convert("L")
        rgba.putalpha(alpha)
        la.putalpha(alpha)
        kinds = {"grey.png": rgb.convert("L"), "palette.png": rgb.convert("P"), "rgba.png": rgba, "la.png": la,
                 "one.png": rgb.convert("1"), "grey.jpg": rgb.convert("L"), "rgb.jpg": rgb,
                 "cmyk.jpg": rgb.convert("CMYK")}
        for name, picture in kinds.items():
            difference = self.difference(picture, name, 256, 224, 224)
            self.assertLessEqual(difference.max(), 1, name)
        for options in ({"quality": 30}, {"quality": 95, "subsampling": 0}, {"progressive": True}):
            self.assertLessEqual(self.difference(rgb, "x.jpg", 256, 224, 224, **options).max(), 1, options)

    def test_the_rounding_of_the_crop_is_seen(self):
        # A pixel off is far more than a level.
        path = self.folder / "x.png"
        Image.fromarray(scene(300, 200, 3)).save(path)
        wanted = middle(Image.open(path), 200, 197, 197)
        self.assertLessEqual(np.abs(self.ours(path, 200, 197, 197) - wanted).max(), 1)
        self.assertGreater(np.abs(np.roll(wanted, 1, axis=1) - wanted).max(), 50)


if __name__ == "__main__":
    unittest.main()
