# The list of experiments, for the other programs of this folder: reads the file that the variable `list` names. Errors go to stderr with
# file and line, and end the program.
function die(message) {
    print "papers: " message > "/dev/stderr"
    failed = 1
    exit 1
}

function wrong(message) { die(list ": line " list_line ": " message) }

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

# What has to be a word of letters, digits, "-" and "_": it becomes a part of file names.
function name_of(text, what) {
    if (text !~ /^[A-Za-z0-9][A-Za-z0-9_-]*$/) wrong("'" text "' is no name of a " what "; use letters, digits, - and _")
    return text
}

function begin_table(value) {
    table = name_of(value, "table")
    if (table in table_at) wrong("there is a table " table " in line " table_at[table] " already")
    table_at[table] = list_line
    tables[++table_count] = table
    row = ""
}

function begin_row(value,   space) {
    if (table == "") wrong("a row stands before the first table")
    space = index(value, " ")
    if (!space) wrong("a row needs a name and a label, as in: row star Star-Transformer")
    row = name_of(substr(value, 1, space - 1), "row")
    if ((table, row) in row_at) wrong("table " table " has a row " row " in line " row_at[table, row] " already")
    row_at[table, row] = list_line
    rows[table, ++row_count[table]] = row
    label[table, row] = trim(substr(value, space))
}

function set_minutes(value,   part, n, i) {
    n = split(value, part, /[ \t]+/)
    if (n % 2) wrong("minutes are pairs of a class of machine and a number, as in: minutes cpu 20 amx 7")
    for (i = 1; i < n; i += 2) {
        if (part[i + 1] !~ /^[0-9.]+$/) wrong("'" part[i + 1] "' is no number of minutes")
        minutes[table, row, part[i]] = part[i + 1]
    }
}

function set_metric(value,   part) {
    if (split(value, part, /[ \t]+/) != 4 || part[2] + 0 <= 0 || part[3] !~ /^(more|less)$/ || part[4] !~ /^[0-9]$/)
        wrong("a metric is a key of `bpt eval --json`, a factor, more or less, and a number of digits, as in: metric accuracy 100 more 1")
    metric[table] = part[1]
    scale[table] = part[2] + 0
    direction[table] = part[3]
    digits[table] = part[4]
}

function set_parts(value,   at) {
    at = index(value, ":")
    if (!at || !index(value, "%")) wrong("parts are an option with % and the parts, as in: parts --where 1=% : books dvd")
    part_option[table] = trim(substr(value, 1, at - 1))
    part_count[table] = split(trim(substr(value, at + 1)), of, /[ \t]+/)
    for (at = 1; at <= part_count[table]; ++at) parts[table, at] = name_of(of[at], "part")
}

# Of a table, or of a row that does not have all options of the others; the budget is the same.
function set_search(value,   at, n) {
    n = split(value, of, "|")
    if (row == "") candidate_count[table] = n
    if (n != candidate_count[table]) wrong("row " row " has " n " settings to search and its table " candidate_count[table] + 0 "; rows have the same number")
    for (at = 1; at <= n; ++at) candidates[table, row, at] = trim(of[at])
}
function candidate_of(t, r, c) { return (t, r, c) in candidates ? candidates[t, r, c] : candidates[t, "", c] }

function set_translation(value,   part) {
    if (split(value, part, / : /) != 3)
        wrong("a translation is a text, its reference and options of `bpt translate`, as in: translate a.en : a.de : --beam 5")
    translation[table] = value
}

function table_key(key, value) {
    if (key == "title") title[table] = value
    else if (key == "paper") paper[table] = value
    else if (key == "data") needs[table] = value
    else if (key == "metric") set_metric(value)
    else if (key == "common") common[table] = value
    else if (key == "search") set_search(value)
    else if (key == "parts") set_parts(value)
    else if (key == "evaluate") evaluation[table] = value
    else if (key == "translate") set_translation(value)
    else if (key == "note") note[table] = value
    else wrong("a table has no '" key "'")
}

function row_key(key, value) {
    if (key == "paper") paper_figure[table, row] = value
    else if (key == "options") options[table, row] = value
    else if (key == "search") set_search(value)
    else if (key == "preset") preset[table, row] = name_of(value, "preset")
    else wrong("a row has no '" key "'; what concerns the table stands before its rows")
}

function data_key(key, value) {
    if (key == "files") data_files[data] = value
    else if (key == "layout") data_layout[data] = value
    else if (key == "from") data_from[data] = value
    else wrong("data have no '" key "'")
}

function list_entry(key, value) {
    if (key == "table") begin_table(value)
    else if (key == "row") begin_row(value)
    else if (key == "data" && (table == "" || row != "")) { data = name_of(value, "folder"); data_order[++data_count] = data; data_files[data] = "" }
    else if (table == "") data_key(key, value)
    else if (key == "minutes") set_minutes(value)
    else if (row != "") row_key(key, value)
    else table_key(key, value)
}

# Trainings behind one figure.
function trainings_of(t) { return part_count[t] ? part_count[t] : 1 }

# Minutes of a training on a class of machine; "" where they are not known.
function minutes_of(t, r, class) {
    if ((t, r, class) in minutes) return minutes[t, r, class]
    return (t, "", class) in minutes ? minutes[t, "", class] : ""
}

# 32 bits of a text, as eight digits.
function hash_of(text,   i, h) {
    h = 5381
    for (i = 1; i <= length(text); ++i) h = (h * 33 + code[substr(text, i, 1)]) % 4294967291
    return sprintf("%04x%04x", int(h / 65536), h % 65536)
}

# All that decides what is trained and measured, with places of data as names.
function settings_of(t, r, p, c) {
    return common[t] " " options[t, r] (candidate_of(t, r, c) == "" ? "" : " " candidate_of(t, r, c)) (p ? " " part_of(t, p) : "")
}

function part_of(t, p,   text) {
    text = part_option[t]
    sub(/%/, parts[t, p], text)
    return text
}

function settings_hash(t, r, p, c) { return hash_of(settings_of(t, r, p, c) " / " metric[t] " / " evaluation[t] " / " translation[t]) }

function check_list(   i, j, k, n, need) {
    for (i = 1; i <= table_count; ++i) {
        table = tables[i]
        list_line = table_at[table]
        if (!metric[table]) wrong("table " table " has no metric")
        if (!row_count[table]) wrong("table " table " has no rows")
        if (!candidate_count[table]) candidate_count[table] = 1
        n = split(needs[table], need, /[ \t]+/)
        for (j = 1; j <= n; ++j)
            if (!(need[j] in data_files)) wrong("table " table " needs data " need[j] ", which the list does not describe")
        for (j = 1; j <= row_count[table]; ++j)
            if (options[table, rows[table, j]] == "") wrong("row " rows[table, j] " of table " table " has no options")
    }
}

function read_list(   line, space, i, got) {
    for (i = 1; i < 256; ++i) code[sprintf("%c", i)] = i
    list_line = 0
    while ((got = (getline line < list)) > 0) {
        ++list_line
        line = trim(line)
        if (line == "" || line ~ /^#/) continue
        space = index(line, " ")
        if (!space) wrong("'" line "' has no value")
        list_entry(substr(line, 1, space - 1), trim(substr(line, space)))
    }
    if (got < 0) die("cannot read " list)
    close(list)
    check_list()
}
