#!/bin/sh
# Runs small conformance cases of a test program under oclgrind, whose library BPT_OPENCL_LIBRARY names. Its reports go into a log, not into
# the exit status, so any line in the log is a failure.
set -eu
case $1 in
  *test_ops) cases=opencl/cast/33/,opencl/copy/31/,opencl/matmul/1x1x1/,opencl/matmul/2x31x33/nt/plain,opencl/matmul/33x6x36/,opencl/add_rows/1+1,opencl/column_sum/2x31,opencl/square_sum/33,opencl/scatter/2of,opencl/segment/2of31x33/max,opencl/segment_grad/2of31x33,opencl/xent_grad/1x1x1 ;;
  *) cases=opencl/attention/chosen13-,opencl/attention_grad/chosen13-,opencl/attention/bpt-n5-k64-2x20,opencl/attention/segtree-n3-k2,opencl/attention_grad/bpt-n5-k64-2x20,opencl/attention_grad/segtree-n3-k2,opencl/attention_grad/window_root-causal-n2-k2 ;;
esac
OCLGRIND_LOG=$(mktemp)
export OCLGRIND_LOG
trap 'rm -f "$OCLGRIND_LOG"' EXIT
BPT_CASE=$cases "$1"
if [ -s "$OCLGRIND_LOG" ]; then
  echo "oclgrind reports:" >&2
  head -n 20 "$OCLGRIND_LOG" >&2
  exit 1
fi
