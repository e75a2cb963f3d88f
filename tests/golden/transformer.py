"""Writes what torch.nn.Transformer computes, in a module as users write it: transformer.py FILE.

state.*        weights, fp64
source, target word numbers, filled up with 1
logits, loss   in evaluation mode; the loss counts the words that are not filled up
grad.*         of the loss
"""

import math
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

PADDING = 1
SOURCE_WORDS, TARGET_WORDS = 23, 29
WIDTH, HEADS, HIDDEN = 24, 4, 40


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_embedding = nn.Embedding(SOURCE_WORDS, WIDTH)
        self.tgt_embedding = nn.Embedding(TARGET_WORDS, WIDTH)
        self.transformer = nn.Transformer(WIDTH, HEADS, 2, 3, HIDDEN, batch_first=True)
        self.generator = nn.Linear(WIDTH, TARGET_WORDS)

    def embed(self, table, numbers):
        positions = torch.zeros(numbers.shape[1], WIDTH, dtype=torch.float64)
        for p in range(numbers.shape[1]):
            for i in range(0, WIDTH, 2):
                angle = p / 10000 ** (i / WIDTH)
                positions[p, i], positions[p, i + 1] = math.sin(angle), math.cos(angle)
        return table(numbers) * math.sqrt(WIDTH) + positions

    def forward(self, source, target):
        padded = source == PADDING
        out = self.transformer(
            self.embed(self.src_embedding, source),
            self.embed(self.tgt_embedding, target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]).double(),
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
            tgt_is_causal=True,
        )
        return self.generator(out)


def main():
    torch.manual_seed(11)
    net = Seq2Seq().double().eval()
    for name, value in net.named_parameters():  # also those that begin as zeros and ones
        if value.dim() == 1:
            nn.init.normal_(value, 1.0 if "norm" in name and "weight" in name else 0.0, 0.2)
    source = torch.randint(4, SOURCE_WORDS, (3, 7))
    target = torch.randint(4, TARGET_WORDS, (3, 5))
    follows = torch.randint(4, TARGET_WORDS, (3, 5))
    source[1, 4:] = PADDING
    source[2, 1:] = PADDING
    target[0, 3:] = PADDING
    follows[0, 3:] = PADDING

    logits = net(source, target)
    loss = F.cross_entropy(logits.flatten(0, 1), follows.flatten(), ignore_index=PADDING,
                           label_smoothing=0.1)
    loss.backward()
    out = {"state." + name: value for name, value in net.state_dict().items()}
    out.update({"grad." + name: value.grad for name, value in net.named_parameters()})
    out.update(source=source, target=target, follows=follows, logits=logits.detach(),
               loss=loss.detach())
    save_file({name: value.contiguous() for name, value in out.items()}, sys.argv[1])


if __name__ == "__main__":
    main()
