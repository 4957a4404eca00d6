# Sourced by papers: lines of several machines in one file, each finding once, in the order of their texts.
[ -n "$into" ] || die "merge needs the file to write, --into FILE" 2
[ ${#names[@]} -gt 0 ] || die "merge needs files or folders of results" 2
[ -e "$into" ] && names=("$into" "${names[@]}")
files=$(result_files "${names[@]}") || exit 1
[ -n "$files" ] || die "there are no lines of results in ${names[*]}"
mapfile -t files <<<"$files"
# Damaged lines and two results for one seed are refused.
program -f "$parts/gather.awk" "${files[@]}" || exit 1
mkdir -p "$(dirname "$into")" || exit 1
awk 1 "${files[@]}" | sort -u | program -f "$parts/once.awk" >"$into.new" && mv "$into.new" "$into" || die "cannot write $into"
echo "$(wc -l <"$into") lines in $into"
