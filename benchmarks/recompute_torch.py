# The peer of bench_recompute: the same model and step in PyTorch, plain and with torch.utils.checkpoint.
# SPDX-License-Identifier: MIT
import resource
import subprocess
import sys
import time

import torch
from torch import nn

from gpt_torch import GPT, B, batch

steps, threads = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
tokens = batch(B)


class Training:
    def __init__(self):
        self.model = GPT(heads=6)
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
