#!/usr/bin/env bash
# Word vectors of fastText before anything is learnt (a rate of 1e-12), with other numbers of threads and seeds. Expected: every word begins with
# random numbers, others for each seed, and threads change the time and the order of updates. Seen (fastText 0.9.2 of Debian 12, and floret
# 0.10.5 of PyPI, which comes from it):
#   threads  each thread fills a tenth of the table, and the rest stays zero: with one thread, which the help advises for results that repeat,
#            90 of 100 rows are zeros, with four 60, with ten and more none. Rows that are never trained stay so: a word that the text does not
#            have is made of parts, of which 21 of 22 are zeros in a model of one thread, and none in one of twelve (the default)
#   seeds    each tenth is filled from the seed plus its number, and the generator, minstd_rand of C++, takes the seed 0 for 1. So the second tenth
#            repeats the first with the default seed 0, and words begin as twins; and with one thread, seed 0 and seed 1 train the
#            same model: two runs that were to show how much is due to chance show that nothing is
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download fasttext=0.9.2+ds-1+b1 libfasttext0=0.9.2+ds-1+b1 >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install floret==0.10.5 numpy==2.4.6
fasttext() { LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu root/usr/bin/fasttext "$@"; }
# 99 words and the end of a line: 100 rows, in tenths of ten
for i in {1..99}; do echo "__label__$((i % 2)) w$i"; done >text
cat >rows.py <<'P'
import sys
import numpy as np
import floret

def say(name, threads, rows):
    zeros = int((abs(rows) < 1e-9).all(axis=1).sum())
    twins = int((abs(rows[:10] - rows[10:20]) < 1e-9).all(axis=1).sum())
    print(name, 'threads', threads, 'rows of zeros', zeros, 'rows of the second tenth as in the first', twins)

threads = int(sys.argv[1])
rows = [line.split()[1:] for line in open('model.vec').read().splitlines()[1:]]
say('fasttext', threads, np.array(rows, float))
model = floret.train_supervised('text', lr=1e-12, seed=0, thread=threads, epoch=1, dim=10, minCount=1, verbose=0)
say('floret', threads, np.array([model.get_word_vector(word) for word in model.get_words()]))
P
for threads in 1 4 12; do
  fasttext supervised -input text -output model -lr 1e-12 -epoch 1 -dim 10 -minCount 1 -thread $threads -verbose 0
  v/bin/python rows.py $threads
done | tee said
for threads in 1 12; do
  fasttext skipgram -input text -output parts -epoch 1 -dim 10 -minCount 1 -thread $threads -verbose 0
  fasttext print-ngrams parts.bin unheard >ngrams
  echo "threads $threads, parts of a word that is not in the text: $(wc -l <ngrams), zeros: $(grep -cE '( -?0){10} *$' ngrams || true)"
done | tee -a said
for seed in 0 1 2; do
  fasttext supervised -input text -output seeded -epoch 5 -dim 10 -minCount 1 -thread 1 -seed $seed -verbose 0
  echo "seed $seed: model $(tail -n +2 seeded.vec | sha256sum | cut -c1-8)"
done | tee -a said
for name in fasttext floret; do
  for line in "1 rows of zeros 90" "4 rows of zeros 60" "12 rows of zeros 0"; do
    grep -q "^$name threads $line " said || { echo "changed: $name, not \"threads $line\""; exit 1; }
  done
  [ "$(grep -c "^$name .* as in the first 10$" said)" = 2 ] || { echo "changed: $name, the second tenth is another one"; exit 1; }
done
grep -qx "threads 1, parts .*: 22, zeros: 21" said || { echo "changed: parts of words with one thread"; exit 1; }
grep -qx "threads 12, parts .*: 22, zeros: 0" said || { echo "changed: parts of words with twelve threads"; exit 1; }
[ "$(sed -n 's/^seed [01]: //p' said | sort -u | wc -l)" = 1 ] || { echo "changed: seeds 0 and 1 give two models"; exit 1; }
[ "$(sed -n 's/^seed [02]: //p' said | sort -u | wc -l)" = 2 ] || { echo "changed: seeds 0 and 2 give one model"; exit 1; }
echo "as described at the top of this file"
