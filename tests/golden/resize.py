"""Writes fixtures/resize.safetensors: antialiased resizing and centre cropping by torchvision.

Run with the project's Python: python3 tests/golden/resize.py
"""

import pathlib

import torch
from safetensors.torch import save_file
from torchvision.transforms import v2


def picture(height: int, width: int, generator: torch.Generator) -> torch.Tensor:
    """Smooth waves with noise on top, u8 [3, H, W]."""
    y = torch.linspace(0, 6, height)[:, None]
    x = torch.linspace(0, 9, width)[None, :]
    waves = torch.stack([torch.sin(x + y), torch.cos(x) * torch.sin(y), torch.sin(2 * x - y)])
    noise = torch.rand((3, height, width), generator=generator) - 0.5
    return ((waves * 0.35 + noise * 0.3 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8)


def main() -> None:
    generator = torch.Generator().manual_seed(3)
    tensors = {}
    for name, (height, width) in {"wide": (37, 61), "tall": (70, 41), "small": (9, 7)}.items():
        image = picture(height, width, generator)
        test = v2.Compose([v2.Resize(round(28 / 0.875), antialias=True), v2.CenterCrop(28)])
        tensors[name] = image.permute(1, 2, 0).contiguous()
        tensors[name + ".test"] = test(image).permute(1, 2, 0).contiguous()
        squeezed = v2.functional.resize(image, [16, 24], antialias=True)
        tensors[name + ".resized"] = squeezed.permute(1, 2, 0).contiguous()
    folder = pathlib.Path(__file__).parent / "fixtures"
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / "resize.safetensors")


if __name__ == "__main__":
    main()
