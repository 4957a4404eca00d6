#!/usr/bin/env bash
# The same arrays with the same metadata, saved by four processes. Expected: four times the same file, as without metadata. Seen: the entries of
# "__metadata__" come in another order in each process, so that the files differ and so do their checksums, though all numbers are the same.
# Caches and downloads that go by the checksum of a file take them for different models. With one entry the bytes are the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >save.py <<'P'
import hashlib
import numpy as np
from safetensors.numpy import save

arrays = {'weight': np.ones((2, 3), np.float32), 'bias': np.zeros(3, np.float32)}
six = {'format': 'pt', 'author': 'x', 'step': '100', 'data': 'y', 'seed': '1', 'date': 'z'}
print(*(hashlib.sha256(save(arrays, metadata)).hexdigest()[:8] for metadata in (None, {'format': 'pt'}, six)))
P
version=0.8.0
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install "safetensors==$version" numpy==2.2.6
echo "safetensors $version: hash of a file without metadata, with one entry, with six"
for _ in 1 2 3 4; do v/bin/python save.py | tee -a said; done
different() { cut -d' ' -f"$1" said | sort -u | wc -l; }
[ "$(different 1)" = 1 ] && [ "$(different 2)" = 1 ] || { echo "changed: files without or with one entry of metadata differ"; exit 1; }
[ "$(different 3)" -gt 1 ] || { echo "changed: the order of metadata is the same in each process"; exit 1; }
echo "as described at the top of this file"
