"""make_archives.py FOLDER: the same members in archives of every kind; archive_test.cpp knows them."""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

folder = Path(sys.argv[1])
noise, state = bytearray(), 1
for _ in range(20000):
    state = (state * 1103515245 + 12345) % 2**32
    noise.append(state >> 16 & 0xFF)
members = {
    "folder/empty.txt": b"",
    "folder/small.txt": b"small",
    "noise.bin": bytes(noise),
    "last.txt": b"the last one",
}

for ending, mode in {".tar": "w", ".tar.gz": "w:gz", ".tar.xz": "w:xz", ".tar.bz2": "w:bz2"}.items():
    with tarfile.open(folder / f"a{ending}", mode) as archive:
        item = tarfile.TarInfo("folder")
        item.type = tarfile.DIRTYPE
        archive.addfile(item)
        item = tarfile.TarInfo("link")
        item.type, item.linkname = tarfile.SYMTYPE, "last.txt"
        archive.addfile(item)
        for name, data in members.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
        for name, target in {"hard": "./folder/small.txt", "folder/chain": "hard"}.items():
            item = tarfile.TarInfo(name)
            item.type, item.linkname = tarfile.LNKTYPE, target
            archive.addfile(item)

with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, data in members.items():
        archive.writestr(name, data)
