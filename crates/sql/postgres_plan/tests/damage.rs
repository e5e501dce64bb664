//! No file makes the parser panic: tests plans with lost, changed and doubled characters, and texts
//! that are not plans.

use postgres_plan::{Expression, Origin, read};
use proptest::prelude::*;

fn plans() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nodes");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
        .collect();
    paths.sort();
    assert!(paths.len() > 40, "the plans of all nodes are there");
    paths.iter().map(|path| std::fs::read_to_string(path).expect("it is text")).collect()
}

/// Damage at one position of a plan.
#[derive(Clone, Debug)]
enum Damage {
    /// Removes this many characters.
    Lost(usize),
    /// Doubles this many characters.
    Twice(usize),
    /// Inserts a text.
    Put(String),
}

fn damage() -> impl Strategy<Value = Damage> {
    let pieces = [
        "<",
        ">",
        "&",
        "'",
        "(",
        ")",
        "((",
        "$0",
        "$1",
        "::",
        "<Plan>",
        "</Plan>",
        "<Plans>",
        "<Item>",
        " AND ",
        "CASE",
        "(SubPlan 1)",
        "[",
        "NOT ",
        "\u{e4}",
        "\"",
        "&amp;",
        "9999999999999999999999",
    ];
    prop_oneof![
        (1..60_usize).prop_map(Damage::Lost),
        (1..400_usize).prop_map(Damage::Twice),
        prop::sample::select(pieces.to_vec()).prop_map(|piece| Damage::Put(piece.to_owned())),
        ".{0,4}".prop_map(Damage::Put),
    ]
}

fn damaged(plan: &str, damages: &[(f64, Damage)]) -> String {
    let mut characters: Vec<char> = plan.chars().collect();
    for (place, damage) in damages {
        let at = (place * characters.len() as f64) as usize;
        let until = |count: usize| (at + count).min(characters.len());
        let (end, between): (usize, Vec<char>) = match damage {
            Damage::Lost(count) => (until(*count), Vec::new()),
            Damage::Twice(count) => {
                let piece = &characters[at..until(*count)];
                (until(*count), [piece, piece].concat())
            }
            Damage::Put(text) => (at, text.chars().collect()),
        };
        characters.splice(at..end, between);
    }
    characters.into_iter().collect()
}

fn origin() -> Origin {
    Origin { file: "damaged.xml".to_owned(), statement: "damaged".to_owned(), parameters: 2 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_plans_are_read_or_refused(
        index in any::<prop::sample::Index>(),
        damages in prop::collection::vec((0.0..1.0, damage()), 1..6),
    ) {
        let plans = plans();
        let text = damaged(&plans[index.index(plans.len())], &damages);
        if let Err(error) = read(&text, &origin()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}") {
        let _ = read(&text, &origin());
        let _ = Expression::parse(&text);
    }

    /// Printing a parsed expression and parsing it again gives the same expression.
    #[test]
    fn expressions_keep_their_meaning(text in "[a-c$1-3()+=' ,.:]{0,24}|\\((a|\\$1|b\\.c|f\\(a\\)) (=|<|AND|\\+) (NULL|true|'x'::text)\\)") {
        if let Ok(expression) = Expression::parse(&text) {
            let written = expression.to_string();
            prop_assert_eq!(Expression::parse(&written), Ok(expression), "{}", written);
        }
    }
}
