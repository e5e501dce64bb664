//! Compares both parsers on random changes of the corpus.

use crate::changes::{changed, changes, corpus, count, runner};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use sql::ErrorKind;

/// PostgreSQL's parser accepts every text that ours accepts, and refuses nearly all texts with what
/// ours reports as a syntax error.
#[test]
fn postgresqls_parser_agrees_on_changed_texts() {
    let corpus = corpus(&["accepted", "rejected", "outside", "rejected_when_run"]);
    let inputs = (prop::sample::select(corpus), changes());
    let mut runner = runner(1);
    let (mut read, mut refused) = (0, 0);
    let (mut taken, mut unlike) = (Vec::new(), Vec::new());
    let texts = count(20_000);
    for _ in 0..texts {
        let (case, changes) = inputs.new_tree(&mut runner).expect("a text is drawn").current();
        let case = crate::corpus::Case { text: changed(&case.text, &changes), ..case };
        let theirs = grammar::read(&case.text);
        match (case.read(), theirs) {
            (Ok(_), Err(error)) => taken.push(format!("{}\n{}\n{error}\n", case.name, case.text)),
            (Ok(_), Ok(_)) => read += 1,
            (Err(_), Err(_)) => refused += 1,
            (Err(error), Ok(_)) if error.first().kind == ErrorKind::Syntax => {
                unlike.push(format!("{}\n{}\n{error}\n", case.name, case.text));
            }
            (Err(_), Ok(_)) => {}
        }
    }
    assert!(
        taken.is_empty(),
        "its parser refuses {} of {texts}:\n{}",
        taken.len(),
        taken.join("\n")
    );
    // Most changes give texts with syntax errors.
    let enough = read * 200 > texts && refused * 2 > texts;
    assert!(enough, "{read} read and {refused} refused of {texts}");
    // PostgreSQL's parser accepts `==`, and a routine with two languages or none; the server
    // refuses them later.
    let few = unlike.len() * 50 <= texts.max(50) as usize;
    assert!(few, "its parser reads {} of {texts}:\n{}", unlike.len(), unlike.join("\n"));
}
