#!/usr/bin/env bash
# Arithmetic of a compute shader that is there for its rounding or for NaN, compiled by glslc without and with -O. Expected: -O leaves float
# arithmetic alone where that changes results, as -O of C compilers does without -ffast-math. Seen (glslc 2023.2-1 of Debian 12):
#   (x + 12582912.0) - 12582912.0         x: it was to round x to a whole number, as quantisation does
#   log(u) * x / (u - 1.0), u = 1.0 + x   log(u) * x / x: the remedy for a small x is gone, and 1e-9 gives 0 in place of 1e-9
#   x * 0.0 and 0.0 / x                   0: they were to find NaN and infinity
# Nothing is said, and -Os does the same. With `precise` before the variable they all stay, and so they do in the whole shader if it states
# SignedZeroInfNanPreserve, of which one would expect to keep NaN alone. Who tests shaders without -O and ships them with it
# does not test what is shipped. (GLSL permits this where `precise` is missing.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download glslc=2023.2-1 spirv-tools=2023.1-2 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
root/usr/bin/glslc --version | sed -n 1,3p
body() {
  cat <<S
layout(local_size_x = 1) in;
layout(binding = 0) readonly buffer In { float x; };
layout(binding = 1) writeonly buffer Out { float wanted; };
void main() {
    $1
    wanted = result;
}
S
}
keep='#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);' # SignedZeroInfNanPreserve for 32 bits
# Prints the names of the instructions of arithmetic that are left; where there are none, what is stored: x, or a constant.
left() { # statements, lines before, option of glslc
  { echo "#version 450"; echo "$2"; body "$1"; } >one.comp
  root/usr/bin/glslc ${3:+"$3"} one.comp -o one.spv
  root/usr/bin/spirv-dis --raw-id one.spv >text
  if grep -qE 'OpF(Add|Sub|Mul|Div) ' text; then
    sed -nE 's/.* = OpF(Add|Sub|Mul|Div) .*/\1/p; s/.* = OpExtInst .* Log .*/Log/p' text | paste -sd ' '
  elif grep -q 'OpLoad' text; then echo "just x"; else echo "just a constant"; fi
}
show() { # name, statements without the type of the result
  local plain="float result = $2" precise="precise float result = $2"
  [ -z "${3:-}" ] || plain="float $3; $plain" precise="precise float $3; $precise"
  echo "$1: without -O $(left "$plain" ""), -O $(left "$plain" "" -O), -Os $(left "$plain" "" -Os)"
  echo "$1 with -O: precise $(left "$precise" "" -O), SignedZeroInfNanPreserve $(left "$plain" "$keep" -O)"
}
{
  show "to round" "(x + 12582912.0) - 12582912.0;"
  show "log(1 + x)" "log(u) * x / (u - 1.0);" "u = 1.0 + x"
  show "x * 0" "x * 0.0;"
  show "0 / x" "0.0 / x;"
} | tee said
expect() { grep -qxF "$1" said || { echo "changed: no line \"$1\""; exit 1; }; }
expect "to round: without -O Add Sub, -O just x, -Os just x"
expect "to round with -O: precise Add Sub, SignedZeroInfNanPreserve Add Sub"
expect "log(1 + x): without -O Add Log Mul Sub Div, -O Add Log Mul Div, -Os Add Log Mul Div"
expect "log(1 + x) with -O: precise Add Log Mul Sub Div, SignedZeroInfNanPreserve Add Log Mul Sub Div"
expect "x * 0: without -O Mul, -O just a constant, -Os just a constant"
expect "x * 0 with -O: precise Mul, SignedZeroInfNanPreserve Mul"
expect "0 / x: without -O Div, -O just a constant, -Os just a constant"
expect "0 / x with -O: precise Div, SignedZeroInfNanPreserve Div"
echo "as described at the top of this file"
