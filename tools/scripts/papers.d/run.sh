# Sourced by papers: trains and measures what is missing, several trainings side by side.
find_program
. "$parts/measure.sh"
mkdir -p "$room"/{runs,results,predictions} || die "cannot make the folder $room"
room=$(realpath "$room")
exec 9>"$room/lock"
flock -n 9 || die "another papers run, or a training that one has left, is at work in $room; wait for it, or take another --room"
[ -n "$commit" ] || commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) || commit=$("$bpt" --version)
[ -n "$jobs" ] || { case $backend in cpu | ref) jobs=$(nproc) ;; *) jobs=1 ;; esac; }
class=$(class)
[ -n "$precision" ] || { [ "$class" = cpu ] && precision=f32 || precision=bf16; }
machine=(--backend "$backend")
[ "$class" = gpu ] || machine+=(--threads 1)
[ -z "$device" ] || machine+=(--device "$device")

# ---- Data

# The file of word vectors, or of a name in braces its folder.
place_of() { # NAME
  if [ "$1" = vectors ] && [ -n "$vectors" ]; then echo "$vectors"; return; fi
  if [ "$1" = vectors ]; then find "$data/vectors" -name '*.300d.txt' | sort | head -n 1; else echo "$data/$1"; fi
}

# Says what is missing of the data of a table; nothing is downloaded.
data_of_table() { # TABLE: prints names, files, layout and origin of what it needs
  program -v table_asked="$1" -f "$parts/needs.awk" /dev/null
}
missing_data() { # TABLE
  local name files layout from file found lacking=1
  while IFS=$'\037' read -r name files layout from; do
    [ "$name" = vectors ] && [ -n "$vectors" ] && [ -r "$vectors" ] && continue
    found=1
    for file in $files; do
      [ -n "$data" ] && compgen -G "$data/$name/$file" >/dev/null || found=
    done
    [ -n "$found" ] && continue
    lacking=0
    printf 'papers: table %s needs data that are not there: %s with %s\n  what a file holds: %s\n  where to get it:   %s\n' "$1" \
      "${data:-FOLDER}/$name" "$files" "$layout" "$from" >&2
    [ -n "$data" ] || echo "  then name the folder by --data FOLDER" >&2
  done < <(data_of_table "$1")
  return $lacking
}
declare -A checksums=()
checksum() { # TABLE: leaves it in $sum
  local name files layout from file all=()
  sum=${checksums[$1]:-}
  [ -n "$sum" ] && return
  while IFS=$'\037' read -r name files layout from; do
    if [ "$name" = vectors ]; then all+=("$(place_of vectors)"); continue; fi
    for file in $files; do all+=("$data/$name"/$file); done
  done < <(data_of_table "$1")
  sum=made
  [ ${#all[@]} -eq 0 ] || sum=$(cat "${all[@]}" | cksum | tr ' ' -)
  checksums[$1]=$sum
}

# ---- What to do

known_files=()
[ -z "$known" ] || { found=$(result_files "$known") || exit 1; mapfile -t known_files <<<"$found"; }

plan() {
  local files
  mapfile -t files < <(find "$room/results" -name '*.jsonl' | sort)
  [ -z "$known" ] || files+=("${known_files[@]}")
  program -v select="$*" -v seeds="$seeds" -v class="$class" -f "$parts/plan.awk" "${files[@]:-/dev/null}" | sort -u | sort -t $'\037' -s -k1,1n -k2,2n
}
plan "${names[@]}" >/dev/null || exit 1 # names that are wrong, lines that are damaged
[ "${PIPESTATUS[0]}" -eq 0 ] || exit 1
lacking=() chosen=()
if [ ${#names[@]} -gt 0 ]; then chosen=("${names[@]}"); else mapfile -t chosen < <(program -f "$parts/needs.awk" /dev/null); fi
for name in "${chosen[@]}"; do missing_data "${name%%/*}" && lacking+=("${name%%/*}"); done
if [ ${#lacking[@]} -gt 0 ] && [ ${#names[@]} -gt 0 ]; then exit 1; fi
for name in "${lacking[@]}"; do
  for i in "${!chosen[@]}"; do [ "${chosen[i]}" = "$name" ] && unset 'chosen[i]'; done
done
[ ${#chosen[@]} -gt 0 ] || die "no table has its data"

# ---- Trainings side by side

declare -A of_pid=() failed=() stopped=() # stopped: alone, by somebody else; left for the next call
begun=$SECONDS stopping='' finished=0
say() { [ -t 1 ] && printf '\r\033[K'; printf '%s  %s\n' "$(date +%H:%M:%S)" "$1"; }
left() { awk -v b="$budget" -v s=$((SECONDS - begun)) 'BEGIN { printf "%.2f", b - s / 60 }'; }
fits() { # MINUTES ID: a run that has begun goes on in any case
  [ -z "$budget" ] || [ -e "$room/runs/$2/latest" ] || awk -v m="$1" -v l="$(left)" 'BEGIN { exit !(m + 0 <= l + 0) }'
}
stop_all() {
  [ -n "$stopping" ] && return
  stopping=$1
  say "stopping: $1"
  for id in "${of_pid[@]}"; do
    "$bpt" stop "$room/runs/$id" >/dev/null 2>&1 || { [ -e "$room/runs/$id.pid" ] && kill "$(cat "$room/runs/$id.pid")" 2>/dev/null; }
  done
}
trap 'stop_all "asked to"' INT TERM HUP

begin_next() { # begins what comes first; 1 if nothing is left to begin
  local order minutes table row part candidate seed hash settings id busy
  busy=" ${of_pid[*]} "
  while IFS=$'\037' read -r order minutes table row part candidate seed hash settings; do
    id=$table.$row${part:+.$part}.$candidate.$seed.$hash
    [[ $busy != *" $id "* ]] && [ -z "${failed[$id]:-}${stopped[$id]:-}" ] && fits "$minutes" "$id" || continue
    checksum "$table"
    ( trap '' INT; train_and_measure ) &
    of_pid[$!]=$id
    say "begins $table/$row${part:+ $part} seed $seed$(awk -v m="$minutes" 'BEGIN { if (m + 0 > 0) print ", some " m + 0 " minutes on such a device" }'): $id"
    return 0
  done < <(plan "${chosen[@]}")
  return 1
}

collect() { # what has ended
  local pid id status
  for pid in "${!of_pid[@]}"; do
    kill -0 "$pid" 2>/dev/null && continue
    wait "$pid"
    status=$?
    id=${of_pid[$pid]}
    unset "of_pid[$pid]"
    case $status in
      0) finished=$((finished + 1)); say "done    $id: $(sed -E 's/.*"figure": ([^,]*),.*"seconds": ([^,}]*).*/\1 after \2 s/' "$room/results/$id.jsonl")" ;;
      130) [ -n "$stopping" ] || stopped[$id]=1; say "stopped $id, saved" ;;
      *) failed[$id]=1; say "FAILED  $id: $(grep -aE 'error' "$room/runs/$id.log" | tail -n 1), see $room/runs/$id.log" ;;
    esac
  done
}

screen() { # a line for each training; on a terminal they stay in place
  local pid id line count=0
  for pid in "${!of_pid[@]}"; do
    id=${of_pid[$pid]}
    line=$(tail -c 400 "$room/runs/$id.log" 2>/dev/null | tr '\r' '\n' | grep -a . | tail -n 1 | cut -c 1-100)
    if [ -t 1 ]; then printf '\033[K%-44.44s %s\n' "${id%.*}" "$line"; else say "        ${id%.*}: $line"; fi
    count=$((count + 1))
  done
  [ -t 1 ] && [ $count -gt 0 ] && printf '\033[%dA' $count
  return 0
}

shown=$SECONDS nothing=''
while :; do
  collect
  if [ -n "$budget" ] && [ -z "$stopping" ] && awk -v l="$(left)" 'BEGIN { exit !(l <= 0) }'; then stop_all "the time is over"; fi
  while [ -z "$stopping" ] && [ ${#of_pid[@]} -lt "$jobs" ]; do begin_next || break; done
  [ ${#of_pid[@]} -gt 0 ] || break
  if [ -t 1 ] || [ $((SECONDS - shown)) -ge 60 ]; then screen; shown=$SECONDS; fi
  sleep 0.3
done
pending=$(plan "${chosen[@]}" | wc -l)
say "$finished finished, ${#failed[@]} failed, $pending left; results are in $room/results"
[ -z "$stopping" ] || [ "$stopping" = "the time is over" ] || exit 130
[ ${#stopped[@]} -eq 0 ] || exit 130
[ ${#failed[@]} -eq 0 ] && [ ${#lacking[@]} -eq 0 ]
