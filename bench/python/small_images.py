"""What the measurements of this folder share: images on the device, and a network for them."""

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, default_collate

CROP = 4  # pixels that an image may move


class OnDevice(Dataset):
    """One split of a packed image file (scripts/pack_images.py), or random images; on the device.

    A batch is gathered and augmented there as a whole, so that loading takes no time to speak of.
    """

    def __init__(self, file, split, device, augment=False):
        if file == "random":
            generator = torch.Generator().manual_seed(len(split))
            self.images = torch.randint(256, (2048, 3, 32, 32), generator=generator,
                                        dtype=torch.uint8)
            self.labels = torch.randint(10, (2048,), generator=generator)
        else:
            from safetensors.torch import load_file

            prefix = "" if split == "train" else f"{split}_"
            tensors = load_file(file)
            self.images, self.labels = tensors[f"{prefix}images"], tensors[f"{prefix}labels"]
        self.images, self.labels = self.images.to(device), self.labels.to(device)
        self.augment = augment
        pixels = self.images[:10000].float()
        self.mean = pixels.mean((0, 2, 3)).view(1, 3, 1, 1)
        self.std = pixels.std((0, 2, 3)).view(1, 3, 1, 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        images, labels = self.__getitems__([index])
        return images[0], labels[0]

    def __getitems__(self, indices):
        chosen = torch.as_tensor(indices).to(self.images.device, non_blocking=True)
        images = (self.images[chosen].float() - self.mean) / self.std
        return (moved(images) if self.augment else images), self.labels[chosen]

    def loader(self, **options):
        """A loader of batches that are made at once."""
        return DataLoader(self, collate_fn=collate, **options)


def collate(batch):
    return batch if isinstance(batch, tuple) else default_collate(batch)


def moved(images):
    """Random crops of padded images, and half of them mirrored."""
    count, channels, side = images.shape[:3]
    device = images.device
    padded = F.pad(images, (CROP,) * 4)
    span = torch.arange(side, device=device)
    rows, columns = (torch.randint(0, 2 * CROP + 1, (count, 1), device=device) + span
                     for _ in range(2))
    mirror = torch.rand(count, 1, device=device) < 0.5
    columns = torch.where(mirror, columns.flip(1), columns)
    example = torch.arange(count, device=device).view(-1, 1, 1, 1)
    channel = torch.arange(channels, device=device).view(1, -1, 1, 1)
    return padded[example, channel, rows[:, None, :, None], columns[:, None, None, :]]


def resnet18():
    """In the form for small images: no early pooling."""
    import torchvision

    net = torchvision.models.resnet18(num_classes=10)
    net.conv1 = torch.nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
    net.maxpool = torch.nn.Identity()
    return net
