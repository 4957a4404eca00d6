# Sourced by papers: the tables of the page between its marks, <!-- papers: NAME --> and <!-- papers: end -->, and pictures beside it.
[ -n "$page" ] || page=$root/docs/papers.md
[ -f "$page" ] || die "there is no page $page"
[ ${#names[@]} -gt 0 ] || names=("$root/docs/papers.jsonl")
files=$(result_files "${names[@]}") || exit 1
mapfile -t files <<<"$files"
find_program
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/tables"
program -v into="$work/tables" -f "$parts/gather.awk" -f "$parts/statistics.awk" -f "$parts/report.awk" "${files[@]:-/dev/null}" || exit 1
awk -v folder="$work/tables" -v page="$page" -f "$parts/marks.awk" "$page" >"$work/page" || exit 1

# A preset that a row names has the settings that won; data are not part of it.
settings_of() { # OPTIONS..
  "$bpt" train --print-config "$@" | grep -v '^ *"preset":'
}
while IFS=$'\t' read -r name settings; do
  read -ra words <<<"$settings"
  of_data=()
  for ((i = 0; i < ${#words[@]}; ++i)); do
    case ${words[i]} in --data | --vectors | --source | --target) of_data+=("${words[i]}" "${words[i + 1]}") ;; esac
  done
  settings_of "${of_data[@]}" --preset "$name" >"$work/preset" || die "bpt has no preset $name, which the list names"
  settings_of "${words[@]}" >"$work/won" || die "bpt does not take the settings of preset $name"
  diff "$work/preset" "$work/won" >"$work/differences" ||
    die "preset $name is not the setting that won (< the preset, > what won): $(grep '^[<>]' "$work/differences" | tr -s ' \n' ' ')"
done <"$work/tables/presets"

curves=$(dirname "$page")/curves changed=0
replace() { # NEW OLD
  cmp -s "$1" "$2" && return
  changed=1
  if [ -n "$check" ]; then echo "papers: $2 is not what its lines say; run tools/scripts/papers report" >&2; else mkdir -p "$(dirname "$2")" && cp "$1" "$2"; fi
}
for points in "$work"/tables/*.points; do
  [ -e "$points" ] || continue
  name=papers-$(basename "$points" .points).svg
  grep -qF "curves/$name" "$work/page" || continue
  "$bpt" plot --from "$points" --x epoch --y validation --by model --zoom --out "$work/$name" --quiet || die "bpt plot draws no $name"
  replace "$work/$name" "$curves/$name"
done
replace "$work/page" "$page"
[ -z "$check" ] || exit $changed
