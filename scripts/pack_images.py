#!/usr/bin/env python3
"""Pack an image archive or folder into one safetensors file for `--data packed`.

For machines where adagp is built without the image and archive libraries; elsewhere use
`adagp data pack`. Needs numpy, Pillow and safetensors.

    pack_images.py cifar10-jpeg.tar.xz cifar10.safetensors

Expects train/<class>/* and test/<class>/* (or val/), possibly inside one leading folder; all images
of one size. Writes images, labels, test_images, test_labels (u8 [N, 3, H, W], int64 [N]).
"""

import concurrent.futures
import io
import json
import os
import pathlib
import sys
import tarfile

import numpy as np
from PIL import Image
from safetensors.numpy import save_file

SPLITS = {"train": "", "test": "test_", "val": "test_"}


def members(source):
    """Yields (split, class, bytes) in name order."""
    found = []
    if os.path.isdir(source):
        for path in pathlib.Path(source).rglob("*"):
            if path.is_file():
                found.append((path.relative_to(source).parts, path.read_bytes()))
    else:
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile():
                    found.append((pathlib.PurePosixPath(member.name).parts, archive.extractfile(member).read()))
    for parts, data in sorted(found, key=lambda item: item[0]):
        split = next((i for i, part in enumerate(parts) if part in SPLITS), None)
        if split is not None and len(parts) == split + 3:
            yield parts[split], parts[split + 1], data


def decode(data):
    # Contiguous, because stack() keeps the layout of its parts and save_file() writes memory as it is.
    return np.ascontiguousarray(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).transpose(2, 0, 1))


def main(source, target):
    items = list(members(source))
    if not items:
        sys.exit(f"{source}: no train/<class>/<image> or test/<class>/<image> inside")
    classes = sorted({item[1] for item in items})
    tensors = {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for prefix in ("", "test_"):
            part = [item for item in items if SPLITS[item[0]] == prefix]
            if not part:
                sys.exit(f"{source}: no {'test' if prefix else 'train'} images inside")
            tensors[prefix + "images"] = np.stack(list(pool.map(decode, (item[2] for item in part))))
            tensors[prefix + "labels"] = np.array([classes.index(item[1]) for item in part], np.int64)
    save_file(tensors, target, metadata={"classes": json.dumps(classes)})
    print(f"{target}: {len(tensors['images'])} training and {len(tensors['test_images'])} test images, "
          f"{len(classes)} classes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
