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

D, H, T, B, V, L = 384, 8, 256, 4, 70, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.register_buffer("mask", torch.full((T, T), float("-inf")).triu(1))

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, H, D // H).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(-1, -2) * (D // H) ** -0.5 + self.mask, -1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(B, T, D))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(L))), nn.LayerNorm(D)

    def forward(self, tokens):
        return self.norm(self.blocks(self.token(tokens) + self.position.weight)) @ self.token.weight.T


def median(times):
    return sorted(times)[len(times) // 2]


def rank_main(rank, ranks, steps, port, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT()) if ranks > 1 else GPT()
    optimizer = torch.optim.AdamW(model.parameters())
    i = torch.arange(B * ranks * T)
    tokens = ((i * i * 7 + i // 3) % V).view(B * ranks, T)[B * rank : B * (rank + 1)]

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
