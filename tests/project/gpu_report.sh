#!/usr/bin/env bash
# gpu-report with a program that plays a GPU: what is run, what the report says of it, what becomes of parts that fail or are cut.
# gpu_report.sh SCRIPT
set -euo pipefail
script=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir -p "$room/tests"

# `bpt` of a machine with one discrete GPU. It fails where $room/fails names its command.
cat >"$room/bpt" <<'SH'
#!/usr/bin/env bash
room=$(dirname "$0")
echo "$*" >>"$room/calls"
[ ! -f "$room/fails" ] || ! grep -q "^$1$" "$room/fails" || { echo "$1 fails" >&2; exit 3; }
case "$*" in
  --version) echo "bpt 0" ;;
  "devices --json") echo '[{"backend": "vulkan"}]' ;;
  devices) printf 'vulkan: shaders\n  0  Some GPU\n     type discrete, memory 8 GiB\n     driver D 1\nopencl: kernels\n  not usable: none\n' ;;
  *--compile*) echo '[{"kernels": [{"kernel": "copy", "spilled": 7}], "backend": "vulkan", "device": "Some GPU", "driver": "D 1", "compiler": "C 1", "class": "gpu: any", "failed": 0, "spilling": 7}]' ;;
  doctor*) printf 'vulkan: shaders\n  0  Some GPU (discrete, D 1)\n' ;;
  "bench op"*) echo '{"bench": "op", "line": "'"$3"'", "backend": "vulkan", "device": "Some GPU", "s_per_step": 0.002}' ;;
  "bench gemm"*)
    for rule in tiles library; do
      echo '{"bench": "gemm", "m": 8, "n": 16, "k": 32, "form": "forward", "rule": "'$rule'", "precision": "f16", "backend": "vulkan", "device": "Some GPU", "s_per_step": 0.1, "gflops": 50.5}'
    done ;;
  bench*) echo '{"bench": "'"$2"'", "backend": "vulkan", "device": "Some GPU", "precision": "f32", "n": 512, "tokens_per_s": 1234.4, "s_per_step": 0.5}' ;;
  train*)
    while [ "$1" != --out ]; do shift; done
    mkdir -p "$2"
    for step in $(seq 20); do echo "{\"step\": $step, \"loss\": 2.5}"; done >"$2/metrics.jsonl"
    echo '{"eval": "valid", "step": 20, "loss": 7.5}' >>"$2/metrics.jsonl" ;;
esac
SH
cat >"$room/tests/test_ops" <<'SH'
#!/bin/sh
printf '[       OK ] vulkan/copy/1\n[  SKIPPED ] vulkan/copy/bf16\n[  FAILED  ] vulkan/matmul/2\n'
SH
# A Python with PyTorch.
cat >"$room/python" <<'SH'
#!/bin/sh
case "$*" in
  *"torch-peers attention") printf '{"bench": "attention peer", "n": 8192, "backend": "torch", "s_per_step": %s, "form": "forward", "precision": "bf16", "what": "%s"}\n' 0.003 'dense flash' 0.004 FlexAttention ;;
  *"torch-peers train") echo '{"bench": "pytorch train", "n": 512, "backend": "torch", "s_per_step": 0.25, "precision": "f32"}'
    echo '{"bench": "pytorch train", "n": 512, "backend": "torch", "s_per_step": 0.125, "precision": "bf16"}' ;;
esac
SH
chmod +x "$room/bpt" "$room/python" "$room/tests/test_ops"
cp "$room/tests/test_ops" "$room/tests/test_attention"

report() { "$script" --bpt "$room/bpt" --python "$room/python" --out "$room/report" "$@" >"$room/out" 2>&1; }
fail() {
  echo "gpu_report.sh: $1" >&2
  cat "$room/out" "$room/report/report.md" >&2
  exit 1
}
says() { grep -qF -- "$1" "$room/report/report.md" || fail "the report does not say: $1"; }
refused() {
  local status=0
  report "$@" || status=$?
  [ "$status" -eq 2 ] && [ "$(grep -c '^gpu-report: ' "$room/out")" -eq 1 ] || fail "$* is not refused in one sentence"
}

refused --minutes 0
refused --minutes soon
refused --part nothing
refused --out
refused --wrong
refused --pack report.zip

# All parts; the GPU is found, its results are in the tables.
report || fail "it fails where nothing fails"
says '| vulkan | curve | passed |'
says 'Compiled kernels, Some GPU (D 1): 0 failed, 7 spill registers'
says 'Conformance, ops: 1 cases passed, 1 failed, 1 skipped vulkan/matmul/2'
says '"steps": 20, "largest_difference": 0.000000'
says '| n | vulkan, f16 | PyTorch, dense flash | PyTorch, FlexAttention | dense / bpt |'
says '| 8192, forward | 2 | 3 | 4 | 1.50 |'
says "| 65536, backward | 2 | | | |"
says '| forward, 8 x 16 x 32 | 50 | 50 |'
[ "$(grep -c 'bench op attention.* graph=bpt n=8192 .*type=f16' "$room/calls")" -eq 2 ] || fail "attention of 8192 tokens is not measured forward and backward"
says '| train  | vulkan, Some GPU | f32 | 512 |  | 1234 | 0.5 |  |'
! grep -q '| cut |' "$room/report/report.md" || fail "a part was cut"
[ "$(head -c 9 "$room/report/report.json")" = '{"made": ' ] || fail "report.json does not begin as it should"

# What is done is not run again; a part by name is, and what fails is named.
: >"$room/calls"
report || fail "the second call fails"
! grep -q bench "$room/calls" || fail "a part that was done is run again"
echo bench >"$room/fails"
! report --part gemm || fail "a part that fails makes no failure"
says '| vulkan | gemm | failed 3 |'
says 'bench fails'
rm "$room/fails"

# What was cut is done by the next call.
report --part gemm || fail "a part that failed does not pass when it is run again"
echo cut >"$room/report/parts/vulkan-decode.status"
report || fail "the call after a cut fails"
says '| vulkan | decode | passed |'
