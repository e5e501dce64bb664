//! `namdb sql`.

use crate::process::{Started, run, text};

#[test]
fn a_server_that_does_not_answer_is_named() {
    let output = run(&["sql", "127.0.0.1:1"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("127.0.0.1:1") && said.contains("namdb start"), "{said}");
    let output = run(&["sql", "postgresql://a:%4@127.0.0.1"]);
    assert!(text(&output.stderr).contains("needs two digits"));
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

#[test]
fn statements_print_tables_tags_and_errors() {
    let server = Started::new(&[]);
    let script = "create table town (id int primary key, name varchar(20) not null);\n\
                  insert into town values (1, 'Ghent'), (2, 'a;b'); select *\nfrom town;\n\\dt\n\\d town\n";
    let output = server.sql_with_input(script);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let expected = "CREATE TABLE\nINSERT 0 2\n id | name\n----+-------\n  1 | Ghent\n  2 | a;b\n(2 rows)\n\n \
                    Schema | Name | Type\n--------+------+-------\n public | town | table\n(1 row)\n\n \
                    Column |         Type          | Nullable\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(printed.contains(" town_pkey | primary key\n"), "{printed}");
    let failed = server.sql(&["-c", "insert into town values (1, 'x')", "-c", "select 1"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(text(&failed.stdout), "", "the second statement does not run");
    let said = text(&failed.stderr);
    assert!(
        said.contains("ERROR:  duplicate key") && said.contains("DETAIL:  Key (id)=(1)"),
        "{said}"
    );
}
