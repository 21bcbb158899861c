/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are those of secrets, and bytes, configs and commands without their values. */
#include "../unit.h"

#include "hydra/compose.h"
#include "run/secrets/secrets.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

#define TOKEN "hf_S3kritValue9"

static const struct name_case {
    const char *name;
    enum lpo_secret_name want;
} name_cases[] = {
    { "HF_TOKEN", LPO_NAME_SECRET },
    { "AWS_SECRET_ACCESS_KEY", LPO_NAME_PASSWORD },
    { "AWS_ACCESS_KEY_ID", LPO_NAME_SECRET },
    { "DbPassword", LPO_NAME_PASSWORD },
    { "my_api_key", LPO_NAME_SECRET },
    { "--api-key", LPO_NAME_SECRET },
    { "OPENAI_APIKEY", LPO_NAME_SECRET },
    { "hfToken", LPO_NAME_SECRET },
    { "DB_PASS", LPO_NAME_SECRET },
    { "PASSPHRASE", LPO_NAME_PASSWORD },
    { "REGISTRY_AUTH", LPO_NAME_SECRET },
    { "GITHUB_PAT", LPO_NAME_SECRET },
    { "GCP_CREDENTIALS", LPO_NAME_PASSWORD },
    { "DB_PWD", LPO_NAME_PASSWORD },
    { "Authorization", LPO_NAME_SECRET },
    { "PATH", LPO_NAME_PLAIN },
    { "PWD", LPO_NAME_PLAIN },
    { "OLDPWD", LPO_NAME_PLAIN },
    { "CUDA_VISIBLE_DEVICES", LPO_NAME_PLAIN },
    { "TOKENIZERS_PARALLELISM", LPO_NAME_PLAIN },
    { "HF_TOKEN_PATH", LPO_NAME_PLAIN },
    { "max_new_tokens", LPO_NAME_PLAIN },
    { "eos_token", LPO_NAME_PLAIN },
    { "pad_token_id", LPO_NAME_PLAIN },
    { "num_key_value_heads", LPO_NAME_PLAIN },
    { "MY_KEY", LPO_NAME_SECRET },
    { "image_key", LPO_NAME_PLAIN },
    { "--sort-key", LPO_NAME_PLAIN },
    { "wandb_api_key", LPO_NAME_SECRET },
    { "key", LPO_NAME_SECRET },
    { "sample_keys", LPO_NAME_PLAIN },
    { "bypass", LPO_NAME_PLAIN },
    { "author", LPO_NAME_PLAIN },
    { "pattern", LPO_NAME_PLAIN },
    { "", LPO_NAME_PLAIN },
};

static void check_name(void **state)
{
    const struct name_case *c = *state;

    assert_int_equal(lpo_secrets_name(c->name), c->want);
}

/* The table of every row: TOKEN of HF_TOKEN, "ab12" of DB_PASS, "a\"b\\c d&e9" of ODD_KEY. */
static void fill(void)
{
    lpo_secrets_forget();
    lpo_secrets_add(LPO_NAME_SECRET, TOKEN, "HF_TOKEN");
    lpo_secrets_add(LPO_NAME_PASSWORD, "ab12", "DB_PASS");
    lpo_secrets_add(LPO_NAME_SECRET, "a\"b\\c d&e9", "ODD_KEY");
    lpo_secrets_add(LPO_NAME_SECRET, TOKEN "-and-more", "LONGER");
    lpo_secrets_add(LPO_NAME_PASSWORD, "sesameopen", "WORD");
}

static const struct bytes_case {
    const char *name, *given, *want;
} bytes_cases[] = {
    { "nothing", "an ordinary text", "an ordinary text" },
    { "empty", "", "" },
    { "alone", TOKEN, "(hidden)" },
    { "in a longer text", "x" TOKEN "y", "x(hidden)y" },
    { "twice", TOKEN " " TOKEN, "(hidden) (hidden)" },
    { "the longer one first", TOKEN "-and-more", "(hidden)" },
    { "cut", "hf_S3kritValue", "hf_S3kritValue" },
    { "a short one is a word", "is ab12, ab123, xab12", "is (hidden), ab123, xab12" },
    { "a short one stays a member's name", "{\"ab12\": \"ab12\"}", "{\"ab12\": \"(hidden)\"}" },
    { "a word of a language", "sesameopen_x sesameopen", "sesameopen_x (hidden)" },
    { "in JSON", "\"a\\\"b\\\\c d&e9\"", "\"(hidden)\"" },
    { "in HTML", "a&quot;b\\c d&amp;e9", "(hidden)" },
    { "in Markdown", "a\"b\\\\c d&amp;e9", "(hidden)" },
    { "in CSV", "\"a\"\"b\\c d&e9\"", "\"(hidden)\"" },
    { "a URL's password", "http://me:pw@host/x", "http://me:(hidden)@host/x" },
    { "a URL's user", "ssh://git@host/x", "ssh://git@host/x" },
    { "a URL's port", "http://host:3128/a@b", "http://host:3128/a@b" },
    { "hidden before", "http://me:(hidden)@host/x", "http://me:(hidden)@host/x" },
    /* nobody knows these values: their shape gives them away */
    { "a hub token", "is hf_AbCdEfGhIjKlMnOp12 .", "is (hidden) ." },
    { "behind an escaped line end", "\"a\\nghp_AbCdEfGhIjKlMnOp12\"", "\"a\\n(hidden)\"" },
    { "sk-", "k=sk-proj-AbCd_EfGh-IjKl12", "k=(hidden)" },
    { "no digit: a name", "sk-learn-is-a-library-of-python", "sk-learn-is-a-library-of-python" },
    { "inside a word", "mask-aaaaaaaaaaaaaaaa1", "mask-aaaaaaaaaaaaaaaa1" },
    { "AWS", "\"AKIAIOSFODNN7EXAMPLE\"", "\"(hidden)\"" },
    { "a JWT", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "(hidden)" },
    { "a private key", "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- y",
      "x (hidden) y" },
    { "a private key that was cut", "-----BEGIN PRIVATE KEY-----\nMIIEpAI", "(hidden)" },
    { "a certificate", "-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE" },
    { "a header", "Authorization: Bearer abcdefgh", "Authorization: Bearer (hidden)" },
    { "a header in quotes", "'Authorization: Basic dXNlc jpw' x",
      "'Authorization: Basic (hidden)' x" },
    { "another header", "-H \"X-Api-Key: abcdef12\"", "-H \"X-Api-Key: (hidden)\"" },
    { "a member of JSON", "{\"api_key\": \"abcdef\", \"a\": 1}",
      "{\"api_key\": \"(hidden)\", \"a\": 1}" },
    { "blanks before the colon", "{\"api_key\" : \"abcdef\"}", "{\"api_key\" : \"(hidden)\"}" },
    { "an assignment", "password = 'abc def'\n", "password = '(hidden)'\n" },
    { "JSON inside JSON", "\"{\\\"api_key\\\":\\\"abcdef\\\"}\"",
      "\"{\\\"api_key\\\":\\\"(hidden)\\\"}\"" },
    { "a parameter", "/x?access_token=abcdef&a=b", "/x?access_token=(hidden)&a=b" },
    { "a signature", "/x?a=b&sig=ab%2Fcdef", "/x?a=b&sig=(hidden)" },
    { "a signed address", "?X-Amz-Signature=abcdef0", "?X-Amz-Signature=(hidden)" },
    { "a line of .netrc", "machine h login me password S3kret9",
      "machine h login me password (hidden)" },
    { "a sentence", "the password is too short", "the password is too short" },
    { "Twilio", "SK0123456789abcdef0123456789abcdef", "(hidden)" },
    { "no Twilio", "SKernel0123456789ForwardBackwardGemm", "SKernel0123456789ForwardBackwardGemm" },
    { "no parameter", "sig=abcdef", "sig=abcdef" },
    { "a number", "hf_token: 12345678", "hf_token: 12345678" },
    { "a variable", "API_KEY=\"$API_KEY\"", "API_KEY=\"$API_KEY\"" },
    { "a word that ends so", "monkey_api_keys: abcdefgh", "monkey_api_keys: abcdefgh" },
};

/* Words of a command line, joined by | here: what is a secret there is one everywhere after. */
static const struct command_case {
    const char *name, *given, *want;
} command_cases[] = {
    { "an option", "p|--token|S3 x", "p --token \"$TOKEN\"" },
    { "an option with =", "p|--api-key=S3 x", "p --api-key=\"$API_KEY\"" },
    { "a script with a header", "sh|-c|curl -H \"Authorization: Bearer S3\" u",
      "sh -c 'curl -H \"Authorization: Bearer '\"$AUTHORIZATION\"'\" u'" },
    { "a header's word", "curl|-H|X-Api-Key: S3", "curl -H 'X-Api-Key: '\"$X_API_KEY\"" },
    { "a user", "curl|-u|me:S3", "curl -u me:\"$PASSWORD\"" },
    { "a user in a script", "sh|-c|curl -u me:S3 u", "sh -c 'curl -u me:'\"$PASSWORD\"' u'" },
    { "a user with =", "curl|--user=me:S3|u", "curl --user=me:\"$PASSWORD\" u" },
    { "a user in the option", "curl|-ume:S3", "curl -ume:\"$PASSWORD\"" },
    { "a number in the option", "run|-u1000:1000|--user=1:2", "run -u1000:1000 --user=1:2" },
    { "a password of mysql", "/usr/bin/mysql|-h|db|-pS3x", "/usr/bin/mysql -h db -p\"$PASSWORD\"" },
    { "mysql asks for it", "mysql|-p|db", "mysql -p db" },
    { "-p of another", "python|train.py|-pS3x", "python train.py -pS3x" },
    { "sshpass", "sshpass|-p|S3 x|ssh|h", "sshpass -p \"$PASSWORD\" ssh h" },
    { "sshpass in a script", "sh|-c|cd /x; sshpass -p S3x ssh h",
      "sh -c 'cd /x; sshpass -p '\"$PASSWORD\"' ssh h'" },
    { "a registry", "docker|login|-u|me|-p|S3x", "docker login -u me -p \"$PASSWORD\"" },
    { "the port of another command", "sh|-c|mysql x; ssh -p 2222 h",
      "sh -c 'mysql x; ssh -p 2222 h'" },
    { "a program's assignment", "python|-c|token = \"S3\"",
      "python -c 'token = \"'\"$TOKEN\"'\"'" },
    { "ids of a user", "docker|run|-u|1000:1000", "docker run -u 1000:1000" },
    { "a list", "p|--config|a=1,token=S3,b=2", "p --config a=1,token=\"$TOKEN\",b=2" },
    { "JSON", "p|{\"api_key\":\"S3\"}", "p '{\"api_key\":\"'\"$API_KEY\"'\"}'" },
    { "an address", "p|http://h/?access_token=S3", "p 'http://h/?access_token='\"$ACCESS_TOKEN\"" },
    { "a token alone", "p|ghp_AbCdEfGhIjKlMnOp12", "p \"$GITHUB_TOKEN\"" },
    { "a number", "p|--max-tokens|8", "p --max-tokens 8" },
    { "a value that is an option", "p|--token|--x", "p --token --x" },
};

static void check_command(void **state)
{
    const struct command_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *argv[16];
    char *rest = NULL;
    size_t argc = 0;
    LPO_STR out = { 0 };

    lpo_secrets_forget();
    for (char *p = strtok_r(lpo_arena_strdup(a, c->given), "|", &rest); p;
         p = strtok_r(NULL, "|", &rest))
        argv[argc++] = p;
    lpo_secrets_add_command(&out, argv, argc);
    assert_string_equal(lpo_str_text(&out), c->want);
    assert_int_equal(lpo_secrets_in_command(argv, argc) >= 0, strchr(c->want, '$') != NULL);
}

/* A stream in pieces gives what the whole gives, wherever it is cut. */
static void pieces_are_masked_as_the_whole_is(void **state)
{
    const struct bytes_case *c = *state;
    size_t len = strlen(c->given);

    fill();
    for (size_t cut = 0; cut <= len; cut++) {
        LPO_STR out = { 0 };
        bool hid = false;
        size_t written = 0, drop;

        drop = lpo_secrets_mask_piece(c->given, cut, &written, false, &out, &hid);
        lpo_secrets_mask_piece(c->given + drop, len - drop, &written, true, &out, &hid);
        assert_string_equal(lpo_str_text(&out), c->want);
        assert_int_equal(hid, strcmp(c->given, c->want) != 0);
    }
    lpo_secrets_forget();
}

static void check_bytes(void **state)
{
    const struct bytes_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    fill();
    assert_string_equal(lpo_secrets_mask_text(a, c->given), c->want);
    lpo_secrets_forget();
}

static void what_was_cut_is_hidden_too(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    (void)state;
    fill();
    assert_string_equal(lpo_secrets_mask_cut(a, "it is hf_S3kri"), "it is (hidden)");
    assert_string_equal(lpo_secrets_mask_cut(a, "it is " TOKEN), "it is (hidden)");
    assert_string_equal(lpo_secrets_mask_cut(a, "it is hf_"), "it is hf_");
    assert_string_equal(lpo_secrets_mask_cut(a, ""), "");
    lpo_secrets_forget();
}

static const struct plain_case {
    const char *value;
    enum lpo_secret_name name;
} plain_cases[] = {
    { "abc", LPO_NAME_PASSWORD },        { "true", LPO_NAME_PASSWORD },
    { "1234567890", LPO_NAME_PASSWORD }, { "cuda", LPO_NAME_SECRET },
    { "done", LPO_NAME_PASSWORD },       { "pipeline", LPO_NAME_PASSWORD },
    { "time", LPO_NAME_SECRET },         { "/tmp", LPO_NAME_SECRET },
    { "0.25", LPO_NAME_PASSWORD },       { "cuda:0", LPO_NAME_PASSWORD },
    { "None", LPO_NAME_PASSWORD },
};

static void check_plain(void **state)
{
    const struct plain_case *c = *state;
    LPO_STR out = { 0 };

    lpo_secrets_forget();
    lpo_secrets_add(c->name, c->value, "X");
    assert_false(lpo_secrets_mask(c->value, strlen(c->value), &out));
    lpo_secrets_forget();
}

static const struct override_case {
    const char *name, *given, *want;
} override_cases[] = {
    { "an ordinary key", "run.repeats=3", "run.repeats=3" },
    { "a variable", "workload.env.CUDA_VISIBLE_DEVICES=0", "workload.env.CUDA_VISIBLE_DEVICES=0" },
    { "a secret variable", "workload.env.HF_TOKEN=hf_abc", "workload.env.HF_TOKEN=(hidden)" },
    { "added", "+workload.env.API_KEY=x", "+workload.env.API_KEY=(hidden)" },
    { "a secret inside a map", "workload.env={A: 1, MY_PASSWORD: x}", "workload.env=(hidden)" },
    { "a map of maps", "++workload={env: {HF_TOKEN: x}}", "++workload=(hidden)" },
    { "removed: no value to hide", "~workload.env.HF_TOKEN", "~workload.env.HF_TOKEN" },
    { "a key that only reads like one", "infer.max_new_tokens=3", "infer.max_new_tokens=3" },
    { "a sweep", "+model.hf_token=a,b", "+model.hf_token=(hidden)" },
    { "a number under a weak name", "+model.key=3", "+model.key=3" },
    { "a number as a password", "+model.password=3", "+model.password=(hidden)" },
    { "a command line", "workload.argv=[a,--token,x]", "workload.argv=[a,--token,\\(hidden\\)]" },
};

static void check_override(void **state)
{
    const struct override_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    lpo_secrets_forget();
    assert_string_equal(lpo_secrets_mask_override(a, c->given), c->want);
}

static struct lpo_node *config_of(struct lpo_arena *a, const char *text)
{
    struct lpo_node *config = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_yaml_parse(a, text, strlen(text), "test", &config, &err), 0);
    return config;
}

static void config_is_masked_in_a_copy(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *config = config_of(
        a, "workload: {env: {HF_TOKEN: hf_abc, PLAIN: 1}, argv: [p, --token, x, -k, y]}\n");
    struct lpo_node *hidden = lpo_node_list(a);
    const struct lpo_node *masked;

    (void)state;
    lpo_secrets_forget();
    masked = lpo_secrets_mask_config(a, config, hidden);
    assert_string_equal(lpo_node_at(masked, "workload.env.HF_TOKEN")->text, "(hidden)");
    assert_int_equal(lpo_node_at(masked, "workload.env.PLAIN")->integer, 1);
    assert_string_equal(lpo_node_at(masked, "workload.argv.2")->text, "(hidden)");
    assert_string_equal(lpo_node_at(masked, "workload.argv.4")->text, "y");
    assert_string_equal(lpo_node_at(config, "workload.env.HF_TOKEN")->text, "hf_abc");
    assert_int_equal(hidden->count, 2);
    assert_string_equal(lpo_node_at(hidden, "1.variables.0")->text, "TOKEN");
}

/* What was hidden comes back from the variables, also from inside a longer text. */
static void a_masked_config_is_restored(void **state)
{
    static const char text[] = "a: {hf_token: " TOKEN "}\nb: 'x " TOKEN " y'\nc: http://me:pw9@h\n";
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *config, *hidden = lpo_node_list(a), *masked;
    struct lpo_err err = { 0 };

    (void)state;
    lpo_secrets_forget();
    unsetenv("HF_TOKEN");
    config = config_of(a, text);
    lpo_secrets_collect(a, config);
    masked = lpo_secrets_mask_config(a, config, hidden);
    assert_string_equal(lpo_node_at(masked, "b")->text, "x (hidden) y");
    assert_string_equal(lpo_node_at(masked, "c")->text, "http://me:(hidden)@h");
    assert_int_equal(lpo_secrets_restore(a, lpo_node_clone(a, masked), hidden, &err), LPO_E_CONFIG);
    assert_non_null(strstr(lpo_err_cause(&err), "'a.hf_token'"));
    setenv("HF_TOKEN", TOKEN, 1);
    setenv("URL_PASSWORD", "pw9", 1);
    err = (struct lpo_err){ 0 };
    assert_int_equal(lpo_secrets_restore(a, masked, hidden, &err), 0);
    assert_true(lpo_node_equal(masked, config));
    unsetenv("HF_TOKEN");
    unsetenv("URL_PASSWORD");
    lpo_secrets_forget();
}

static void a_command_names_variables(void **state)
{
    static const char *const argv[] = { "prog",
                                        "--token",
                                        "x y",
                                        "--api-key=z",
                                        "a" TOKEN "b",
                                        "-H",
                                        "Authorization: Bearer q",
                                        "--max-tokens",
                                        "8" };
    LPO_STR out = { 0 };

    (void)state;
    fill();
    lpo_secrets_add_command(&out, argv, sizeof argv / sizeof *argv);
    assert_string_equal(lpo_str_text(&out),
                        "prog --token \"$TOKEN\" --api-key=\"$API_KEY\" a\"$HF_TOKEN\"b -H "
                        "'Authorization: Bearer '\"$AUTHORIZATION\" --max-tokens 8");
    lpo_secrets_forget();
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, name_cases, check_name);
    UNIT_ROWS(&u, bytes_cases, check_bytes);
    UNIT_ROWS(&u, bytes_cases, pieces_are_masked_as_the_whole_is);
    UNIT_ROWS(&u, command_cases, check_command);
    for (size_t i = 0; i < sizeof plain_cases / sizeof *plain_cases; i++)
        unit_add(&u, plain_cases[i].value, check_plain, &plain_cases[i]);
    UNIT_ROWS(&u, override_cases, check_override);
    UNIT_TEST(&u, what_was_cut_is_hidden_too);
    UNIT_TEST(&u, config_is_masked_in_a_copy);
    UNIT_TEST(&u, a_masked_config_is_restored);
    UNIT_TEST(&u, a_command_names_variables);
    return unit_run(&u);
}
