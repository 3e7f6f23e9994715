# The GPT of the peers of bench_recompute and bench_parallel: 6 layers, width 384, 256 tokens, a batch of 4, 70 symbols.
# SPDX-License-Identifier: MIT
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

D, T, B, V, L = 384, 256, 4, 70, 6


class Block(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.register_buffer("mask", torch.full((T, T), float("-inf")).triu(1))

    def forward(self, x):
        width = D // self.heads
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, self.heads, width).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(-1, -2) * width**-0.5 + self.mask, -1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(B, T, D))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


class GPT(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks, self.norm = nn.ModuleList(Block(heads) for _ in range(L)), nn.LayerNorm(D)

    def forward(self, tokens, again=False):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = checkpoint(block, x) if again else block(x)
        return self.norm(x) @ self.token.weight.T


# `count` sequences of tokens.
def batch(count):
    i = torch.arange(count * T)
    return ((i * i * 7 + i // 3) % V).view(count, T)
