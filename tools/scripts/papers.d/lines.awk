# Lines of results, for the other programs of this folder: JSON objects of texts and numbers, one a line. A result of a training has `figure`
# and `settings`; a test of two translations has `p`; a figure of an earlier page has `origin`.
function damaged(message) { die(FILENAME ": line " FNR " " message) }

# Fills `field` from a line.
function parse_line(text,   key, value) {
    split("", field)
    text = trim(text)
    if (text !~ /^\{.*\}$/) damaged("is no JSON object: it is damaged or cut off; remove it, and `papers run` measures it again")
    text = substr(text, 2, length(text) - 2)
    while (text != "") {
        if (!match(text, /^ *"[a-z_]+" *: */)) damaged("is damaged at: " substr(text, 1, 40))
        key = substr(text, 1, RLENGTH)
        gsub(/[ ":]/, "", key)
        text = substr(text, RLENGTH + 1)
        if (key in field) damaged("has \"" key "\" twice")
        if (match(text, /^"([^"\\]|\\["\\])*"/)) {
            value = substr(text, 2, RLENGTH - 2)
            text_field[key] = 1
            gsub(/\\"/, "\"", value)
            gsub(/\\\\/, "\\", value)
        } else if (match(text, /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/)) {
            value = substr(text, 1, RLENGTH)
        } else {
            damaged("has no text and no finite number for \"" key "\"")
        }
        field[key] = value
        text = substr(text, RLENGTH + 1)
        if (text != "" && !match(text, /^ *, */)) damaged("is damaged behind \"" key "\"")
        if (text != "") text = substr(text, RLENGTH + 1)
    }
}

function need_field(key, pattern, what) {
    if (!(key in field)) damaged("has no \"" key "\"")
    if (field[key] !~ pattern) damaged("has \"" key "\": " field[key] ", which is no " what)
}

function known_row(t, r) {
    if (!(t in table_at)) damaged("is of table " t ", which " list " does not have; remove the line, or name the list that has it by --list")
    if (!((t, r) in row_at)) damaged("is of row " r ", which table " t " in " list " does not have; remove the line")
}

function check_result(   bits) {
    need_field("table", "^.", "table")
    need_field("row", "^.", "row")
    known_row(field["table"], field["row"])
    need_field("seed", "^[1-9][0-9]*$", "seed")
    need_field("figure", "^-?[0-9]", "number")
    if ("origin" in field) return
    need_field("settings", "^[0-9a-f]+$", "hash of settings")
    need_field("candidate", "^[1-9][0-9]*$", "number of a setting")
    need_field("valid", "^-?[0-9]", "number")
    need_field("valid_by", "^.", "metric")
    need_field("data", "^.", "checksum of data")
    if (!("right" in field)) return
    need_field("examples", "^[1-9][0-9]*$", "number of examples")
    need_field("right", "^[0-9a-f]+$", "row of hexadecimal digits")
    bits = int((field["examples"] + 3) / 4)
    if (length(field["right"]) != bits)
        damaged("has " length(field["right"]) " digits in \"right\" where " field["examples"] " examples need " bits)
}

function check_test() {
    need_field("table", "^.", "table")
    need_field("first", "^.", "row")
    need_field("second", "^.", "row")
    known_row(field["table"], field["first"])
    known_row(field["table"], field["second"])
    need_field("seed", "^[1-9][0-9]*$", "seed")
    need_field("p", "^(0|1|0\\.[0-9]+|[0-9.]+e-[0-9]+|1\\.0|0\\.0)$", "probability")
    need_field("first_settings", "^[0-9a-f]+$", "hash of settings")
    need_field("second_settings", "^[0-9a-f]+$", "hash of settings")
}

# The kind of the line at hand: result, test or earlier.
function read_line(text) {
    parse_line(text)
    if ("p" in field) { check_test(); return "test" }
    check_result()
    return "origin" in field ? "earlier" : "result"
}

function part_number(t, name,   p) {
    if (!part_count[t] && name == "") return 0
    for (p = 1; p <= part_count[t]; ++p)
        if (parts[t, p] == name) return p
    damaged("is of part '" name "', which table " t " in " list " does not have; remove the line")
}

# Whether a result was made with the settings that the list has now. Others are kept and left out.
function is_current(   t, p) {
    t = field["table"]
    p = part_number(t, field["part"])
    return field["candidate"] <= candidate_count[t] && settings_hash(t, field["row"], p, field["candidate"]) == field["settings"]
}

# A line without what differs between two machines that find the same.
function finding(text) {
    gsub(/"(seconds|commit|device|backend)": ("([^"\\]|\\.)*"|[0-9.e+-]+), /, "", text)
    return text
}

# How good a run was on the validation part: more is better.
function valid_of() { return field["valid_by"] ~ /^(loss|mse)$/ ? -field["valid"] : field["valid"] + 0 }

# The candidate of a row that is best on the validation part with seed 1, from `valid_figure`, as far as all have been trained; else 0.
function chosen(t, r,   c, p, sum, best, better, first, last) {
    first = part_count[t] ? 1 : 0
    last = part_count[t] + 0
    better = 0
    if (candidate_count[t] == 1) return 1
    for (c = 1; c <= candidate_count[t]; ++c) {
        sum = 0
        for (p = first; p <= last; ++p) {
            if (!((t, r, p, c, 1) in valid_figure)) return 0
            sum += valid_figure[t, r, p, c, 1]
        }
        if (!better || sum > best) { best = sum; better = c }
    }
    return better
}
