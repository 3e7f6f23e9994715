# The peer of bench_recompute: the same model and step in PyTorch, plain and with torch.utils.checkpoint.
# SPDX-License-Identifier: MIT
import resource
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

steps, threads = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
D, H, T, B, V, L = 384, 6, 256, 4, 70, 6


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
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(D)

    def forward(self, tokens, again):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = checkpoint(block, x) if again else block(x)
        return self.norm(x) @ self.token.weight.T


model = GPT()
optimizer = torch.optim.AdamW(model.parameters())
i = torch.arange(B * T)
tokens = ((i * i * 7 + i // 3) % V).view(B, T)
times = {True: [], False: []}
peak = {}
for again in (True, False):  # the smaller one first: the process's peak only grows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(steps + 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens, again).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()
        times[again].append(time.perf_counter() - start)
    peak[again] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
for name, again in (("none", False), ("full", True)):
    ms = 1e3 * sorted(times[again][1:])[steps // 2]
    plain = 1e3 * sorted(times[False][1:])[steps // 2]
    print(f"torch {name:6} {ms:9.1f} {ms / plain:7.3f} {'':12} {'':12} resident at most {peak[again]:.0f} MiB")
