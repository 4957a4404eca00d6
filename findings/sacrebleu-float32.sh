#!/usr/bin/env bash
# Two translations compared by sacreBLEU's paired bootstrap, the result as JSON. Expected: a JSON text for each of its metrics, whatever NumPy
# is installed. Seen (sacreBLEU 2.6.0 with NumPy 2.4.6): BLEU gives it; chrF and TER compute for their time and then end with "TypeError:
# Object of type float32 is not JSON serializable", and nothing is printed. With NumPy 1.26.4 all three work. Resampled counts are kept in
# float32, and since NumPy 2 a float32 stays one when it meets a number of Python; only BLEU's last step makes a number of Python of it. The
# mean of BLEU over the samples differs in the eighth digit for the same reason. As text (-f text) all three are printed, equal to four digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for numpy in 1.26.4 2.4.6; do
  python3 -m venv "with-$numpy"
  "with-$numpy/bin/pip" -q --disable-pip-version-check install sacrebleu==2.6.0 "numpy==$numpy"
done
python3 - <<'P'
words = 'a man and a dog run in the park while two people look at them'.split()
lines = [[words[(i * 7 + j * j) % len(words)] for j in range(6 + i % 9)] for i in range(200)]
other = lambda n: [[w if (i + j) % n else 'thing' for j, w in enumerate(line)] for i, line in enumerate(lines)]
for name, text in (('reference', lines), ('first', other(5)), ('second', other(6))):
    open(name, 'w').write(''.join(' '.join(line) + '\n' for line in text))
P
for numpy in 1.26.4 2.4.6; do
  for metric in bleu chrf ter; do
    if "with-$numpy/bin/sacrebleu" reference -i first second --paired-bs -m $metric -f json >result 2>errors; then
      echo "NumPy $numpy $metric: $(grep -c '"system"' result) systems, $(grep -m 1 '"mean"' result | tr -d ' ,')"
    else
      echo "NumPy $numpy $metric: $(tail -n 1 errors)"
    fi
  done
done | tee said
for works in '1.26.4 bleu' '1.26.4 chrf' '1.26.4 ter' '2.4.6 bleu'; do
  grep -qF "NumPy $works: 2 systems" said || { echo "changed: $works"; exit 1; }
done
for metric in chrf ter; do
  grep -qxF "NumPy 2.4.6 $metric: TypeError: Object of type float32 is not JSON serializable" said || { echo "changed: $metric"; exit 1; }
done
echo "as described at the top of this file"
