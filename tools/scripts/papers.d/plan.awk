# What is still to be trained, in order: awk -f lists.awk -f lines.awk -f plan.awk. `select`: tables and rows, TABLE or TABLE/ROW, between
# blanks; `seeds`: their numbers; `class` of the machine. Seeds come first in the order, then what is short, so that tables that are not
# finished have as many seeds for one row as for the other. Fields are separated by the character 31.
BEGIN {
    read_list()
    chosen_count = split(select, wanted, " ")
    for (i = 1; i <= chosen_count; ++i) {
        slash = index(wanted[i], "/")
        t = slash ? substr(wanted[i], 1, slash - 1) : wanted[i]
        r = slash ? substr(wanted[i], slash + 1) : ""
        if (!(t in table_at)) die("there is no table " t " in " list "; `papers list` names them")
        if (r != "" && !((t, r) in row_at)) die("table " t " has no row " r "; `papers list " t "` names them")
        want[t, r] = 1
    }
}

read_line($0) == "result" && is_current() {
    p = part_number(field["table"], field["part"])
    valid_figure[field["table"], field["row"], p, field["candidate"], field["seed"]] = valid_of()
}

function one(t, r, c, seed,   p) {
    for (p = part_count[t] ? 1 : 0; p <= part_count[t] + 0; ++p)
        if (!((t, r, p, c, seed) in valid_figure))
            printf "%d\037%09.2f\037%s\037%s\037%s\037%d\037%d\037%s\037%s\n", seed, minutes_of(t, r, class), t, r, p ? parts[t, p] : "", c, seed,
                settings_hash(t, r, p, c), settings_of(t, r, p, c)
}

function jobs(t, r,   s, c) {
    for (s = 1; s <= seed_count; ++s) {
        c = chosen(t, r)
        if (candidate_count[t] > 1 && (seed[s] == 1 || !c)) {
            for (c = 1; c <= candidate_count[t]; ++c) one(t, r, c, 1)
            if (seed[s] > 1) ++waiting
        } else one(t, r, c, seed[s])
    }
}

END {
    if (failed) exit 1
    seed_count = split(seeds, seed, " ")
    for (i = 1; i <= table_count; ++i)
        for (j = 1; j <= row_count[tables[i]]; ++j)
            if (!chosen_count || (tables[i], "") in want || (tables[i], rows[tables[i], j]) in want) jobs(tables[i], rows[tables[i], j])
}
