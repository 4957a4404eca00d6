# The tables of the page, after lists.awk, lines.awk, gather.awk and statistics.awk: one file a table in the folder `into`, NAME.md, the points
# of its picture, NAME.points, and overview.md and open.md.

function number_text(value, t,   text) {
    text = sprintf("%." digits[t] "f", value)
    if (text ~ /^-[0.]+$/) sub(/^-/, "", text)
    return text
}
function with_deviation(x, n, t) {
    if (!n) return ""
    return number_text(mean_of(x, n), t) (n > 1 ? " ± " number_text(deviation_of(x, n), t) : "")
}
function p_text(p) { return p < 0 ? "" : p < 0.001 ? "< 0.001" : sprintf("%.3f", p) }
function signed(value, t,   text) {
    text = number_text(value, t)
    return value > 0 ? "+" text : text
}

# Words in lines of at most 150 characters.
function prose(text, file,   word, n, i, line) {
    n = split(text, word, " ")
    for (i = 1; i <= n; ++i) {
        if (line != "" && length(line) + length(word[i]) > 148) {
            print line > file
            line = ""
        }
        line = line (line == "" ? "" : " ") word[i]
    }
    print line > file
}

# ---- Pairs of rows

# Adds the answers of a row's seeds that the other one has too to sums[1..]; the number of seeds. -1: answers are not known.
function add_answers(t, r, s, n, sums,   i, k, d, text, v) {
    for (i = 1; i <= n; ++i) {
        text = right_of(t, r, s[i])
        if (text == "") return -1
        for (k = 1; k <= length(text); ++k) {
            v = index("0123456789abcdef", substr(text, k, 1)) - 1
            for (d = 4; d >= 1; --d) {
                if (v % 2) ++sums[4 * (k - 1) + d]
                v = int(v / 2)
            }
        }
        if (answers_length && length(text) != answers_length) die("rows of table " t " have answers of different numbers of examples")
        answers_length = length(text)
    }
    return n
}

# The exact test by signs of the examples: right answers of a row's seeds against those of the other's; -1 where it cannot be made.
function examples_p(t, r, q, s, n, z, m,   a, b, i, d, times, largest, total, steps) {
    answers_length = 0
    split("", a)
    split("", b)
    if (add_answers(t, r, s, n, a) <= 0 || add_answers(t, q, z, m, b) <= 0) return -1
    steps = n == m ? 1 : 0 # with as many seeds each, sums need no common measure
    for (i = 1; i <= 4 * answers_length; ++i) {
        d = steps ? a[i] - b[i] : a[i] * m - b[i] * n
        total += d
        if (d < 0) d = -d
        if (d) ++times[d]
        if (d > largest) largest = d
    }
    return signs_p(times, largest, total)
}

# The paired bootstraps that were made when the translations were there.
function bootstrap_p(t, r, q, s, n,   i, p, count, key, back) {
    for (i = 1; i <= n; ++i) {
        key = t SUBSEP r SUBSEP q SUBSEP s[i] SUBSEP settings_hash(t, r, 0, chosen(t, r)) SUBSEP settings_hash(t, q, 0, chosen(t, q))
        back = t SUBSEP q SUBSEP r SUBSEP s[i] SUBSEP settings_hash(t, q, 0, chosen(t, q)) SUBSEP settings_hash(t, r, 0, chosen(t, r))
        if (key in test_p) p[++count] = test_p[key]
        else if (back in test_p) p[++count] = test_p[back]
    }
    return count ? median_p(p, count) : -1
}

# Where one of two rows has no result, their earlier figures are compared, which settles nothing: nobody can run them again.
function compare(t, r, q,   x, y, s, z, n, m, p, past) {
    split("", x); split("", y); split("", s); split("", z)
    n = figures_of(t, r, x, s)
    m = figures_of(t, q, y, z)
    if (!n || !m) {
        n = earlier_of(t, r, x)
        m = earlier_of(t, q, y)
        past = 1
    }
    if (!n || !m) return
    ++pair_count
    pair_name[pair_count] = "`" r "` - `" q "`"
    pair_difference[pair_count] = mean_of(x, n) - mean_of(y, m)
    pair_seeds[pair_count] = (n == m ? n : n " and " m) (past ? ", earlier" : "")
    pair_texts[pair_count] = past ? -1 : translation[t] != "" ? bootstrap_p(t, r, q, s, n) : examples_p(t, r, q, s, n, z, m)
    pair_over[pair_count] = welch_p(x, n, y, m)
    # Both have to be small: chance in the choice of texts, and chance in the training.
    p = pair_texts[pair_count] > pair_over[pair_count] ? pair_texts[pair_count] : pair_over[pair_count]
    pair_p[pair_count] = past || pair_over[pair_count] < 0 ? 1 : p
    pair_past[pair_count] = past
}

function has_texts(t) { return translation[t] != "" || metric[t] ~ /^(accuracy|f1)$/ }

function write_pairs(t, file,   i, j, corrected, order) {
    pair_count = 0
    for (i = 1; i <= row_count[t]; ++i)
        for (j = i + 1; j <= row_count[t]; ++j) compare(t, rows[t, i], rows[t, j])
    if (!pair_count) return
    holm(pair_p, pair_count, corrected)
    counted = translation[t] != "" || metric[t] == "f1" ? "sentences" : "examples"
    print "\n| pair | difference | seeds of each | " (has_texts(t) ? "p, " counted " | " : "") "p, seeds | order |" > file
    print "|---|---|---|---|---|" (has_texts(t) ? "---|" : "") > file
    for (i = 1; i <= pair_count; ++i) {
        order = corrected[i] <= 0.05 ? "settled" : pair_past[i] ? "open: to be run again" : pair_over[i] < 0 ? "open: too few seeds" : "open"
        printf "| %s | %s | %s | %s%s | %s |\n", pair_name[i], signed(pair_difference[i], t), pair_seeds[i],
            has_texts(t) ? p_text(pair_texts[i]) " | " : "", p_text(pair_over[i]), order > file
        ++pairs_of[t]
        if (order == "settled") ++settled_of[t]
    }
}

# ---- A table

function earlier_of(t, r, x,   s, n) {
    split("", x)
    for (s = 1; s <= most_earlier[t]; ++s)
        if ((t, r, s) in earlier_figure) x[++n] = earlier_figure[t, r, s]
    return n + 0
}

function earlier_text(t, r,   n, x) {
    n = earlier_of(t, r, x)
    return n ? with_deviation(x, n, t) " (" n ")" : ""
}

function write_rows(t, file,   j, r, n, x, s, taken, any_paper, any_earlier) {
    for (j = 1; j <= row_count[t]; ++j) {
        if ((t, rows[t, j]) in paper_figure) any_paper = 1
        if (earlier_text(t, rows[t, j]) != "") any_earlier = 1
    }
    print "| model |" (any_paper ? " paper |" : "") " here | seeds |" (any_earlier ? " earlier (seeds) |" : "") " minutes a training |" > file
    print "|---|" (any_paper ? "---|" : "") "---|---|" (any_earlier ? "---|" : "") "---|" > file
    for (j = 1; j <= row_count[t]; ++j) {
        r = rows[t, j]
        split("", x); split("", s)
        n = figures_of(t, r, x, s)
        row_seeds[t, r] = n
        taken = minutes_taken(t, r)
        row_text[t, r] = with_deviation(x, n, t)
        printf "| %s |%s %s | %d |%s %s |\n", label[t, r], any_paper ? " " paper_figure[t, r] " |" : "", row_text[t, r], n,
            any_earlier ? " " earlier_text(t, r) " |" : "", n ? sprintf(taken < 1 ? "%.1f" : "%.0f", taken) : "" > file
        if (!(t in least_seeds) || n < least_seeds[t]) least_seeds[t] = n
        if (n > most_seeds[t]) most_seeds[t] = n
    }
}

function write_settings(t, file,   j, c, text) {
    print "" > file
    text = "Search: none, one setting a row."
    if (candidate_count[t] > 1) {
        text = "Search: " candidate_count[t] " settings a row on the validation part, seed 1. Chosen:"
        for (j = 1; j <= row_count[t]; ++j) {
            c = chosen(t, rows[t, j])
            text = text (j > 1 ? ", " : " ") rows[t, j] " " (c ? "`" candidate_of(t, rows[t, j], c) "`" : "not yet")
        }
        text = text "."
    }
    for (j = 1; j <= row_count[t]; ++j)
        if ((t, rows[t, j]) in preset) text = text " The setting of " rows[t, j] " is the preset `" preset[t, rows[t, j]] "`."
    if (note[t] != "") text = text " " note[t]
    if (paper[t] != "") text = text " Paper: " paper[t] "."
    if (all_of["commit", t] != "") text = text " Measured: " all_of["machine", t] "; commit " all_of["commit", t] "."
    if (all_of["origin", t] != "") text = text " Earlier: " all_of["origin", t] "."
    prose(text, file)
}

# A line for each evaluation and row, means over the seeds that have it.
function write_points(t, file,   j, r, c, s, p, i, n, point, pair, sum, count, key, any) {
    for (j = 1; j <= row_count[t]; ++j) {
        r = rows[t, j]
        c = chosen(t, r)
        split("", sum); split("", count)
        n = 0
        for (s = 1; c && s <= most_seed[t]; ++s)
            for (p = part_count[t] ? 1 : 0; p <= part_count[t] + 0; ++p) {
                if (!((t, r, p, c, s) in curve_of)) continue
                n = split(curve_of[t, r, p, c, s], point, " ")
                for (i = 1; i <= n; ++i) {
                    split(point[i], pair, ":")
                    sum[i] += pair[2]
                    ++count[i]
                    key[i] = pair[1]
                }
            }
        for (i = 1; i in count; ++i) {
            printf "{\"model\": \"%s\", \"epoch\": %s, \"validation\": %.6g}\n", label[t, r], key[i], sum[i] / count[i] > file
            any = 1
        }
    }
    return any
}

function write_table(t,   file) {
    file = into "/" t ".md"
    print title[t] ":\n" > file
    write_rows(t, file)
    write_pairs(t, file)
    write_settings(t, file)
    if (write_points(t, into "/" t ".points")) {
        print "[Validation against epochs](curves/papers-" t ".svg), mean of the seeds." > file
        close(into "/" t ".points")
    }
    close(file)
}

function write_overview(   i, t, file) {
    file = into "/overview.md"
    print "| table | what | rows | seeds | pairs of rows in a settled order |\n|---|---|---|---|---|" > file
    for (i = 1; i <= table_count; ++i) {
        t = tables[i]
        seeds_text = least_seeds[t] == most_seeds[t] ? most_seeds[t] + 0 : least_seeds[t] " to " most_seeds[t]
        printf "| [%s](#%s) | %s | %d | %s | %s |\n", t, t, title[t], row_count[t], seeds_text, pairs_of[t] ? settled_of[t] + 0 " of " pairs_of[t] : "" > file
    }
    close(file)
}

# Minutes of all that is missing of a table: five seeds a row, three where one takes over half an hour on a CPU, and the search.
function minutes_missing(t, class,   j, r, times, wanted, sum) {
    times = trainings_of(t)
    for (j = 1; j <= row_count[t]; ++j) {
        r = rows[t, j]
        wanted = times * minutes_of(t, r, "cpu") > 30 ? 3 : 5
        if (row_seeds[t, r] < wanted) sum += (wanted - row_seeds[t, r]) * times * minutes_of(t, r, class)
        if (!chosen(t, r)) sum += (candidate_count[t] - 1) * times * minutes_of(t, r, class)
    }
    return sum + 0
}
function duration(value) {
    if (value <= 0) return ""
    return value < 90 ? sprintf("%.0f min", value < 1 ? 1 : value) : sprintf(value < 600 ? "%.1f h" : "%.0f h", value / 60)
}

function rows_short_of_seeds(t,   j, r, text) {
    if (most_seeds[t] == 0) return "not run yet" (all_of["origin", t] == "" ? "" : " (some rows have earlier figures)")
    for (j = 1; j <= row_count[t]; ++j) {
        r = rows[t, j]
        if (row_seeds[t, r] < 3) text = text (text == "" ? "" : ", ") r " " row_seeds[t, r]
    }
    return text
}

# What bpt's presets have to be, for report.sh.
function write_presets(   i, j, t, c, file) {
    file = into "/presets"
    printf "" > file
    for (i = 1; i <= table_count; ++i)
        for (j = 1; j <= row_count[tables[i]]; ++j) {
            t = tables[i]
            c = chosen(t, rows[t, j])
            if ((t, rows[t, j]) in preset && c) print preset[t, rows[t, j]] "\t" settings_of(t, rows[t, j], 0, c) > file
        }
    close(file)
}

function write_open(   i, t, few, orders, file) {
    file = into "/open.md"
    print "| table | rows of fewer than three seeds | orders open | a core with AVX2 | a core with AMX | a GPU |\n|---|---|---|---|---|---|" > file
    for (i = 1; i <= table_count; ++i) {
        t = tables[i]
        few = rows_short_of_seeds(t)
        orders = pairs_of[t] - settled_of[t]
        if (few == "" && !orders && !minutes_missing(t, "cpu")) continue
        printf "| `%s` | %s | %s | %s | %s | %s |\n", t, few, orders ? orders " of " pairs_of[t] : "", duration(minutes_missing(t, "cpu")),
            duration(minutes_missing(t, "amx")), duration(minutes_missing(t, "gpu")) > file
    }
    close(file)
}

END {
    if (failed) exit 1
    for (i = 1; i <= table_count; ++i) write_table(tables[i])
    write_overview()
    write_open()
    write_presets()
    if (outdated) print "papers: " outdated " lines of settings that the list no longer has are left out" > "/dev/stderr"
}
