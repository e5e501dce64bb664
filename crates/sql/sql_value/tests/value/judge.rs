//! Evaluates expressions in PostgreSQL, many in one session.

use crate::server::Server;

/// A function that returns `0=text`, `1=` for null, or `! code message`. `OFFSET 0` keeps
/// PostgreSQL from evaluating the expression twice.
const JUDGE: &str = "\
SET client_min_messages = error;
CREATE FUNCTION judge(expression text, source text) RETURNS text LANGUAGE plpgsql AS $judge$
DECLARE answer text; message text;
BEGIN
    EXECUTE 'SELECT concat(num_nulls(x), ''='', x) FROM (SELECT ' || expression || ' AS x ' || source || ' OFFSET 0) q'
        INTO answer;
    RETURN translate(answer, E'\\n\\r', '??');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
    RETURN translate('! ' || SQLSTATE || ' ' || message, E'\\n\\r', '??');
END $judge$;
";

/// Returns PostgreSQL's results. Each case is an expression and its source: nothing, or `FROM ...`.
pub fn answers(server: &Server, before: &str, cases: &[(String, String)]) -> Vec<String> {
    let mut script = format!("{JUDGE}{before}\n\\echo @@begin\n");
    for (expression, source) in cases {
        script
            .push_str(&format!("SELECT judge($case${expression}$case$, $case${source}$case$);\n"));
    }
    let said = server.psql(&script);
    let (preparation, answers) = said.split_once("@@begin\n").expect("the session begins");
    assert!(!preparation.contains("ERROR"), "{preparation}");
    let answers: Vec<String> = answers.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), cases.len(), "one line for each case: {:?}", answers.last());
    answers
}
