#!/usr/bin/env python3
# What PyTorch computes for small GPTs whose weights are sines of squares: losses, gradients, five AdamW steps, as hex floats.
# SPDX-License-Identifier: MIT
# Run: python3 tests/data/make_gpt.py (PyTorch 1.13.1 on CPU wrote the files that are here: gpt_small.txt, gpt_world.txt).
import math
import os

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


def names_and_shapes(c):
    d, kv, inner = c["dim"], c["dim"] // c["heads"] * c["kv_heads"], c["inner"]
    yield "token.weight", (c["vocabulary"], d)
    yield "position.weight", (c["context"], d)
    for i in range(c["layers"]):
        b = f"blocks.{i}."
        yield from [(b + "norm1.weight", (d,)), (b + "norm1.bias", (d,))]
        for part, rows in [("query", d), ("key", kv), ("value", kv), ("output", d)]:
            yield from [(b + f"attention.{part}.weight", (rows, d)), (b + f"attention.{part}.bias", (rows,))]
        yield from [(b + "norm2.weight", (d,)), (b + "norm2.bias", (d,))]
        yield from [(b + "mlp.up.weight", (inner, d)), (b + "mlp.up.bias", (inner,))]
        yield from [(b + "mlp.down.weight", (d, inner)), (b + "mlp.down.bias", (d,))]
    yield from [("norm.weight", (d,)), ("norm.bias", (d,))]
    if not c["tied"]:
        yield "head.weight", (c["vocabulary"], d)


def weights(c, dtype):
    # Of the square of the index: sines of the index itself have rank 2, and embeddings whose rows all but cancel, so that the layer
    # norm magnifies rounding until the fifth loss has four digits in float, in PyTorch as well.
    out = {}
    for j, (name, shape) in enumerate(names_and_shapes(c)):
        n = math.prod(shape)
        base = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        values = [base + 0.2 * math.sin(0.7 * (i + 1) ** 2 + j) for i in range(n)]
        out[name] = torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape).requires_grad_()
    return out


def loss(c, w, x, y):
    B, T = x.shape
    d, heads, kv = c["dim"], c["heads"], c["kv_heads"]
    h = w["token.weight"][x] + w["position.weight"][:T]
    for i in range(c["layers"]):
        p = lambda name: w[f"blocks.{i}.{name}"]
        linear = lambda v, name: F.linear(v, p(name + ".weight"), p(name + ".bias"))
        n = F.layer_norm(h, (d,), p("norm1.weight"), p("norm1.bias"))
        q, k, v = [linear(n, "attention." + s).view(B, T, count, d // heads).transpose(1, 2)
                   for s, count in [("query", heads), ("key", kv), ("value", kv)]]
        k, v = k.repeat_interleave(heads // kv, 1), v.repeat_interleave(heads // kv, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // heads)
        scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
        h = h + linear((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d), "attention.output")
        n = F.layer_norm(h, (d,), p("norm2.weight"), p("norm2.bias"))
        h = h + linear(F.gelu(linear(n, "mlp.up")), "mlp.down")
    h = F.layer_norm(h, (d,), w["norm.weight"], w["norm.bias"])
    logits = F.linear(h, w["token.weight"] if c["tied"] else w["head.weight"])
    return F.cross_entropy(logits.view(B * T, -1), y.reshape(-1))


def run(path, c, batch, dtype, every):
    tokens = torch.tensor([[(7 * i + 3 * b + i * i) % c["vocabulary"] for i in range(c["context"] + 1)] for b in range(batch)])
    x, y = tokens[:, :-1], tokens[:, 1:]
    w = weights(c, dtype)
    first = loss(c, w, x, y)
    first.backward()
    lines = ["loss 1 " + float(first).hex()]
    for name, p in w.items():
        g = p.grad.reshape(-1)
        lines.append(f"norm.{name} 1 " + float(g.double().norm()).hex())
        lines.append(f"grad.{name} {len(g[::every])} " + " ".join(float(v).hex() for v in g[::every]))
    optimizer = torch.optim.AdamW(w.values(), lr=0.01, weight_decay=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        step = loss(c, w, x, y)
        losses.append(float(step).hex())
        step.backward()
        optimizer.step()
    lines.append("losses 5 " + " ".join(losses))
    with open(os.path.join(HERE, path), "w") as f:
        f.write("\n".join(lines) + "\n")


torch.set_num_threads(1)
run("gpt_small.txt", dict(layers=2, dim=16, heads=4, kv_heads=2, context=8, vocabulary=11, inner=32, tied=True), 2, torch.float64, 1)
run("gpt_world.txt", dict(layers=2, dim=64, heads=4, kv_heads=4, context=96, vocabulary=30, inner=256, tied=False), 4, torch.float32, 97)
