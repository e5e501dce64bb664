//! The corpus changed at random: thousands of texts that nobody has thought of.

use crate::changes::{changed, changes, corpus, count, runner};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use sql::ErrorKind;

/// What ours takes PostgreSQL's parser reads, and what ours calls wrong in its form that refuses, but for a few.
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
    // Most changes make nonsense of a text.
    let enough = read * 200 > texts && refused * 2 > texts;
    assert!(enough, "{read} read and {refused} refused of {texts}");
    // `==`, two languages and none are right in form to it, and refused later.
    let few = unlike.len() * 50 <= texts.max(50) as usize;
    assert!(few, "its parser reads {} of {texts}:\n{}", unlike.len(), unlike.join("\n"));
}
