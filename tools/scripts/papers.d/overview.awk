# What `papers list` prints, after lists.awk and lines.awk. `only`: a table.
BEGIN {
    read_list()
    if (only != "" && !(only in table_at)) die("there is no table " only " in " list "; `papers list` names them")
}

read_line($0) == "result" && is_current() {
    p = part_number(field["table"], field["part"])
    ++found[field["table"], field["row"], p, field["candidate"]]
}

function minutes_text(t, r, class,   value) {
    value = minutes_of(t, r, class)
    return value == "" ? "-" : value
}

# Seeds of a row of which all parts are there, with the setting that has most.
function seeds_of(t, r,   c, p, least, most) {
    most = 0
    for (c = 1; c <= candidate_count[t]; ++c) {
        least = -1
        for (p = part_count[t] ? 1 : 0; p <= part_count[t] + 0; ++p)
            if (least < 0 || found[t, r, p, c] + 0 < least) least = found[t, r, p, c] + 0
        if (least > most) most = least
    }
    return most
}

function whole_table(t,   j, r, p, c, n, need, text) {
    print t ": " title[t]
    if (paper[t] != "") print "  paper    " paper[t]
    print "  metric   " metric[t] ", " direction[t] " is better"
    print "  common   " common[t]
    print "  search   " (candidate_count[t] > 1 ? candidate_count[t] " settings a row" : "none: one setting a row")
    for (c = 1; candidate_count[t] > 1 && c <= candidate_count[t]; ++c) print "           " candidates[t, "", c]
    if (part_count[t]) print "  parts    " part_count[t] " trainings a figure, " part_option[t]
    if (note[t] != "") print "  note     " note[t]
    for (j = 1; j <= row_count[t]; ++j) {
        r = rows[t, j]
        print "  row " r ": " label[t, r] ((t, r) in paper_figure ? " (paper: " paper_figure[t, r] ")" : "")
        print "    " options[t, r]
        if ((t, r, 1) in candidates) {
            text = "    search:"
            for (c = 1; c <= candidate_count[t]; ++c) text = text (c > 1 ? " |" : "") " " candidates[t, r, c]
            print text
        }
        if ((t, r) in preset) print "    with the setting that won: --preset " preset[t, r]
        print "    seeds: " seeds_of(t, r) "; minutes a training: cpu " minutes_text(t, r, "cpu") ", amx " minutes_text(t, r, "amx") ", gpu " \
            minutes_text(t, r, "gpu")
    }
    n = split(needs[t], need, /[ \t]+/)
    for (j = 1; j <= n; ++j) {
        print "  data " need[j] ": " data_files[need[j]]
        print "    " data_layout[need[j]]
        print "    " data_from[need[j]]
    }
}

END {
    if (failed) exit 1
    if (only != "") { whole_table(only); exit 0 }
    printf "%-17s %5s %5s  %-17s %s\n", "table", "rows", "seeds", "minutes a row", "what"
    printf "%-17s %5s %5s  %5s %5s %5s %s\n", "", "", "", "cpu", "amx", "gpu", ""
    for (i = 1; i <= table_count; ++i) {
        t = tables[i]
        least = -1
        for (j = 1; j <= row_count[t]; ++j) {
            n = seeds_of(t, rows[t, j])
            if (least < 0 || n < least) least = n
        }
        times = trainings_of(t)
        printf "%-17s %5d %5d  %5d %5d %5d  %s\n", t, row_count[t], least, times * minutes[t, "", "cpu"], times * minutes[t, "", "amx"], \
            times * minutes[t, "", "gpu"], title[t]
    }
    print "minutes: of one seed of one row on one core with AVX2 (cpu), on one with AMX (amx), on a GPU such as an H100; seeds: of the row that has fewest"
}
