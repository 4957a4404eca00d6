# Lines of results as numbers by table and row, after lists.awk and lines.awk, for report.awk.
BEGIN { read_list() }

{ kind = read_line($0) }

function same_data(t) {
    if ((t, "data") in seen && seen[t, "data"] != field["data"])
        damaged("is of other data than " seen[t, "where"] ": the rows of a table have to see the same; take out the lines of one of them")
    seen[t, "data"] = field["data"]
    if (!((t, "where") in seen)) seen[t, "where"] = FILENAME ": line " FNR
}

function add_once(list_of, t, text) {
    if ((list_of, t, text) in known) return
    known[list_of, t, text] = 1
    all_of[list_of, t] = all_of[list_of, t] (all_of[list_of, t] == "" ? "" : "; ") text
}

kind == "result" && !is_current() { ++outdated }

kind == "result" && is_current() {
    t = field["table"]
    r = field["row"]
    p = part_number(t, field["part"])
    key = t SUBSEP r SUBSEP p SUBSEP field["candidate"] SUBSEP field["seed"]
    if (key in where_is) {
        if (text_of[key] == finding($0)) next
        damaged("is a second result of " t "/" r " seed " field["seed"] ", which " where_is[key] " has; take out one of them")
    }
    where_is[key] = FILENAME ": line " FNR
    text_of[key] = finding($0)
    same_data(t)
    figure[key] = field["figure"]
    valid_figure[t, r, p, field["candidate"], field["seed"]] = valid_of()
    right[key] = field["right"]
    examples[key] = field["examples"]
    time_of[key] = field["seconds"]
    curve_of[key] = field["curve"]
    add_once("commit", t, field["commit"])
    add_once("machine", t, field["device"] ", " field["precision"])
    if (field["seed"] > most_seed[t]) most_seed[t] = field["seed"]
}

kind == "earlier" {
    t = field["table"]
    r = field["row"]
    if ((t, r, field["seed"]) in earlier_figure && text_of[t, r, field["seed"]] != $0)
        damaged("is a second earlier figure of " t "/" r " seed " field["seed"])
    text_of[t, r, field["seed"]] = $0
    earlier_figure[t, r, field["seed"]] = field["figure"]
    if (field["seed"] > most_earlier[t]) most_earlier[t] = field["seed"]
    add_once("origin", t, field["origin"])
}

kind == "test" {
    test_p[field["table"], field["first"], field["second"], field["seed"], field["first_settings"], field["second_settings"]] = field["p"]
}

# ---- What the lines say of a row, with the setting that was chosen

# The figure of a seed, the mean of the parts; "" where a part is missing.
function figure_of(t, r, c, s,   p, n, sum) {
    n = trainings_of(t)
    for (p = part_count[t] ? 1 : 0; p <= part_count[t] + 0; ++p) {
        if (!((t, r, p, c, s) in figure)) return ""
        sum += figure[t, r, p, c, s]
    }
    return sum / n * scale[t]
}

# Fills figures[1..], seeds_there[1..]; their number.
function figures_of(t, r, figures, seeds_there,   s, n, c, value) {
    c = chosen(t, r)
    n = 0
    for (s = 1; c && s <= most_seed[t]; ++s) {
        value = figure_of(t, r, c, s)
        if (value == "") continue
        figures[++n] = value
        seeds_there[n] = s
    }
    return n
}

# Digits of which answers are right, those of all parts behind one another.
function right_of(t, r, s,   p, c, text) {
    c = chosen(t, r)
    for (p = part_count[t] ? 1 : 0; p <= part_count[t] + 0; ++p) {
        if (right[t, r, p, c, s] == "") return ""
        text = text right[t, r, p, c, s]
    }
    return text
}

function minutes_taken(t, r,   s, p, c, n, sum) {
    c = chosen(t, r)
    for (s = 1; s <= most_seed[t]; ++s)
        for (p = part_count[t] ? 1 : 0; p <= part_count[t] + 0; ++p)
            if ((t, r, p, c, s) in time_of) { sum += time_of[t, r, p, c, s]; ++n }
    return n ? sum / n / 60 : 0
}
