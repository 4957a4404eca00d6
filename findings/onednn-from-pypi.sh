#!/usr/bin/env bash
# oneDNN 2026.1.0 from PyPI (its library is 3.13.2), opened by a C program for the processor, as it is with the libraries of distributions. Expected:
# an engine for the CPU, and nothing on standard output. Seen: it is a build for SYCL, the CPU too (cpu_runtime 0x200; Debian's is 2, OpenMP).
# dnnl_engine_create for the CPU answers 2, invalid arguments, and writes lines into standard output, which nobody asked for. The OpenCL driver
# that it needs is among the packages that pip installs with it, but the loader does not find it: with OCL_ICD_FILENAMES set to its file
# the engine is there. dnnl_sgemm needs no engine and works, so that a program that tries it takes the whole library for usable.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install --no-deps onednn==2026.1.0 intel-sycl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 \
  intel-cmplr-lib-ur==2026.2.0 intel-opencl-rt==2026.2.0 tbb==2023.2.0 tcmlib==1.6.0 umf==1.2.0
cat >show.py <<'P'
import ctypes

dnn = ctypes.CDLL('libdnnl.so.3')


class Version(ctypes.Structure):
    _fields_ = [('major', ctypes.c_int), ('minor', ctypes.c_int), ('patch', ctypes.c_int), ('hash', ctypes.c_char_p), ('cpu_runtime', ctypes.c_uint)]


dnn.dnnl_version.restype = ctypes.POINTER(Version)
version = dnn.dnnl_version().contents
print(f'oneDNN {version.major}.{version.minor}.{version.patch}, cpu_runtime {version.cpu_runtime:#x}', flush=True)
engine, four, one = ctypes.c_void_p(), ctypes.c_int64(4), ctypes.c_float(1)
cpu = 1
print('engine:', dnn.dnnl_engine_create(ctypes.byref(engine), cpu, ctypes.c_size_t(0)), flush=True)
a, c = (ctypes.c_float * 16)(*[1] * 16), (ctypes.c_float * 16)()
status = dnn.dnnl_sgemm(ctypes.c_char(b'N'), ctypes.c_char(b'N'), four, four, four, one, a, four, a, four, ctypes.c_float(0), c, four)
print('sgemm:', status, 'result', c[0], flush=True)
P
export LD_LIBRARY_PATH=$PWD/v/lib
unset OCL_ICD_FILENAMES ONEDNN_VERBOSE DNNL_VERBOSE
export OCL_ICD_VENDORS=$PWD/none # whatever drivers this machine has
v/bin/python show.py 2>errors | tee alone
echo "with OCL_ICD_FILENAMES:"
OCL_ICD_FILENAMES=$PWD/v/lib/libintelocl.so v/bin/python show.py | tee named
for line in 'oneDNN 3.13.2, cpu_runtime 0x200' 'engine: 2' 'sgemm: 0 result 4.0'; do
  grep -qx "$line" alone || { echo "changed: no line \"$line\""; exit 1; }
done
grep -q '^onednn_verbose,.*sycl cpu device count:0' alone || { echo "changed: nothing on standard output"; exit 1; }
grep -qx 'engine: 0' named || { echo "changed: no engine where the driver is named"; exit 1; }
echo "as described at the top of this file"
