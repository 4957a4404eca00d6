# Sourced by papers: what there is to run.
[ ${#names[@]} -le 1 ] || die "list takes one table, and there are ${#names[*]}" 2
files=$(result_files "$root/docs/papers.jsonl" $([ -d "$room/results" ] && echo "$room/results") 2>/dev/null)
mapfile -t files <<<"$files"
[ -n "${files[0]:-}" ] || files=(/dev/null)
program -v only="${names[0]:-}" -v folder="$data" -f "$parts/overview.awk" "${files[@]}"
