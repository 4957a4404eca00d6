# Sourced by papers run: one training and its line of results. The variables of begin_next are there: table, row, part, candidate, seed, hash,
# settings, id, sum.

# Words of options with folders in the place of names in braces, into the array `words`.
expand() { # TEXT
  local word name
  words=()
  read -ra plain <<<"$1"
  for word in "${plain[@]}"; do
    while [[ $word =~ \{([a-z0-9-]+)\} ]]; do
      name=${BASH_REMATCH[1]}
      word=${word//"{$name}"/$(place_of "$name")}
    done
    words+=("$word")
  done
}

number_in() { # KEY FILE: the first number with this key
  grep -aoE "\"$1\": -?[0-9][-+0-9.e]*" "$2" | head -n 1 | sed 's/.*: //'
}
quoted() { printf '%s' "$1" | tr -d '\n' | tr '\t' ' ' | sed 's/[\\"]/\\&/g'; }

train() {
  local run=$1 options
  if [ -e "$run/latest" ]; then
    options=(--resume)
  else
    rm -rf "$run"
    expand "$settings"
    options=("${words[@]}" --seed "$seed" --precision "$precision")
  fi
  "$bpt" train --out "$run" "${machine[@]}" "${options[@]}" >>"$run.log" 2>&1 &
  local training=$! status
  echo $training >"$run.pid"
  # A signal that only this process gets is passed on: no training is left behind, and what it has is saved.
  trap "kill $training" TERM HUP
  while :; do
    wait $training
    status=$?
    kill -0 $training 2>/dev/null || break
  done
  trap - TERM HUP
  rm -f "$run.pid"
  return $status
}

# 1 for a right answer and 0 for others, as hexadecimal digits of four answers each.
right_digits() { # FILE
  tr -d '[] \n' <"$1" | awk 'BEGIN { RS = "," }
    { value = value * 2 + ($1 == 1); if (NR % 4 == 0) { printf "%x", value; value = 0 } }
    END { if (NR % 4) { for (i = NR % 4; i < 4; ++i) value *= 2; printf "%x", value } }'
}

# Figures of evaluations in training, epoch:value, by the metric or, where it is not known, by the loss.
curve() { # FILE METRIC
  awk -v metric="$2" '
    function number(key) { return match($0, "\"" key "\": -?[0-9][-+0-9.e]*") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "" }
    /"eval": "valid"/ {
      value = number(metric)
      if (value == "") value = number("loss")
      printf "%s%.4g:%.5g", n++ ? " " : "", number("epoch"), value
    }' "$1"
}

evaluate() { # RUN OPTIONS
  local run=$1 right=()
  expand "$2"
  [ -e "$run/labels.txt" ] && right=(--right-out "$run/right.json")
  "$bpt" eval "$run" "${machine[@]}" "${words[@]}" "${right[@]}" --json --quiet >"$run/eval.json" 2>>"$run.log" || return 1
  figure=$(number_in "$metric" "$run/eval.json")
  [ -n "$figure" ] || { echo "papers: error: bpt eval gives no $metric" >>"$run.log"; return 1; }
  [ -e "$run/right.json" ] || return 0
  more=", \"examples\": $(tr -d '[] \n' <"$run/right.json" | awk 'BEGIN { RS = "," } END { print NR }'), \"right\": \"$(right_digits "$run/right.json")\""
}

translate() { # RUN SOURCE REFERENCE OPTIONS
  local run=$1 source reference
  expand "$2"; source=${words[0]}
  expand "$3"; reference=${words[0]}
  expand "$4"
  "$bpt" translate "$run" "$source" "${machine[@]}" "${words[@]}" --quiet >"$run/translation" 2>>"$run.log" || return 1
  "$bpt" bleu "$run/translation" --ref "$reference" --tokenize none --json >"$run/bleu.json" 2>>"$run.log" || return 1
  figure=$(number_in score "$run/bleu.json")
  [ -n "$figure" ] || { echo "papers: error: bpt bleu gives no score" >>"$run.log"; return 1; }
  mv "$run/translation" "$room/predictions/$id.txt"
}

# Paired bootstrap against the other rows' translations with the same seed.
paired_tests() { # REFERENCE
  local other other_row other_hash reference
  expand "$1"; reference=${words[0]}
  for other in "$room/predictions/$table".*."$seed".*.txt; do
    other=${other##*/}
    other=${other%.txt}
    other_row=${other#"$table".}
    other_row=${other_row%%.*} other_hash=${other##*.}
    [ "$other_row" != "$row" ] || continue
    "$bpt" bleu "$room/predictions/$other.txt" "$room/predictions/$id.txt" --ref "$reference" --tokenize none --paired-bs --json \
      >"$room/runs/$id.paired" 2>>"$room/runs/$id.log" || return 1
    printf '{"table": "%s", "first": "%s", "second": "%s", "seed": %d, "first_settings": "%s", "second_settings": "%s", "p": %s, "commit": "%s"}\n' \
      "$table" "$other_row" "$row" "$seed" "$other_hash" "$hash" "$(number_in p_value "$room/runs/$id.paired")" "$(quoted "$commit")" \
      >"$room/results/test.$other.$id.new" && mv "$room/results/test.$other.$id.new" "$room/results/test.$other.$id.jsonl"
  done
}

# The line is there whole or not at all.
write_line() { # RUN
  local run=$1 info=$1/info.json used
  "$bpt" info "$run" --json >"$info" 2>>"$run.log" || return 1
  used=$(grep -aE '^backend ' "$run.log" | tail -n 1 | sed -E 's/^backend [a-z]+: //; s/ \(.*//; s/, [0-9]+ units?$//')
  {
    printf '{"table": "%s", "row": "%s", "part": "%s", "candidate": %d, "seed": %d, "figure": %s' "$table" "$row" "$part" "$candidate" "$seed" "$figure"
    printf ', "valid": %s, "valid_by": "%s"' "$(number_in best "$info")" "$(grep -oE '"best_by": "[a-z0-9_]+"' "$info" | sed 's/.*: "//; s/"//')"
    printf ', "settings": "%s", "data": "%s", "commit": "%s", "backend": "%s", "device": "%s", "precision": "%s"' "$hash" "$sum" \
      "$(quoted "$commit")" "$backend" "$(quoted "$used")" "$(sed -n 's/^ *"precision": "\(.*\)",*$/\1/p' "$info")"
    printf ', "parameters": %s, "steps": %s, "seconds": %.0f, "curve": "%s"%s}\n' "$(number_in parameters "$info")" "$(number_in steps "$info")" \
      "$(grep -aoE '"seconds": [0-9.e+]*' "$run/metrics.jsonl" | tail -n 1 | sed 's/.*: //')" "$(curve "$run/metrics.jsonl" "$metric")" "$more"
  } >"$room/results/$id.new"
  # What cannot be read again is no result.
  program -f "$parts/accept.awk" "$room/results/$id.new" 2>>"$run.log" || return 1
  mv "$room/results/$id.new" "$room/results/$id.jsonl"
}

train_and_measure() {
  local run=$room/runs/$id status metric evaluation translation figure='' more='' sides
  train "$run"
  status=$?
  [ $status -ne 143 ] || status=130
  [ $status -eq 0 ] || exit $status
  IFS=$'\037' read -r metric evaluation translation < <(program -v table_asked="$table" -f "$parts/fields.awk" /dev/null)
  if [ -n "$translation" ]; then
    sides=${translation#* : }
    translate "$run" "${translation%% : *}" "${sides%% : *}" "${sides#* : }" || exit 1
  else
    evaluate "$run" "$evaluation" || exit 1
  fi
  write_line "$run" || exit 1
  [ -z "$translation" ] || paired_tests "${sides%% : *}" || exit 1
  rm -rf "$run"/{checkpoints,latest,best,eval.json,right.json,translation}
}
