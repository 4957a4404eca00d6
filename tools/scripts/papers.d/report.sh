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
  "$bpt" plot --from "$points" --x epoch --y validation --by model --out "$work/$name" --quiet || die "bpt plot draws no $name"
  replace "$work/$name" "$curves/$name"
done
replace "$work/page" "$page"
[ -z "$check" ] || exit $changed
