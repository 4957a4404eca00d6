# Sourced by papers: what there is to run. Lines of the page belong to the list of the project.
[ ${#names[@]} -le 1 ] || die "list takes one table, and there are ${#names[*]}" 2
places=()
[ "$list" = "$(realpath "$parts/experiments")" ] && places+=("$root/docs/papers.jsonl")
[ -d "$room/results" ] && places+=("$room/results")
files=$(result_files "${places[@]}") || exit 1
[ -n "$files" ] || files=/dev/null
mapfile -t files <<<"$files"
program -v only="${names[0]:-}" -f "$parts/overview.awk" "${files[@]}"
