# All-reduce of floats by Gloo through PyTorch: prints "name bytes microseconds" a line. Run by bench_collectives where torch is installed.
# SPDX-License-Identifier: MIT
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank, ranks, store, typical, sizes):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=ranks)
    for size, calls, batches in sizes:
        x = torch.zeros(size // 4)
        times = []
        for _ in range(min(batches, 15) + 1):
            dist.barrier()
            began = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(x)
            times.append((time.perf_counter() - began) / calls * 1e6)
        if rank == 0:
            print("all_reduce", size, "%.3f" % typical(times[1:]), flush=True)


if __name__ == "__main__":
    ranks = int(sys.argv[1])
    typical = min if sys.argv[2] == "best" else statistics.median
    numbers = [int(a) for a in sys.argv[3:]]
    with tempfile.TemporaryDirectory() as directory:
        mp.spawn(run, (ranks, os.path.join(directory, "store"), typical, list(zip(numbers[::3], numbers[1::3], numbers[2::3]))), nprocs=ranks)
