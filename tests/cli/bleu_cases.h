// Texts, and what sacreBLEU 2.6.0 says of them: `sacrebleu REF.. -i HYP --format text`, and the unrounded score.
#ifndef BPT_TEST_BLEU_CASES_H
#define BPT_TEST_BLEU_CASES_H

static const struct {
    const char *name, *options, *hypothesis, *references[3], *line;
    double score;
} bleu_cases[] = {
    {"plain",
     "",
     "The cat sat on the mat.\nIt costs $5.00, i.e. about 4,50 euros (in 1990-95).\nHe said: \"don't\" & left...\n",
     {"The cat sat on a mat.\nIt cost $5.00, that is about 4,50 euros (in 1990-95).\nHe said \"don't\" & then left...\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 54.9 81.1/64.7/48.4/35.7 (BP = 1.000 ratio = 1.057 hyp_len = 37 "
     "ref_len = 35)\n",
     54.87300033062027},
    {"plain, two references",
     "",
     "The cat sat on the mat.\nIt costs $5.00, i.e. about 4,50 euros (in 1990-95).\nHe said: \"don't\" & left...\n",
     {"The cat sat on a mat.\nIt cost $5.00, that is about 4,50 euros (in 1990-95).\nHe said \"don't\" & then left...\n",
      "A cat was sitting on the mat.\nThe price is $5.00, i.e. about 4.50 euros (1990-95).\nHe left, saying: \"don't\".\n"},
     "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 78.9 97.3/88.2/74.2/60.7 (BP = 1.000 ratio = 1.000 hyp_len = 37 "
     "ref_len = 37)\n",
     78.8587768581063},
    {"plain, three references, lower case",
     "--lowercase",
     "THE CAT SAT ON THE MAT.\nIT COSTS $5.00, I.E. ABOUT 4,50 EUROS (IN 1990-95).\nHE SAID: \"DON'T\" & LEFT...\n",
     {"The cat sat on a mat.\nIt cost $5.00, that is about 4,50 euros (in 1990-95).\nHe said \"don't\" & then left...\n",
      "A cat was sitting on the mat.\nThe price is $5.00, i.e. about 4.50 euros (1990-95).\nHe left, saying: \"don't\".\n",
      "the cat sat on the mat.\nit costs $5.00, i.e. about 4,50 euros (in 1990-95).\nhe said: \"don't\" & left...\n"},
     "BLEU|nrefs:3|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 37 "
     "ref_len = 37)\n",
     100.00000000000004},
    {"tokens as they are",
     "--tokenize none",
     "The cat sat on the mat.\nIt costs $5.00, i.e. about 4,50 euros (in 1990-95).\nHe said: \"don't\" & left...\n",
     {"The cat sat on a mat.\nIt cost $5.00, that is about 4,50 euros (in 1990-95).\nHe said \"don't\" & then left...\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 39.6 80.0/47.1/35.7/27.3 (BP = 0.905 ratio = 0.909 hyp_len = 20 "
     "ref_len = 22)\n",
     39.59551076197485},
    {"punctuation and symbols",
     "--tokenize intl",
     "«Où est-il ?» — Il a 3,5 ans… №7, ½ kg à 20 €.\nΟ ΟΔΥΣΣΕΥΣ ΚΑΙ Ο ΑΣ'ΑΣ είδαν İZMİR.\nStraße 12a – 5€ ²\n",
     {"« Où est-il ? » — Il a 3,5 ans… № 7, ½ kg à 20 €.\nο οδυσσευς και ο ας'ας είδαν i̇zmi̇r.\nSTRASSE 12a – 5 € ²\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:intl|smooth:exp|version:2.6.0 = 73.6 78.9/71.4/71.9/72.4 (BP = 1.000 ratio = 1.000 hyp_len = 38 "
     "ref_len = 38)\n",
     73.60413178434061},
    {"Greek and Turkish in lower case",
     "--tokenize intl --lowercase",
     "«Où est-il ?» — Il a 3,5 ans… №7, ½ kg à 20 €.\nΟ ΟΔΥΣΣΕΥΣ ΚΑΙ Ο ΑΣ'ΑΣ είδαν İZMİR.\nStraße 12a – 5€ ²\n",
     {"« Où est-il ? » — Il a 3,5 ans… № 7, ½ kg à 20 €.\nο οδυσσευς και ο ας'ας είδαν i̇zmi̇r.\nSTRASSE 12a – 5 € ²\n"},
     "BLEU|nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|version:2.6.0 = 89.0 94.7/91.4/87.5/82.8 (BP = 1.000 ratio = 1.000 hyp_len = 38 "
     "ref_len = 38)\n",
     88.99293574519032},
    {"other letters by the rules of WMT",
     "",
     "«Où est-il ?» — Il a 3,5 ans… №7, ½ kg à 20 €.\nΟ ΟΔΥΣΣΕΥΣ ΚΑΙ Ο ΑΣ'ΑΣ είδαν İZMİR.\nStraße 12a – 5€ ²\n",
     {"« Où est-il ? » — Il a 3,5 ans… № 7, ½ kg à 20 €.\nο οδυσσευς και ο ας'ας είδαν i̇zmi̇r.\nSTRASSE 12a – 5 € ²\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 46.2 66.7/51.9/45.8/42.9 (BP = 0.905 ratio = 0.909 hyp_len = 30 "
     "ref_len = 33)\n",
     46.18914992415588},
    {"characters",
     "--tokenize char",
     "«Où est-il ?» — Il a 3,5 ans… №7, ½ kg à 20 €.\nΟ ΟΔΥΣΣΕΥΣ ΚΑΙ Ο ΑΣ'ΑΣ είδαν İZMİR.\nStraße 12a – 5€ ²\n",
     {"« Où est-il ? » — Il a 3,5 ans… № 7, ½ kg à 20 €.\nο οδυσσευς και ο ας'ας είδαν i̇zmi̇r.\nSTRASSE 12a – 5 € ²\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:char|smooth:exp|version:2.6.0 = 56.0 64.0/58.3/56.5/54.5 (BP = 0.961 ratio = 0.962 hyp_len = 75 "
     "ref_len = 78)\n",
     55.96234868159185},
    {"Chinese",
     "--tokenize zh",
     "我们去了2023年的展览会，GDP增长5.5%。\n你好，世界！Hello, world.\n  .5 “引号”→箭头\n",
     {"我们参加了2023年的展览，GDP增长了5.5%。\n你好世界！Hello world.\n.5 “引号” → 箭头\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp|version:2.6.0 = 59.7 88.6/71.9/51.7/38.5 (BP = 1.000 ratio = 1.029 hyp_len = 35 "
     "ref_len = 34)\n",
     59.65513805457752},
    {"Chinese, characters",
     "--tokenize char --lowercase",
     "我们去了2023年的展览会，GDP增长5.5%。\n你好，世界！Hello, world.\n  .5 “引号”→箭头\n",
     {"我们参加了2023年的展览，GDP增长了5.5%。\n你好世界！Hello world.\n.5 “引号” → 箭头\n"},
     "BLEU|nrefs:1|case:lc|eff:no|tok:char|smooth:exp|version:2.6.0 = 74.4 92.2/81.2/68.9/59.5 (BP = 1.000 ratio = 1.020 hyp_len = 51 "
     "ref_len = 50)\n",
     74.43852130806796},
    {"entities",
     "",
     "AT&amp;T said &quot;no&quot; &lt;skipped> to 3&gt;2 &amp;lt; it\nend-<skipped> of &amp;quot; line\n",
     {"AT&T said \"no\" to 3>2 < it\nend- of &quot; line\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 55.6 72.7/60.0/50.0/43.8 (BP = 1.000 ratio = 1.294 hyp_len = 22 "
     "ref_len = 17)\n",
     55.58391766749285},
    {"entities that stay",
     "--tokenize intl",
     "AT&amp;T said &quot;no&quot; &lt;skipped> to 3&gt;2 &amp;lt; it\nend-<skipped> of &amp;quot; line\n",
     {"AT&T said \"no\" to 3>2 < it\nend- of &quot; line\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:intl|smooth:exp|version:2.6.0 = 7.1 40.5/17.5/2.6/1.4 (BP = 1.000 ratio = 2.100 hyp_len = 42 "
     "ref_len = 20)\n",
     7.133134231377567},
    {"white space",
     "--tokenize none",
     "one two  three\tfour \r\n\n five\vsix\302\240seven\342\200\250eight  \n",
     {"one two three four\n\nfive six seven eight\t\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 100.0 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = "
     "8 ref_len = 8)\n",
     100.00000000000004},
    {"no order is matched but the first",
     "--tokenize none",
     "a x b y c z\n",
     {"c b a q q q\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 10.7 50.0/10.0/6.2/4.2 (BP = 1.000 ratio = 1.000 hyp_len = 6 "
     "ref_len = 6)\n",
     10.682175159905853},
    {"segments of two words",
     "--tokenize none",
     "a b\nc d\n",
     {"a b\nc d\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 0.0 100.0/100.0/0.0/0.0 (BP = 1.000 ratio = 1.000 hyp_len = 4 "
     "ref_len = 4)\n",
     0.0},
    {"nothing in common",
     "",
     "a b c d e\n",
     {"v w x y z\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 1.000 hyp_len = 5 ref_len "
     "= 5)\n",
     0.0},
    {"the same",
     "",
     "The cat sat on the mat.\nIt costs $5.00, i.e. about 4,50 euros (in 1990-95).\nHe said: \"don't\" & left...\n",
     {"The cat sat on the mat.\nIt costs $5.00, i.e. about 4,50 euros (in 1990-95).\nHe said: \"don't\" & left...\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.0 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = "
     "37 ref_len = 37)\n",
     100.00000000000004},
    {"no words",
     "",
     "\n\n",
     {"a b\nc\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0 0.0/0.0/0.0/0.0 (BP = 0.000 ratio = 0.000 hyp_len = 0 ref_len "
     "= 3)\n",
     0.0},
    {"no last line end",
     "",
     "The cat sat on the mat.\nIt costs $5.00, i.e. about 4,50 euros (in 1990-95).\nHe said: \"don't\" & left...",
     {"The cat sat on a mat.\nIt cost $5.00, that is about 4,50 euros (in 1990-95).\nHe said \"don't\" & then left...\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 54.9 81.1/64.7/48.4/35.7 (BP = 1.000 ratio = 1.057 hyp_len = 37 "
     "ref_len = 35)\n",
     54.87300033062027},
    {"as near to a shorter as to a longer",
     "--tokenize none",
     "a b c d e f\n",
     {"a b c d e f g h\n", "a b c d\n"},
     "BLEU|nrefs:2|case:mixed|eff:no|tok:none|smooth:exp|version:2.6.0 = 100.0 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.500 hyp_len = "
     "6 ref_len = 4)\n",
     100.00000000000004},
    {"a byte order mark is part of a word",
     "",
     "\357\273\277one two three four five\n",
     {"one two three four five\n"},
     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 66.9 80.0/75.0/66.7/50.0 (BP = 1.000 ratio = 1.000 hyp_len = 5 "
     "ref_len = 5)\n",
     66.87403049764218},
};

#endif
