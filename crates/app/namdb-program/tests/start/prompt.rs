//! `namdb sql`.

use crate::process::{Started, run, text};

#[test]
fn a_server_that_does_not_answer_is_named() {
    let output = run(&["sql", "127.0.0.1:1"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("127.0.0.1:1") && said.contains("namdb start"), "{said}");
    let output = run(&["sql", "postgresql://a:b@127.0.0.1"]);
    assert!(text(&output.stderr).contains("no roles"));
}

#[test]
fn commands_of_the_prompt_need_no_statement() {
    let server = Started::new(&[]);
    let output = server.sql_with_input("\\timing\n\\x on\n\\x off\n\\?\n\\q\nnot reached;\n");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for line in ["Timing is on.", "Expanded display is on.", "\\dt           tables"] {
        assert!(printed.contains(line), "no `{line}` in {printed}");
    }
    let output = server.sql_with_input("\\nonsense\n");
    assert_eq!(output.status.code(), Some(1));
    let output = server.sql(&["-f", "/nowhere.sql"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nowhere.sql"));
}
