#!/usr/bin/env bash
# Programs that ask OpenCL for its devices and end, with PoCL. Expected: PoCL's cache of compiled kernels stays as it is, as nothing is compiled.
# Seen (PoCL 3.1-3+deb12u1 of Debian 12): every such process leaves one more empty file, tempfile_ and six letters, in the cache, and none of
# them is ever removed. Programs that look for GPUs at every start (tests, notebooks, schedulers) leave thousands of them in a
# home directory, whose quota counts files.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download libpocl2=3.1-3+deb12u1 libpocl2-common=3.1-3+deb12u1 pocl-opencl-icd=3.1-3+deb12u1 ocl-icd-libopencl1=2.3.1-1 libllvm15 \
  libclang-cpp15 libhwloc15 libudev1 libedit2 libffi8 libicu72 libbsd0 libmd0 libxml2 libz3-4 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
mkdir icd cache
echo "$PWD/root/usr/lib/x86_64-linux-gnu/libpocl.so.2.10.0" >icd/pocl.icd
export OCL_ICD_VENDORS=$PWD/icd POCL_CACHE_DIR=$PWD/cache LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/lib/x86_64-linux-gnu
cat >devices.py <<'P'
import ctypes

cl = ctypes.CDLL('libOpenCL.so.1')
platform, count, text = ctypes.c_void_p(), ctypes.c_uint(), ctypes.create_string_buffer(200)
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 0, None, ctypes.byref(count)) == 0
assert cl.clGetPlatformInfo(platform, 0x0901, ctypes.c_size_t(200), text, None) == 0
print(text.value.decode().split('  ')[0] + ',', count.value, 'device')
P
for _ in 1 2 3; do
  echo "$(python3 devices.py); files: $(find cache -type f | wc -l), of them empty: $(find cache -type f -empty -name 'tempfile_??????' | wc -l)"
done | tee said
grep -q '^OpenCL 3.0 PoCL 3.1' said || { echo "changed: another version"; exit 1; }
[ "$(cut -d';' -f2 said | tr '\n' ';')" = " files: 1, of them empty: 1; files: 2, of them empty: 2; files: 3, of them empty: 3;" ] ||
  { echo "changed: other files"; exit 1; }
echo "as described at the top of this file"
