// All-reduce of floats by MPI: prints "name bytes microseconds" a line. Built by bench_collectives for each MPI it finds.
// SPDX-License-Identifier: MIT
// Run: collectives_mpi best|median [BYTES CALLS BATCHES]...
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 2; i + 2 < argc; i += 3) {
    const long bytes = atol(argv[i]), calls = atol(argv[i + 1]), batches = atol(argv[i + 2]);
    const int count = (int)(bytes / (long)sizeof(float));
    float* x = calloc((size_t)count + 1, sizeof *x);
    double* times = calloc((size_t)batches, sizeof *times);
    for (long t = -1; t < batches; ++t) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double began = MPI_Wtime();
      for (long c = 0; c < calls; ++c) MPI_Allreduce(MPI_IN_PLACE, x, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (t >= 0) times[t] = (MPI_Wtime() - began) / (double)calls * 1e6;
    }
    qsort(times, (size_t)batches, sizeof *times, less);
    if (rank == 0) printf("all_reduce %ld %.3f\n", bytes, times[argv[1][0] == 'b' ? 0 : batches / 2]), fflush(stdout);
    free(times);
    free(x);
  }
  MPI_Finalize();
  return 0;
}
