#!/usr/bin/env bash
# The pages that a reader follows: their commands run on small stand-ins of what they download; all options that they name are there.
# tutorials.sh SCRIPT DOCS BPT
set -euo pipefail
script=$1 docs=$2 bpt=$3
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
export BPT_CACHE_DIR=$room/cache HOME=$room LC_ALL=C.UTF-8
fail() { echo "tutorials: $1" >&2; exit 1; }

# Every option of every command of bpt in all three pages. The translator's data are too large for a test that runs it.
for page in classify-mail tag-names translate-documents; do
  "$script" --show "$docs/$page.md" >"$room/$page.sh"
  bash -n "$room/$page.sh"
  grep -o 'bpt [a-z]\+ [^|#>]*' "$room/$page.sh" >"$room/calls"
  [ "$(wc -l <"$room/calls")" -ge 5 ] || fail "$page has few commands"
  while read -r _ command rest; do
    help=$("$bpt" "$command" --help | sed "s/\[no-\]//g")
    for option in $(grep -o -- '--[a-z-]\+' <<<"$rest" || true); do
      grep -q -- "$option\b" <<<"$help" || fail "$page: bpt $command has no $option"
    done
  done <"$room/calls"
done

# A program that a page calls and that is not installed is named; its commands are not left out.
mkdir "$room/bin"
for tool in bash env awk grep realpath dirname mktemp mkdir cat; do ln -s "$(command -v "$tool")" "$room/bin/$tool"; done
! PATH=$room/bin "$script" --bpt "$bpt" "$docs/classify-mail.md" "$room/without" >"$room/log" 2>&1 || fail 'a page was followed without curl'
grep -q '^tutorial: curl is missing, and the page calls it; install it' "$room/log" || { cat "$room/log" >&2; fail 'curl is not named'; }

# Mails: plain, in HTML, in two forms, one that is damaged, and a file that is none.
mkdir -p "$room/files/UD_English-EWT" "$room/mails/easy_ham" "$room/mails/spam"
for i in {1..60}; do
  for kind in easy_ham spam; do
    words="meeting at $i about the report"
    [ $kind = easy_ham ] || words="win $i dollars, \"click\" here"
    case $((i % 3)) in
      0) printf 'Subject: note %d\nContent-Type: text/html\n\n<html><body>%s</body></html>\n' "$i" "$words" ;;
      1) printf 'Subject: note %d\n\n%s\n' "$i" "$words" ;;
      2) printf 'Subject: =?utf-8?q?caf=C3=A9?=\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=B\n\n'
        printf -- '--B\n\n%s\n--B\nContent-Type: text/html\n\n<b>%s</b>\n--B--\n' "$words" "$words" ;;
    esac >"$room/mails/$kind/$i"
  done
done
printf 'Content-Type: text/plain; charset=none-such\n\n\xff\n' >"$room/mails/spam/bad"
echo 'mv 1 2' >"$room/mails/easy_ham/cmds"
for kind in easy_ham spam; do tar -C "$room/mails" -cjf "$room/files/20030228_$kind.tar.bz2" "$kind"; done

# A treebank of three parts, and names in columns; as long as the sentences of the page.
for part in train dev test; do
  for i in {1..40}; do
    echo '# text'
    for n in {1..6}; do
      printf '%d\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n%d\trun\trun\tVERB\tVBP\t_\t1\tdep\t_\t_\n' $((2 * n - 1)) $((2 * n))
    done
    echo
  done >"$room/files/UD_English-EWT/en_ewt-ud-$part.conllu"
done
for name in wnut17train.conll emerging.dev.conll; do
  between=$'saw\tO\nall\tO\nof\tO\nall\tO\nof\tO\n'
  for i in {1..40}; do printf 'Anna\tB-person\n%sNew\tB-location\nYork\tI-location\n\n' "$between"; done >"$room/files/$name"
done

for page in classify-mail tag-names; do
  "$script" --steps 5 --files "$room/files" --bpt "$bpt" "$docs/$page.md" "$room/$page" >"$room/log" 2>&1 ||
    { tail -n 20 "$room/log" >&2; fail "$page cannot be followed"; }
done
[ "$(wc -l <"$room/classify-mail/mails.csv")" -ge 120 ] || fail "mails are missing"

# A page that cannot be followed says where.
printf '    echo fine > made\n    false\n    echo never > after\n' >"$room/page.md"
if "$script" "$room/page.md" --bpt "$bpt" 2>/dev/null; then fail "options behind the page were taken"; fi
if "$script" --bpt "$bpt" "$room/page.md" "$room/bad" >"$room/log" 2>&1; then fail "a command that failed went unseen"; fi
grep -q 'tutorial: failed: false' "$room/log" || fail "what failed was not said"
[ -e "$room/bad/made" ] && [ ! -e "$room/bad/after" ] || fail "it did not stop at what failed"
