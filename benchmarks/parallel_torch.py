# The peer of bench_parallel: the same model and data parallel step by PyTorch's DistributedDataParallel over Gloo.
# SPDX-License-Identifier: MIT
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gpt_torch import GPT, B, T, batch

HEADS = 8  # which 4 ranks divide


def median(times):
    return sorted(times)[len(times) // 2]


def rank_main(rank, ranks, steps, port, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT(HEADS)) if ranks > 1 else GPT(HEADS)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = batch(B * ranks)[B * rank : B * (rank + 1)]

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()

    def timed(sync):
        dist.barrier()
        start = time.perf_counter()
        if sync or ranks == 1:
            step()
        else:
            with model.no_sync():
                step()
        return time.perf_counter() - start

    step()
    with_, without = [], []
    for _ in range(steps):
        with_.append(timed(True))
        without.append(timed(False))
    results[rank] = (median(with_), median(without))
    dist.destroy_process_group()


if __name__ == "__main__":
    steps, most = int(sys.argv[1]), int(sys.argv[2])
    one = 0.0
    ranks = 1
    while ranks <= most:
        with mp.Manager() as manager:
            results = manager.dict()
            mp.spawn(rank_main, (ranks, steps, 29500 + os.getpid() % 1000 + ranks, results), nprocs=ranks)
            with_, without = max(r[0] for r in results.values()), max(r[1] for r in results.values())
        rate = B * T * ranks / with_
        one = one or rate
        exposed = f"{100 * (with_ - without) / with_:8.1f}" if ranks > 1 else ""
        print(f"{'DDP Gloo':8} {ranks:5} {1e3 * with_:9.1f} {rate:10.0f} {rate / one:6.2f} {'':8} {exposed}", flush=True)
        ranks *= 2
