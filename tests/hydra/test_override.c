/* SPDX-License-Identifier: Apache-2.0 */
/* The override grammar in small: what each form means, and how mistakes are reported. */
#include "hydra/compose.h"
#include "same_json.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json_write.h"

static const struct explain_case {
    const char *name, *in, *want;
} understood[] = {
    { "a change", "a.b=1",
      "{'ok':true,'type':'change','key':'a.b','package':null,'value_type':'element','value':1,"
      "'string':'1'}" },
    { "an addition with a package", "+db/sub@x.y=z",
      "{'ok':true,'type':'add','key':'db/sub','package':'x.y','value_type':'element','value':'z',"
      "'string':'z'}" },
    { "a forced addition without a value", "++a=",
      "{'ok':true,'type':'force_add','key':'a','package':null,'value_type':'element','value':'',"
      "'string':''}" },
    { "a deletion alone", "~a",
      "{'ok':true,'type':'del','key':'a','package':null,'value_type':null}" },
};

/* Only the value: "a=" goes before the text. */
static const struct value_case {
    const char *name, *in, *value, *string;
} values[] = {
    { "an id", "abc-d_1", "'abc-d_1'", "abc-d_1" },
    { "underscores in an integer", "1_000", "1000", "1000" },
    { "a leading zero makes a string", "01", "'01'", "01" },
    { "an integer beyond 64 bits", "-12345678901234567890", "-12345678901234567890",
      "-12345678901234567890" },
    { "an exponent makes a float", "1e3", "1000.0", "1000.0" },
    { "a small float", "1e-7", "1e-07", "1e-07" },
    { "minus infinity", "-inf", "{'$float':'-inf'}", "-inf" },
    { "a word that starts like a number", "1e5x", "'1e5x'", "1e5x" },
    { "true in any case", "tRUE", "true", "True" },
    { "blanks inside", " a  b ", "'a  b'", "a\\ \\ b" },
    { "a path", "C:\\x/y", "'C:\\\\x/y'", "C\\:\\\\x/y" },
    { "escapes", "\\,\\=\\{", "',={'", "\\,\\=\\{" },
    { "an interpolation", "${a.b}/x", "'${a.b}/x'", "$\\{a.b\\}/x" },
    { "a list", "[ 1 , [a:b] ,'c,d', null ]", "[1,['a:b'],'c,d',null]", "[1,[a\\:b],'c,d',null]" },
    { "a map with keys of many types", "{a: 1, 2: x, true: y}",
      "{'$map':[['a',1],[2,'x'],[true,'y']]}", "{a:1,2:x,True:y}" },
    { "equal keys: the last value in the first place", "{1:a,b:c,1.0:d}",
      "{'$map':[[1,'d'],['b','c']]}", "{1:d,b:c}" },
    { "backslashes before a quote", "'a\\\\\\'b\\\\'", "'a\\\\\\u0027b\\\\'", "'a\\\\\\'b\\\\'" },
    { "a cast", "int(3.9)", "3", "3" },
    { "a cast of a float too large for 64 bits", "int(1e20)", "100000000000000000000",
      "100000000000000000000" },
    { "a cast inside a list", "[str(true),bool(0)]", "['true',false]", "[true,False]" },
    { "a sorted list", "sort([3,1,2],reverse=true)", "[3,2,1]", "[3,2,1]" },
    { "lists are ordered by their items", "sort([[2],[1,5],[1]])", "[[1],[1,5],[2]]",
      "[[1],[1,5],[2]]" },
    { "a shuffled single value is a list", "shuffle(x)", "['x']", "[x]" },
};

static const struct sweep_case {
    const char *name, *in, *type, *sweep;
} sweeps[] = {
    { "a simple choice", "a=1,'b c',[d]", "simple_choice",
      "{'values':[1,'b c',['d']],'strings':['1','\\u0027b c\\u0027','[d]'],'simple':true}" },
    { "a choice", "a=choice(x,y)", "choice",
      "{'values':['x','y'],'strings':['x','y'],'simple':false}" },
    { "a range", "a=range(1,6,2)", "range",
      "{'start':1,'stop':6,'step':2,'strings':['1','3','5']}" },
    { "a float range is stepped in decimals", "a=range(0,0.3,0.1)", "range",
      "{'start':0,'stop':0.3,'step':0.1,'strings':['0.0','0.1','0.2']}" },
    { "a float range rounds to 28 digits", "a=range(0,10,3.3)", "range",
      "{'start':0,'stop':10,'step':3.3,'strings':['0.0','3.3','6.6','9.9']}" },
    { "a range without end is said to be one", "a=range(0,inf)", "range",
      "{'start':0,'stop':{'$float':'inf'},'step':1,'iter_error':{'type':null,'message':"
      "'the range has more than 100,000 values'}}" },
    { "a step that rounding eats", "a=range(1e300,2e300,1.0)", "range",
      "{'start':1e+300,'stop':2e+300,'step':1.0,'iter_error':{'type':null,'message':"
      "'the range has more than 100,000 values'}}" },
    { "a long way in the wrong direction is no way", "a=range(1e9,0,0.5)", "range",
      "{'start':1000000000.0,'stop':0,'step':0.5,'strings':[]}" },
    { "an interval", "a=interval(1,2.5)", "interval", "{'start':1.0,'end':2.5}" },
    { "a glob", "a=glob([x*,y],exclude=xx)", "glob", "{'include':['x*','y'],'exclude':['xx']}" },
    { "tags once each and sorted", "a=tag(z,b,z,choice(1))", "choice",
      "{'values':[1],'strings':['1'],'simple':false,'tags':['b','z']}" },
    { "a cast choice forgets its tags", "a=float(tag(t,choice(1)))", "choice",
      "{'values':[1.0],'strings':['1.0'],'simple':false}" },
    { "a range turned round", "a=sort(range(5,1))", "range",
      "{'start':2,'stop':6,'step':-1,'strings':[]}" },
};

static const struct fault_case {
    const char *name, *in;
    enum lpo_override_fault fault;
    size_t column;
    const char *says;
} faults[] = {
    { "a bad character in a key", "a b=c", LPO_FAULT_LEXER, 1, "column 2" },
    { "columns count characters", "a='é'#", LPO_FAULT_LEXER, 5, "'#' is not allowed here" },
    { "a quote never closed", "a=b'", LPO_FAULT_LEXER, 3, "never closed" },
    { "invalid UTF-8 is one character", "a=\xff", LPO_FAULT_LEXER, 2, "column 3" },
    { "no value and no sign", "a", LPO_FAULT_SYNTAX, 0, "unexpected end, expected '='" },
    { "a second '='", "a=b=c", LPO_FAULT_SYNTAX, 0, "'=', expected" },
    { "a list left open", "a=[1", LPO_FAULT_SYNTAX, 0, "unexpected end" },
    { "a comma too many", "a=[1,]", LPO_FAULT_SYNTAX, 0, "']', expected a value" },
    { "a bad character after no way to go on", "a=[1,]#", LPO_FAULT_LEXER, 6, "'#'" },
    { "a bad character right after the wrong token", "a=1]#", LPO_FAULT_LEXER, 4, "'#'" },
    { "the wrong token comes first", "a=1]x#", LPO_FAULT_SYNTAX, 0, "']'" },
    { "an unknown function", "a=chioce(1)", LPO_FAULT_FUNCTION, 0, "did you mean 'choice'?" },
    { "a missing argument", "a=range()", LPO_FAULT_FUNCTION, 0, "'start' is missing" },
    { "an argument twice", "a=range(1,start=2)", LPO_FAULT_FUNCTION, 0, "given twice" },
    { "an argument of the wrong kind", "a=range(a)", LPO_FAULT_FUNCTION, 0, "cannot be a string" },
    { "a cast that cannot be", "a=int(x)", LPO_FAULT_FUNCTION, 0, "'x' is not an integer" },
    { "no order", "a=sort([1,b])", LPO_FAULT_FUNCTION, 0, "cannot be put in order" },
    { "a positional argument too late", "a=range(start=1,4)", LPO_FAULT_VALUE, 0, "positional" },
    { "the order of tokens is reported before the values", "a=[f(),}", LPO_FAULT_SYNTAX, 0, "'}'" },
    { "a sweep inside a list", "a=[choice(1,2)]", LPO_FAULT_VALUE, 0, "a sweep cannot be inside" },
};

/* JSON with ' for ", so that the rows above can be read. */
static const struct lpo_json *quoted_json(struct lpo_arena *a, const char *text)
{
    char *copy = lpo_arena_strdup(a, text);
    const struct lpo_json *doc = NULL;
    struct lpo_err err = { 0 };

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (lpo_json_parse(a, copy, strlen(copy), &doc, &err) < 0)
        fail_msg("the row is not JSON: %s: %s", copy, lpo_err_cause(&err));
    return doc;
}

static const struct lpo_json *explain(struct lpo_arena *a, const char *in)
{
    struct lpo_err err = { 0 };
    struct lpo_override ov;
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);
    const struct lpo_json *doc;

    lpo_override_parse(a, in, &ov, &err);
    lpo_override_explain(&ov, lpo_err_cause(&err), &w);
    assert_int_equal(lpo_json_parse(a, text.at, text.len, &doc, &err), 0);
    return doc;
}

static void check_understood(void **state)
{
    const struct explain_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_true(same_json(explain(a, c->in), quoted_json(a, c->want)));
}

static void check_value(void **state)
{
    const struct value_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *have = explain(a, lpo_arena_printf(a, "a=%s", c->in));

    assert_true(same_json(lpo_json_get(have, "value"), quoted_json(a, c->value)));
    assert_string_equal(lpo_json_text(lpo_json_get(have, "string"), "?"), c->string);
    /* what is written back reads the same */
    const struct lpo_json *again = explain(a, lpo_arena_printf(a, "a=%s", c->string));
    if (!strchr(c->in, '('))
        assert_true(same_json(lpo_json_get(again, "value"), lpo_json_get(have, "value")));
}

static void check_sweep(void **state)
{
    const struct sweep_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *have = explain(a, c->in);

    assert_string_equal(lpo_json_text(lpo_json_get(have, "value_type"), "?"), c->type);
    assert_true(same_json(lpo_json_get(have, "sweep"), quoted_json(a, c->sweep)));
}

static void check_fault(void **state)
{
    const struct fault_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_override ov;

    assert_int_equal(lpo_override_parse(a, c->in, &ov, &err), LPO_E_CONFIG);
    assert_string_equal(lpo_override_fault_name(ov.fault), lpo_override_fault_name(c->fault));
    assert_int_equal(ov.column, c->column);
    if (!strstr(lpo_err_cause(&err), c->says))
        fail_msg("it says: %s", lpo_err_cause(&err));
}

static void depth_is_bounded(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_override ov;
    LPO_STR text = { 0 };

    lpo_str_add(&text, "a=");
    for (int i = 0; i < 100000; i++)
        lpo_str_addc(&text, '[');
    assert_int_equal(lpo_override_parse(a, text.at, &ov, &err), LPO_E_LIMIT);
}

static void what_is_deep_can_be_explained(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_STR text = { 0 };

    lpo_str_add(&text, "a=");
    for (int i = 0; i < 80; i++)
        lpo_str_add(&text, "{1:");
    lpo_str_add(&text, "x");
    for (int i = 0; i < 80; i++)
        lpo_str_add(&text, "}");
    assert_true(lpo_json_bool(lpo_json_get(explain(a, text.at), "ok"), false));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, understood, check_understood);
    UNIT_ROWS(&u, values, check_value);
    UNIT_ROWS(&u, sweeps, check_sweep);
    UNIT_ROWS(&u, faults, check_fault);
    UNIT_TEST(&u, depth_is_bounded);
    UNIT_TEST(&u, what_is_deep_can_be_explained);
    return unit_run(&u);
}
