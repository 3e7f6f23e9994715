# The contestant of benchmarks/train.cpp in PyTorch: the same model, the same parameters, the same lines.
# SPDX-License-Identifier: MIT
import resource
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

kind, step, threads, clock = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(threads)
torch.set_flush_denormal(True)
now = time.process_time if clock == "cpu" else time.perf_counter
V, T, L, D, H, B = {"d": (70, 96, 2, 64, 4, 16), "e": (70, 256, 6, 384, 6, 4)}[step]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(D)
        self.qkv, self.output = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm2 = nn.LayerNorm(D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x, mask):
        q, k, v = (p.view(B, T, H, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(D, 2))
        scores = (q @ k.transpose(-1, -2) * (D // H) ** -0.5).masked_fill(mask, float("-inf"))
        x = x + self.output((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

    # The parts in which train.cpp counts: queries, keys and values are matrices of their own there.
    def parts(self):
        yield from (self.norm1.weight, self.norm1.bias)
        for i in range(3):
            yield from (self.qkv.weight[i * D : (i + 1) * D], self.qkv.bias[i * D : (i + 1) * D])
        for module in (self.output, self.norm2, self.up, self.down):
            yield from (module.weight, module.bias)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(D)
        self.register_buffer("mask", torch.ones(T, T, dtype=torch.bool).triu(1))

    def forward(self, x):
        h = self.token(x) + self.position.weight
        for block in self.blocks:
            h = block(h, self.mask)
        return F.linear(self.norm(h), self.token.weight)

    def parts(self):
        yield from (self.token.weight, self.position.weight)
        for block in self.blocks:
            yield from block.parts()
        yield from (self.norm.weight, self.norm.bias)


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


before = resident()
model = GPT()
with torch.no_grad():
    for n, part in enumerate(model.parts(), 1):
        if part.dim() == 2:
            wave = np.sin(12.9898 * np.arange(1, part.numel() + 1) + 78.233 * n) * 43758.5453
            part.copy_(torch.from_numpy(0.04 * (wave - np.floor(wave) - 0.5)).view(part.shape))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.bias.zero_()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
i = torch.arange(B * T + 1)
symbols = (i * i * 7 + i // 3) % V
tokens, targets = symbols[:-1].view(B, T), symbols[1:]
for line in sys.stdin:
    if line == "step\n":
        start = now()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "bfloat16"):
            logits = model(tokens)
        loss = F.cross_entropy(logits.float().flatten(0, 1), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(1e3 * (now() - start), loss.item(), flush=True)
    else:
        print(resident(), resident() - before, flush=True)
