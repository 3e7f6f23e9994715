# The peer of bench_recompute: the same model and step in PyTorch, plain and with torch.utils.checkpoint.
# SPDX-License-Identifier: MIT
import resource
import subprocess
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


i = torch.arange(B * T)
tokens = ((i * i * 7 + i // 3) % V).view(B, T)


class Training:
    def __init__(self):
        self.model = GPT()
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self, again):
        start = time.perf_counter()
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(tokens, again).flatten(0, 1), tokens.flatten()).backward()
        self.optimizer.step()
        return time.perf_counter() - start


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if len(sys.argv) > 3:  # in a process of its own: by how much two steps make its resident memory grow, in MiB
    training = Training()
    before = resident()
    for _ in range(2):
        training.step(sys.argv[3] == "full")
    print(resident() - before)
    sys.exit()

modes = {"none": False, "full": True}
grown = {name: float(subprocess.run([sys.executable, *sys.argv, name], check=True, capture_output=True).stdout) for name in modes}
training = Training()
times = {name: [] for name in modes}
for _ in range(steps + 1):  # in turns
    for name, again in modes.items():
        times[name].append(training.step(again))
ms = {name: 1e3 * sorted(taken[1:])[steps // 2] for name, taken in times.items()}
for name in modes:
    print(f"torch {name:8} {ms[name]:8.1f} {ms[name] / ms['none']:6.3f} {'':10} {'':9} {grown[name]:13.1f}")
