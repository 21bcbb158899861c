/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/tokens.h"

#include "hydra/node.h"
#include "util/regex.h"

#define B      "[ \\t]*+" /* blanks */
#define NAME   "[A-Za-z_][A-Za-z0-9_-]*+"
#define DOLLAR "[A-Za-z_$][A-Za-z0-9_$-]*+"
#define DIGITS "[0-9](?:_?[0-9])*+"
#define WHOLE  "(?:0|[1-9](?:_?[0-9])*+)"
#define PART   "(?:" DOLLAR "|" WHOLE ")"
#define POWER  "[eE][+-]?" DIGITS
#define REAL                                                                                       \
    "[+-]?(?:(?i:inf|nan)|(?:" WHOLE "\\.(?:" DIGITS ")?|\\." DIGITS ")(?:" POWER                  \
    ")?|" WHOLE POWER ")"
/* Up to the first quote with an even number of backslashes right before it. */
#define QUOTED(q)                                                                                  \
    q "(?:[^" q "\\\\]++|\\\\++[^" q "\\\\]|\\\\(?:\\\\\\\\)*+" q ")*+(?:\\\\\\\\)*+" q
/* Text up to '$' or the quote; backslashes count only right before ${ or the quote. */
#define STRETCH(q) "(?:\\\\*+[^\\\\$" q "])++"
#define ODD        "\\\\(?:\\\\\\\\)*+"
#define EVEN       "(?:\\\\\\\\)++(?!\\\\)"

enum change { STAY, PUSH, POP, TURN };

static struct rule {
    enum lpo_token_mode mode;
    enum lpo_token_kind kind;
    struct lpo_regex regex;
    enum change change; /* of the mode, into `to` */
    enum lpo_token_mode to;
} rules[] = {
#define R(mode, kind, regex, ...)                                                                  \
    {                                                                                              \
        LPO_MODE_##mode, LPO_TOK_##kind, LPO_REGEX(regex), __VA_ARGS__                             \
    }
#define KEEP STAY, LPO_MODE_KEY
    R(KEY, EQUAL, "=" B, TURN, LPO_MODE_AFTER),
    R(KEY, TILDE, "~", KEEP),
    R(KEY, PLUS, "\\+", KEEP),
    R(KEY, AT, "@", KEEP),
    R(KEY, COLON, ":", KEEP),
    R(KEY, SLASH, "/", KEEP),
    R(KEY, ID, NAME, KEEP),
    R(KEY, KEY_SPECIAL, DOLLAR, KEEP),
    R(KEY, DOT_PATH, PART "(?:\\." PART ")++", KEEP),

#define WORDS(mode)                                                                                \
    R(mode, FLOAT, REAL, KEEP), R(mode, INT, "[+-]?" WHOLE, KEEP),                                 \
        R(mode, BOOL, "(?i:true|false)", KEEP), R(mode, NULL, "(?i:null)", KEEP),                  \
        R(mode, UNQUOTED, "[-/\\\\+.$%*@?|]", KEEP), R(mode, ID, NAME, KEEP),                      \
        R(mode, ESC, "(?:\\\\[\\\\()\\[\\]{}:=, \\t])++", KEEP),                                   \
        R(mode, BLANKS, "[ \\t]++", KEEP), R(mode, COMMA, B "," B, KEEP),                          \
        R(mode, COLON, B ":" B, KEEP), R(mode, BRACKET_OPEN, "\\[" B, KEEP),                       \
        R(mode, BRACKET_CLOSE, B "\\]", KEEP)
    WORDS(AFTER),
    R(AFTER, POPEN, B "\\(" B, KEEP),
    R(AFTER, PCLOSE, B "\\)", KEEP),
    R(AFTER, BRACE_OPEN, "\\{" B, KEEP),
    R(AFTER, BRACE_CLOSE, B "\\}", KEEP),
    R(AFTER, EQUAL, B "=" B, KEEP),
    R(AFTER, QUOTED, "(?:" QUOTED("'") "|" QUOTED("\"") ")", KEEP),
    R(AFTER, INTERPOLATION, "\\$\\{[^}]++\\}", KEEP),

    WORDS(VALUE),
    R(VALUE, BRACE_OPEN, "\\{" B, PUSH, LPO_MODE_VALUE),
    R(VALUE, BRACE_CLOSE, B "\\}", POP, LPO_MODE_KEY),
    R(VALUE, QUOTE_OPEN, "'", PUSH, LPO_MODE_SINGLE),
    R(VALUE, QUOTE_OPEN, "\"", PUSH, LPO_MODE_DOUBLE),
    R(VALUE, INTER_OPEN, "\\$\\{" B, PUSH, LPO_MODE_INTER),
#undef WORDS

    R(INTER, COLON, B ":" B, TURN, LPO_MODE_VALUE),
    R(INTER, INTER_CLOSE, B "\\}", POP, LPO_MODE_KEY),
    R(INTER, INTER_OPEN, "\\$\\{" B, PUSH, LPO_MODE_INTER),
    R(INTER, DOT, "\\.", KEEP),
    R(INTER, BRACKET_OPEN, "\\[", KEEP),
    R(INTER, BRACKET_CLOSE, "\\]", KEEP),
    R(INTER, ID, NAME, KEEP),
    R(INTER, INTER_KEY, "[^\\\\{}()\\[\\]:. \\t'\"\\x00]++", KEEP),

#define STRETCHES(mode, q, even)                                                                   \
    R(mode, INTER_OPEN, "\\$\\{" B, PUSH, LPO_MODE_INTER), R(mode, ESC_INTER, ODD "\\$\\{", KEEP), \
        R(mode, even, EVEN, KEEP), R(mode, TEXT, STRETCH(q) "|\\\\++|\\$", KEEP)
    STRETCHES(TEXT, "", TOP_ESC),
    STRETCHES(SINGLE, "'", QUOTED_ESC),
    R(SINGLE, QUOTE_CLOSE, "'", POP, LPO_MODE_KEY),
    R(SINGLE, ESC, ODD "'", KEEP),
    STRETCHES(DOUBLE, "\"", QUOTED_ESC),
    R(DOUBLE, QUOTE_CLOSE, "\"", POP, LPO_MODE_KEY),
    R(DOUBLE, ESC, ODD "\"", KEEP),
#undef STRETCHES
#undef KEEP
#undef R
};

struct lpo_lexer lpo_hydra_lexer(const char *text, size_t len, enum lpo_token_mode mode)
{
    return (struct lpo_lexer){
        .from = text, .at = text, .end = text + len, .modes = { (unsigned char)mode }
    };
}

/* False: there is no mode to go to. */
static bool change_mode(struct lpo_lexer *lx, const struct rule *r)
{
    if ((r->change == PUSH && lx->depth + 1 >= LPO_LEXER_DEPTH) ||
        (r->change == POP && lx->depth == 0))
        return false;
    lx->depth += r->change == PUSH;
    lx->depth -= r->change == POP;
    if (r->change == PUSH || r->change == TURN)
        lx->modes[lx->depth] = (unsigned char)r->to;
    return true;
}

struct lpo_token lpo_hydra_lexer_next(struct lpo_lexer *lx)
{
    struct lpo_token best = { lx->at == lx->end ? LPO_TOK_END : LPO_TOK_BAD, lx->at, 0 };
    const struct rule *rule = NULL;
    size_t left = (size_t)(lx->end - lx->at);

    for (size_t i = 0; left && i < sizeof rules / sizeof *rules; i++) {
        size_t len = rules[i].mode == lx->modes[lx->depth]
                         ? lpo_regex_length(&rules[i].regex, lx->at, left, 0)
                         : 0;

        if (len > best.len) {
            rule = &rules[i];
            best.kind = rule->kind;
            best.len = len;
        }
    }
    if (rule && !change_mode(lx, rule)) {
        best.kind = rule->change == PUSH ? LPO_TOK_DEEP : LPO_TOK_BAD;
        best.len = 0;
    }
    lx->at += best.len;
    return best;
}

LPO_NAMES(
    lpo_hydra_token_name, enum lpo_token_kind, [LPO_TOK_END] = "the end",
    [LPO_TOK_BAD] = "a character that is not allowed here", [LPO_TOK_EQUAL] = "'='",
    [LPO_TOK_TILDE] = "'~'", [LPO_TOK_PLUS] = "'+'", [LPO_TOK_AT] = "'@'", [LPO_TOK_COLON] = "':'",
    [LPO_TOK_SLASH] = "'/'", [LPO_TOK_ID] = "a name", [LPO_TOK_POPEN] = "'('",
    [LPO_TOK_COMMA] = "','", [LPO_TOK_PCLOSE] = "')'", [LPO_TOK_BRACKET_CLOSE] = "']'",
    [LPO_TOK_BRACE_CLOSE] = "'}'", [LPO_TOK_QUOTE_CLOSE] = "the closing quote");

struct lpo_node *lpo_hydra_token_value(struct lpo_arena *a, struct lpo_token t)
{
    LPO_STR digits = { 0 };

    if (t.kind == LPO_TOK_NULL)
        return lpo_node_null(a);
    if (t.kind == LPO_TOK_BOOL)
        return lpo_node_bool(a, t.len == strlen("true"));
    if (t.kind != LPO_TOK_INT && t.kind != LPO_TOK_FLOAT)
        return NULL;
    for (size_t i = 0; i < t.len; i++)
        if (t.at[i] != '_' && !(i == 0 && t.at[i] == '+'))
            lpo_str_addc(&digits, t.at[i]);
    return t.kind == LPO_TOK_INT ? lpo_node_bigint(a, digits.at, digits.len)
                                 : lpo_node_float(a, strtod(lpo_str_text(&digits), NULL));
}
