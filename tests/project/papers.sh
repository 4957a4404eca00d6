#!/usr/bin/env bash
# tools/scripts/papers with small tables: stopped and gone on with, merged, reported; what is wrong is refused.
# papers.sh SCRIPT BPT
set -euo pipefail
script=$1 bpt=$2
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
export BPT_CACHE_DIR=$room/cache HOME=$room LC_ALL=C

# Texts of two kinds, some of them labelled otherwise, and a language that is another one's words in capital letters.
mkdir -p 'my data'/{lines,pairs}
awk 'BEGIN {
  split("good fine great sound bad poor dull weak", word, " ")
  for (i = 0; i < 360; ++i) {
    kind = i % 2
    text = ""
    for (j = 0; j < 5; ++j) text = text " " word[1 + 4 * kind + (i * 7 + j * j * 3) % 4]
    part = i < 240 ? "train" : i < 300 ? "valid" : "test"
    print (i % 9 ? kind : 1 - kind) "\t" substr(text, 2) > "my data/lines/" part ".tsv"
    print substr(text, 2) > "my data/pairs/" part ".a"
    print toupper(substr(text, 2)) > "my data/pairs/" part ".b"
  }
}'
cat >list <<'END'
data lines
  files train.tsv valid.tsv test.tsv
  layout label<TAB>text
  from the people who made it
data pairs
  files train.a train.b valid.a valid.b test.a test.b
  layout a text a line
  from them too
table kinds
  title Two kinds of texts
  paper A. Author 2019
  data lines
  metric accuracy 100 more 1
  common --task classify --data {lines} --d-model 16 --heads 2 --layers 1 --steps 60 --eval-every 20 --save-every 5 --batch-examples 16
  search --lr 0.003 | --lr 0.02
  minutes cpu 3 amx 3
  row bpt BPT
    paper 91.5
    options --model bpt
  row star Star-Transformer
    options --model star
    search --lr 0.003 | --lr 0.015
table words
  title Words in capital letters
  data pairs
  metric bleu 1 more 1
  common --task translate --data {pairs} --source a --target b --unit word --d-model 16 --heads 2 --layers 1 --dec-layers 1 --steps 60 --lr 0.02
  translate {pairs}/test.a : {pairs}/test.b : --beam 2
  row bpt BPT
    options --model bpt
  row transformer Transformer
    options --model transformer
table long
  title What has no end
  data lines
  metric accuracy 100 more 1
  common --task classify --data {lines} --d-model 16 --heads 2 --layers 1 --steps 90000 --eval-every 30000 --batch-examples 16
  row bpt BPT
    options --model bpt
table sums
  title Sums of marked vectors
  metric mse 1 less 4
  common --data summation --n 12 --sum 2 --examples 96 --steps 20 --batch-examples 16
  parts --layers % : 1 2
  row star Star-Transformer
    options --preset star-sum --d-model 20 --heads 2
END
papers() { "$script" "$@" --list "$room/list" >out 2>&1; }
run() { papers run "$@" --bpt "$bpt" --data "$room/my data"; }
fail() {
  echo "papers.sh: $1" >&2
  cat out >&2
  grep -ah error rooms/*/runs/*.log >&2 || true
  exit 1
}
says() { grep -qF -- "$1" "${2:-out}" || { cat "${2:-out}" >&2; fail "it does not say: $1"; }; }
refused() { # STATUS TEXT COMMAND..
  local status=0 expected=$1 text=$2
  shift 2
  "$@" >out 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || fail "status $status in place of $expected of $*"
  says "$text"
}

# What is wrong.
refused 1 "there is no table nix in $room/list" run nix --room rooms/bad
refused 1 "table kinds has no row nix" run kinds/nix --room rooms/bad
refused 1 "table kinds needs data that are not there: elsewhere/lines with train.tsv valid.tsv test.tsv" \
  papers run kinds --bpt "$bpt" --data elsewhere --room rooms/bad
says 'where to get it:   the people who made it'
refused 2 "'5..x' is neither a range" run kinds --seeds 5..x
refused 2 'there is no option --nix' run --nix
refused 2 "there is no command 'nix'" papers nix
for bad in 'row star' 'nix 1' 'metric accuracy 100 most 1' 'search' 'search --lr 1' 'table kinds' 'minutes cpu soon'; do
  sed "/^  row star/i $bad" list >list.bad
  "$script" list --list list.bad >out 2>&1 && fail "a list with '$bad' is read"
  says "list.bad: line "
done

# Killed in the middle, asked to stop, and gone on with: the same as at a stretch.
begin() { # ROOM: runs in a process group of its own until a training has a checkpoint
  setsid "$script" run kinds/bpt --seeds 1 --jobs 1 --bpt "$bpt" --data "$room/my data" --room "$1" --list "$room/list" >out 2>&1 &
  group=$!
  for _ in $(seq 3000); do
    compgen -G "$1/runs/*/latest/state.json" >/dev/null && return
    kill -0 "$group" 2>/dev/null || fail "it ends before a checkpoint is there"
    sleep 0.02
  done
  fail "there is no checkpoint after a minute"
}
begin rooms/killed
kill -KILL -- "-$group"
wait "$group" || true
[ -z "$(ls rooms/killed/results)" ] || fail "it was killed too late"
ls rooms/killed/runs/*/latest/state.json >begun
run kinds --seeds 1..2 --jobs 2 --room rooms/killed || fail "it does not go on"
says 'going on with' "$(sed 's,/latest/state.json,.log,' begun)"
begin rooms/stopped
kill -TERM "$group"
status=0
wait "$group" || status=$?
[ "$status" -eq 130 ] || fail "status $status of one that was asked to stop"
run kinds --seeds 1..2 --jobs 2 --room rooms/whole || fail "it fails at a stretch"
cat rooms/killed/results/*.jsonl | sed 's/"seconds": [0-9]*, //' >killed
cat rooms/whole/results/*.jsonl | sed 's/"seconds": [0-9]*, //' >whole
cmp killed whole >&2 || fail "a run that was killed ends otherwise"
[ "$(wc -l <whole)" -eq 6 ] || fail "two rows with two settings and two seeds are not six trainings"
run kinds --seeds 1..2 --room rooms/whole || fail "it fails with nothing to do"
says '0 finished, 0 failed, 0 left'
run kinds --seeds 1..3 --budget 1 --room rooms/whole || fail "a budget is an error"
says '0 finished, 0 failed, 2 left'
# What the time cuts off is saved, if it was long enough for a step.
for _ in $(seq 20); do
  run long --seeds 1 --budget 0.06 --room rooms/short || fail "time that is over is an error"
  says 'stopping: the time is over'
  compgen -G 'rooms/short/runs/long.*/latest/state.json' >/dev/null && break
done
ls rooms/short/runs/long.*/latest/state.json >/dev/null || fail "what did not fit into the time is not saved"
# A process of the script that alone gets a signal takes its training along.
run long --seeds 1 --room rooms/alone &
script_alone=$!
until training=$(cat rooms/alone/runs/*.pid 2>/dev/null); do kill -0 $script_alone || fail "it ends before a training begins"; sleep 0.02; done
kill -TERM "$(ps -o ppid= -p "$training" | tr -d ' ')"
for _ in $(seq 1000); do kill -0 "$training" 2>/dev/null || break; sleep 0.02; done
if kill "$training" 2>/dev/null; then fail "a training is left behind"; fi
wait $script_alone && fail "the exit status does not say that a training was stopped"
(exec 9>rooms/whole/lock; flock 9; refused 1 'is at work in' run kinds --room rooms/whole)

# Other metrics, parts, and tests of translations.
run words sums --seeds 1 --room rooms/whole --jobs 2 || fail "translations or sums fail"
[ "$(grep -h '"table": "sums"' rooms/whole/results/*.jsonl | wc -l)" -eq 2 ] || fail "two parts are not two lines"
grep -hE '"first": "(bpt|transformer)", "second": ".*"p": (0|1|0\.[0-9]+)' rooms/whole/results/test.*.jsonl >/dev/null ||
  fail "two translations are not compared"

# A second machine, merged; the page is the same whatever the order, and of no other lines.
run kinds --seeds 3 --room rooms/second --jobs 2 --known rooms/whole || fail "a third seed fails"
[ "$(ls rooms/second/results | wc -l)" -eq 2 ] || fail "what another machine has done is repeated"
papers merge --into all.jsonl rooms/whole rooms/second || fail "no merge"
papers merge --into other.jsonl rooms/second/results rooms/whole/results rooms/second || fail "no merge in the other order"
cmp all.jsonl other.jsonl >&2 || fail "the order of merging changes the lines"
sed 's/"seconds": [0-9]*/"seconds": 12345/; s/"device": "[^"]*"/"device": "Z"/' all.jsonl >same.jsonl
papers merge --into other.jsonl same.jsonl || fail "two machines that find the same are not merged"
[ "$(wc -l <all.jsonl)" -eq "$(wc -l <other.jsonl)" ] || fail "what two machines find alike is there twice"
printf '# Page\n<!-- papers: overview -->\n<!-- papers: end -->\nText.\n' >page.md
for table in kinds words sums open; do printf '<!-- papers: %s -->\n<!-- papers: end -->\n' $table; done >>page.md
mkdir first second
cp page.md first/ && cp page.md second/
papers report --bpt "$bpt" --page first/page.md all.jsonl || fail "no report"
tac all.jsonl >turned.jsonl
papers report --bpt "$bpt" --page second/page.md turned.jsonl || fail "no report of turned lines"
diff -r first second >&2 || fail "the order of the lines changes the report"
[ -s first/curves/papers-kinds.svg ] || fail "there is no picture"
papers report --bpt "$bpt" --page first/page.md all.jsonl --check || fail "a page that was just written is not what its lines say"
says '| BPT | 91.5 | ' first/page.md
says '| `kinds` |  | 1 of 1 | 12 min | 12 min |  |' first/page.md # two seeds a row are missing
says 'Text.' first/page.md
# A preset that is not what won.
sed '/^    options --model star/a preset small' list >list.preset
refused 1 'papers: preset small is not the setting that won (< the preset, > what won): < "task": "lm", ' \
  "$script" report --list list.preset --bpt "$bpt" --page second/page.md all.jsonl
sed -i 's/91\.5 | [0-9]/91.5 | 1/' first/page.md
refused 1 'is not what its lines say' papers report --bpt "$bpt" --page first/page.md all.jsonl --check

# Tests of pairs by numbers that are known: 10 examples that only the first has right and 2 that only the second has (McNemar's exact p is
# 0.0386), and three seeds of each row (Welch's p is 0.1456).
line() { # ROW SEED FIGURE RIGHT
  chosen=$(sed -nE "s/.*$1 \`--lr ([0-9.]+)\`.*/\1/p" second/page.md)
  [ "$chosen" = 0.003 ] && chosen=1 || chosen=2
  grep "\"row\": \"$1\", \"part\": \"\", \"candidate\": $chosen, \"seed\": 3" all.jsonl |
    sed -E "s/\"seed\": 3/\"seed\": $2/; s/\"figure\": [0-9.]+/\"figure\": $3/; s/\"valid\": [0-9.]+/\"valid\": 0.001/; s/\"examples\": .*/\"examples\": 16, \"right\": \"$4\"}/"
}
others() { grep '"table": "kinds"' all.jsonl | grep '"seed": 1,' | sed -E "s/, \"examples\": .*/}/"; }
known() {
  papers report --bpt "$bpt" --page second/page.md known.jsonl || fail "no report of known lines"
  says "$1" second/page.md
}
others >known.jsonl
{ line bpt 1 0.8 ffc0; line star 1 0.4 0030; } >two.jsonl
# The two seeds 1 take the place of those that were measured.
chosen_of() { sed -E 's/.*"row": "([a-z]+)".*"candidate": ([0-9]).*/\1 \2/'; }
while read -r row candidate; do
  grep -v "\"row\": \"$row\", \"part\": \"\", \"candidate\": $candidate, " known.jsonl >rest.jsonl
  cp rest.jsonl known.jsonl
done < <(chosen_of <two.jsonl)
cat two.jsonl >>known.jsonl
known '| `bpt` - `star` | +40.0 | 1 | 0.039 |  | open: too few seeds |'
for seed in 1 2 3; do
  line bpt $seed "$(sed -n ${seed}p <<<$'0.465\n0.457\n0.458')" ffff
  line star $seed "$(sed -n ${seed}p <<<$'0.445\n0.459\n0.447')" ffff
done >three.jsonl
cat rest.jsonl three.jsonl >known.jsonl
known '| `bpt` - `star` | +1.0 | 3 | 1.000 | 0.146 | open |'

# Figures of an earlier page stand beside, and are compared where there is no result.
for seed in 1 2; do
  echo "{\"table\": \"kinds\", \"row\": \"bpt\", \"seed\": $seed, \"figure\": 9$seed.5, \"origin\": \"an older page\"}"
  echo "{\"table\": \"kinds\", \"row\": \"star\", \"seed\": $seed, \"figure\": 7$seed.0, \"origin\": \"an older page\"}"
done >known.jsonl
known '| BPT | 91.5 |  | 0 | 92.0 ± 0.7 (2) |  |'
# Both rows lack five seeds of three minutes, and the search one more training.
known '| `kinds` | not run yet (some rows have earlier figures) | 1 of 1 | 36 min | 36 min |  |'
known '| `bpt` - `star` | +20.5 | 2, earlier |  | 0.001 | open: to be run again |'

# Lines that are damaged, cut off, of unknown rows, twice otherwise, or of other data.
bad_line() { # TEXT SED
  sed "$2" all.jsonl >bad.jsonl
  refused 1 "bad.jsonl: line 2 $1" papers report --bpt "$bpt" --page first/page.md bad.jsonl
  refused 1 "bad.jsonl: line 2 $1" papers merge --into never.jsonl bad.jsonl
  [ ! -e never.jsonl ] || fail "damaged lines are merged"
}
bad_line 'is no JSON object' '2s/.$//'
bad_line 'is no JSON object' '2s/.*/nothing/'
bad_line 'has no text and no finite number for "figure"' '2s/"figure": [0-9.]*/"figure": nan/'
bad_line 'has no "seed"' '2s/"seed": [0-9]*, //'
bad_line 'is of table nix' '2s/"table": "[a-z]*"/"table": "nix"/'
bad_line 'has "seed": 0' '2s/"seed": [0-9]*/"seed": 0/'
bad_line 'has ' '2s/"right": "/"right": "00/'
bad_line 'is of other data' '2s/"data": "[^"]*"/"data": "1-2"/'
sed -n '1s/"figure": [0-9.]*/"figure": 0.123/p' all.jsonl >twice.jsonl
refused 1 'twice.jsonl: line 1 is a second result' papers merge --into never.jsonl all.jsonl twice.jsonl
grep -v 'papers: end' page.md >endless.md
refused 1 'endless.md: line 4: the mark of overview has no end' papers report --bpt "$bpt" --page endless.md all.jsonl
