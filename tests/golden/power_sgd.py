"""One step of torch's own PowerSGD hook: power_sgd.py OUT.

The hook runs in DistributedDataParallel with one process. The first steps make its factor and its
error what they are in the middle of a run; the last step is the one to compare with.
"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power_sgd
from torch.nn.parallel import DistributedDataParallel

ROWS, COLUMNS, RANK = 19, 5, 2


def main(out):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        torch.manual_seed(0)
        model = DistributedDataParallel(torch.nn.Linear(COLUMNS, ROWS, bias=False))
        state = power_sgd.PowerSGDState(
            None, matrix_approximation_rank=RANK, start_powerSGD_iter=2, min_compression_rate=1,
            use_error_feedback=True, warm_start=True)
        model.register_comm_hook(state, power_sgd.powerSGD_hook)
        saved = {}
        for step in range(5):
            # The gradient of the weight is `wanted` where the input is the identity.
            wanted = torch.randn(ROWS, COLUMNS)
            if step == 4:
                (q,) = state.q_memory_dict.values()
                (error,) = state.error_dict.values()
                saved = {"gradient": wanted, "q": q.clone().view(COLUMNS, RANK),
                         "residual": error.clone().view(ROWS, COLUMNS)}
            model.zero_grad()
            (model(torch.eye(COLUMNS)) * wanted.t()).sum().backward()
        saved["decoded"] = model.module.weight.grad.clone()
        (error,) = state.error_dict.values()
        saved["left"] = error.clone().view(ROWS, COLUMNS)
        save_file({name: tensor.contiguous() for name, tensor in saved.items()}, out)
        dist.destroy_process_group()


main(sys.argv[1])
