#!/usr/bin/env bash
# Sums that are rounded to float after each addition, as `single ? (double)(float)x : x`, in eight running sums that are then added in pairs, built
# by GCC with -O2 and with -O3. Expected: the same bits, as a cast to float rounds (C17, 6.3.1.5) and nothing allows the compiler to leave it
# out (no -ffast-math). Seen (GCC 12.2.0 of Debian 12, x86-64): with -O3 the last digit differs for some lengths, 136 numbers give 8970.9248 in
# place of 8970.92578, as roundings are left out where the loops become vectors; nothing is said. With
# -fno-tree-slp-vectorize or -fno-tree-loop-vectorize beside -O3 the bits are those of -O2.
# Many build their tests with -O2 and what they ship with -O3, CMake's Release. The numbers of such tests then say nothing of the program.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
version=12.2.0-14+deb12u1
apt-get -q download gcc-12=$version cpp-12=$version libgcc-12-dev=$version libisl23 libmpc3 libmpfr6 libgmp10 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu
gcc=$PWD/root/usr/bin/x86_64-linux-gnu-gcc-12 # assembler, linker and C library are those of the system
cat >add.c <<'C'
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static inline double rounded(bool single, double x) { return single ? (double)(float)x : x; }
__attribute__((noinline)) static double sum(const double *at, int n, bool single) {
    double lane[8];
    memcpy(lane, at, sizeof lane);
    for (int i = 8; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) lane[k] = rounded(single, lane[k] + at[i + k]);
    for (int width = 1; width < 8; width *= 2)
        for (int k = 0; k < 8; k += 2 * width) lane[k] = rounded(single, lane[k] + lane[k + width]);
    return lane[0];
}
int main(int argc, char **argv) {
    static double numbers[300];
    (void)argv;
    for (int i = 0; i < 300; ++i) numbers[i] = (float)(50 + 30 * (rand() / 2147483648.));
    for (int n = 8; n <= 300; n += 8) printf("%d %.9g\n", n, sum(numbers, n, argc > 0));
}
C
"$gcc" --version | head -n 1
build() { "$gcc" -std=c17 "${@:2}" add.c -o "$1" && "./$1" >"$1.txt"; }
build two -O2
build three -O3
build lone -O3 -fno-tree-slp-vectorize
build loops -O3 -fno-tree-loop-vectorize
different=$(diff two.txt three.txt | grep -c '^<' || true)
echo "$different of $(wc -l <two.txt) sums differ between -O2 and -O3"
grep '^136 ' two.txt three.txt
[ "$different" -gt 0 ] || { echo "changed: the sums are the same"; exit 1; }
grep -qx '136 8970.92578' two.txt && grep -qx '136 8970.9248' three.txt || { echo "changed: other sums of 136 numbers"; exit 1; }
cmp two.txt lone.txt && cmp two.txt loops.txt || { echo "changed: without one of the two ways of making vectors the sums differ too"; exit 1; }
