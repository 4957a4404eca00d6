#!/usr/bin/env bash
# A C program linked with the shader compiler's shared library of Debian 12, by the flags of its own pkg-config file. Expected: it links. Seen
# (libshaderc1 and libshaderc-dev 2023.2-1): it does not, as the library lacks 41 symbols of glslang and SPIRV-Tools, for which it names no
# library (its NEEDED entries are those of C and C++ alone). Even a program that only asks for the version of SPIR-V is refused by the linker.
# The program glslc of the same source works, because it is linked with them itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download libshaderc1=2023.2-1 libshaderc-dev=2023.2-1 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
libraries=root/usr/lib/x86_64-linux-gnu
cat >version.c <<'C'
#include <shaderc/shaderc.h>
#include <stdio.h>
int main(void) {
    unsigned version, revision;
    shaderc_get_spv_version(&version, &revision);
    printf("%x\n", version);
    return 0;
}
C
echo "shaderc $(sed -n 's/^Version: //p' $libraries/pkgconfig/shaderc.pc), flags of pkg-config: $(sed -n 's/^Libs: //p' $libraries/pkgconfig/shaderc.pc)"
echo "needed: $(objdump -p $libraries/libshaderc.so.1 | awk '/NEEDED/ {print $2}' | sort | paste -sd' ')" | tee said
if cc version.c -o version -Iroot/usr/include -L$libraries -lshaderc 2>errors; then echo "it links"; else echo "it does not link"; fi | tee -a said
echo "undefined: $(grep -c 'undefined reference' errors)" | tee -a said
grep -o "undefined reference to .*" errors | head -3
grep -qx 'needed: libc.so.6 libgcc_s.so.1 libm.so.6 libstdc++.so.6' said || { echo "changed: it names other libraries"; exit 1; }
grep -qx 'it does not link' said || { echo "changed: it links"; exit 1; }
grep -qx 'undefined: 41' said || { echo "changed: another number of symbols"; exit 1; }
echo "as described at the top of this file"
