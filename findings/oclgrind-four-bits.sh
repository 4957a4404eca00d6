#!/usr/bin/env bash
# A kernel that branches on the low four bits of a number, run by the simulator Oclgrind. Expected: with 16, whose low four bits are 0, the
# branch for 0. Seen (oclgrind 21.10-3 of Debian 12, with LLVM 14): no branch is taken, and nothing is reported. LLVM makes of the mask a
# switch over an integer of four bits, whose higher bits the simulator keeps. With -cl-opt-disable there is no such switch, and with a mask of
# eight bits it is one of whole bytes: both are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download oclgrind=21.10-3 liboclgrind-21.10=21.10-3 libllvm14 libclang-common-14-dev libreadline8 libedit2 libz3-4 libxml2 libicu72 \
  libbsd0 libmd0 libffi8 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
cat >kernel.cl <<'K'
int of_four_bits(int x, int y, int z) {
    if ((x & 15) == 0) return y * z;
    if ((x & 15) == 1) return y + z;
    if ((x & 15) == 2) return y / z;
    if ((x & 15) == 3) return y ^ z;
    return -1;
}
int of_eight_bits(int x, int y, int z) {
    if ((x & 255) == 16) return y * z;
    if ((x & 255) == 1) return y + z;
    if ((x & 255) == 2) return y / z;
    if ((x & 255) == 3) return y ^ z;
    return -1;
}
__kernel void show(__global int *out, int x, int y) {
    out[0] = of_four_bits(x, y, 7);
    out[1] = of_eight_bits(x, y, 7);
}
K
printf 'kernel.cl\nshow\n1 1 1\n1 1 1\n<size=8 fill=0 dump>\n<size=4>\n16\n<size=4>\n3\n' >run.sim
run() { LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu root/usr/bin/oclgrind-kernel "$@" run.sim 2>&1 | grep -o 'out\[.*' | paste -sd' '; }
dpkg-deb -f oclgrind_*.deb Package Version
echo "x 16, y 3, z 7; four bits, eight bits"
echo "optimised:   $(run)" | tee said
echo "unoptimised: $(run --build-options -cl-opt-disable)" | tee -a said
grep -qx 'optimised:   out\[0\] = -1 *out\[1\] = 21' said || { echo "changed: the optimised kernel"; exit 1; }
grep -qx 'unoptimised: out\[0\] = 21 *out\[1\] = 21' said || { echo "changed: the unoptimised kernel"; exit 1; }
