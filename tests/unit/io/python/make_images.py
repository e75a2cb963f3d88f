"""make_images.py FOLDER: images of every kind, each with NAME.rgb as Pillow decodes it.

Prints "name width height tolerance" for each.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

folder = Path(sys.argv[1])
random = np.random.default_rng(1)
width, height = 37, 29
ramp = np.linspace(0, 255, width)[None, :, None] * np.linspace(0.2, 1, height)[:, None, None]
noise = random.integers(0, 40, (height, width, 3))
pixels = np.clip(ramp + noise, 0, 255).astype(np.uint8)
rgb = Image.fromarray(pixels)
alpha = Image.fromarray(random.integers(0, 256, (height, width), dtype=np.uint8))
rgba = rgb.copy()
rgba.putalpha(alpha)
grey_alpha = rgb.convert("L")
grey_alpha.putalpha(alpha)


def put(name, image, tolerance=0, expected=None, **options):
    image.save(folder / name, **options)
    decoded = expected or Image.open(folder / name).convert("RGB")
    (folder / (name + ".rgb")).write_bytes(decoded.tobytes())
    print(name, decoded.width, decoded.height, tolerance)


# Pillow brings its own libjpeg, whose last bit may differ.
put("rgb.jpg", rgb, 1, quality=90)
put("full_chroma.jpg", rgb, 1, quality=95, subsampling=0)
put("progressive.jpg", rgb, 1, quality=90, progressive=True)
put("grey.jpg", rgb.convert("L"), 1)
put("cmyk.jpg", rgb.convert("CMYK"), 2)
put("rgb.png", rgb)
put("rgba.png", rgba)
put("grey.png", rgb.convert("L"))
put("grey_alpha.png", grey_alpha)
put("palette.png", rgb.quantize(16))
put("transparent_palette.png", rgb.quantize(16), transparency=3)
put("bits.png", rgb.convert("1"))
# 16 bits a sample: the high byte is what an 8-bit image would hold.
grey = np.asarray(rgb.convert("L"))
put("deep.png", Image.fromarray(grey.astype(np.uint16) * 257), expected=Image.fromarray(grey).convert("RGB"))
