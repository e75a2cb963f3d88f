#!/usr/bin/env python3
"""Convert a PyTorch state dict to safetensors and back; the endings say which way.

    weights.py resnet18.pth resnet18.safetensors
    weights.py run.safetensors run.pth

A checkpoint that holds its state dict under "state_dict", "model", "model_state_dict" or
"model_ema" is unwrapped, and the "module." and "_orig_mod." that wrappers put before every name is
taken off. Names, shapes and precisions stay. `adagp eval FILE.safetensors --model M --data D` and
`adagp train --weights FILE.safetensors` read the result; torch.load() reads the other.
Needs torch and safetensors. Nothing in a .pth but tensors is executed or kept.
"""

import sys
from pathlib import Path

WRAPPERS = ("state_dict", "model_state_dict", "model", "model_ema")
PREFIXES = ("module.", "_orig_mod.")


def fail(message):
    sys.exit(f"weights.py: {message}")


def state_dict_of(loaded, source):
    import torch

    while isinstance(loaded, dict) and not any(isinstance(v, torch.Tensor) for v in loaded.values()):
        inner = next((loaded[key] for key in WRAPPERS if isinstance(loaded.get(key), dict)), None)
        if inner is None:
            fail(f"{source}: no state dict inside; it has {', '.join(map(str, list(loaded)[:10]))}")
        loaded = inner
    if not isinstance(loaded, dict):
        fail(f"{source}: a {type(loaded).__name__}, expected a state dict "
             "(torch.save(model.state_dict(), file))")
    tensors = {name: value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
    for name in loaded.keys() - tensors.keys():
        print(f"weights.py: {source}: left out {name}, which is no tensor", file=sys.stderr)
    return without_prefix(tensors, source)


def without_prefix(tensors, source):
    renamed = {}
    for name, value in tensors.items():
        short = name
        while short.startswith(PREFIXES):
            short = short.split(".", 1)[1]
        if short in renamed:
            fail(f"{source}: two tensors would both be named {short}")
        renamed[short] = value
    return renamed


def read(path):
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle, zip and torch each have their own
        fail(f"{path}: cannot be read as a state dict: {str(error).splitlines()[0]}")
    return state_dict_of(loaded, path)


def write(tensors, path):
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import save_file

        # Tied weights share memory, which the format does not have: each name gets its own copy.
        save_file({name: value.detach().clone(memory_format=torch.contiguous_format)
                   for name, value in tensors.items()}, path)
    else:
        torch.save(tensors, path)


def main(arguments):
    if len(arguments) != 2 or "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0 if "-h" in arguments or "--help" in arguments else 2
    source, target = map(Path, arguments)
    endings = {".safetensors", ".pth", ".pt", ".bin"}
    for path in (source, target):
        if path.suffix not in endings:
            fail(f"{path}: ending '{path.suffix}', expected one of {', '.join(sorted(endings))}")
    if not source.exists():
        fail(f"{source}: no such file")
    tensors = read(source)
    write(tensors, target)
    print(f"{target}: {len(tensors)} tensors, {sum(t.numel() for t in tensors.values())} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
