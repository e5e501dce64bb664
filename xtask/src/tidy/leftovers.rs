//! Leftovers of unfinished work: stubs, prints, notes to oneself.

use super::Violation;
use super::lexer::Views;
use super::tree::{File, Tree, closing, line_of, words};

/// Macros of unfinished code.
const STUBS: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Macros that write to a console, which the user of a library may not have.
const PRINTS: [&str; 4] = ["println", "eprintln", "print", "eprint"];

/// Words of unfinished comments, and whether their case matters.
const NOTES: [(&str, bool); 4] =
    [("FIXME", true), ("XXX", true), ("for now", false), ("placeholder", false)];

/// Searches code and comments, each for its own kind.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let binary = BinaryModules::read(tree);
    for (file, views) in tree.rust() {
        let mut add = |offset: usize, what: String| {
            violations.push(Violation::new(&file.path, line_of(&file.text, offset), what));
        };
        for name in STUBS {
            for offset in macro_calls(&views.code, name) {
                add(offset, format!("`{name}!` is unfinished work, finish it"));
            }
        }
        if is_library(file) && !binary.contains(file) {
            let tests = test_modules(&views.code);
            for name in PRINTS {
                for offset in macro_calls(&views.code, name) {
                    if !tests.iter().any(|(start, end)| (*start..*end).contains(&offset)) {
                        add(offset, format!("a library does not `{name}!`, return or trace it"));
                    }
                }
            }
        }
        for offset in attributes(views) {
            add(offset, "a skipped test or dead code, fix it or remove it".to_string());
        }
        for (note, case_matters) in NOTES {
            for offset in notes(&views.comments, note, case_matters) {
                add(
                    offset,
                    format!("a comment says `{note}`, do it now or decide that it is right"),
                );
            }
        }
    }
    violations
}

fn macro_calls<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    words(code, name).filter(move |offset| code[offset + name.len()..].starts_with('!'))
}

/// Attributes that hide a test or unused code.
fn attributes(views: &Views) -> Vec<usize> {
    let code = &views.code;
    let ignored = code.match_indices("#[ignore").map(|(offset, _)| offset);
    let dead = words(code, "allow").filter(|&offset| {
        let open = offset + "allow".len();
        let arguments = closing(code, open).map(|close| &code[open..close]);
        code[open..].starts_with('(')
            && arguments.is_some_and(|arguments| words(arguments, "dead_code").next().is_some())
    });
    ignored.chain(dead).collect()
}

fn notes(comments: &str, note: &str, case_matters: bool) -> Vec<usize> {
    // Lower-casing ASCII alone keeps the offsets.
    let lowered = if case_matters { comments.to_string() } else { comments.to_ascii_lowercase() };
    // A word before a parenthesis names a function.
    let is_prose = |offset: &usize| !lowered[offset + note.len()..].starts_with('(');
    words(&lowered, note).filter(is_prose).collect()
}

/// Where items under `#[cfg(test)]` and the like begin and end.
pub fn test_modules(code: &str) -> Vec<(usize, usize)> {
    let mut modules = Vec::new();
    for (start, _) in code.match_indices("#[cfg(") {
        let Some(end) = closing(code, start + 1) else {
            continue;
        };
        let condition = &code[start..end];
        if words(condition, "test").next().is_none() || words(condition, "not").next().is_some() {
            continue;
        }
        let item = code[end..].find(['{', ';']).map(|offset| end + offset);
        modules.extend(item.and_then(|open| Some((start, closing(code, open)?))));
    }
    modules
}

fn is_library(file: &File) -> bool {
    let mut folders = file.path.split('/');
    folders.next() == Some("crates") && folders.nth(2) == Some("src")
}

/// The modules of programs, which may print: the product's, the kill test, the searches for
/// mutants, and the suite.
struct BinaryModules {
    prefixes: Vec<String>,
}

impl BinaryModules {
    const FOLDERS: [&str; 7] = [
        "crates/app/namdb-program/src/",
        "crates/app/namdb-lab/src/",
        "crates/app/kill_test/src/",
        "crates/proving/mutants/src/",
        "crates/proving/portfolio/src/",
        "crates/proving/mutation/src/",
        "crates/proving/fabric_conformance/src/",
    ];

    /// A program is its `main.rs` and the modules that this file declares.
    fn read(tree: &Tree) -> BinaryModules {
        let mut prefixes = Vec::new();
        for folder in Self::FOLDERS {
            Self::read_program(tree, folder, &mut prefixes);
        }
        BinaryModules { prefixes }
    }

    fn read_program(tree: &Tree, folder: &str, prefixes: &mut Vec<String>) {
        let main = format!("{folder}main.rs");
        let views = tree.file(&main).and_then(|file| file.rust.as_ref());
        prefixes.extend([main, format!("{folder}bin/")]);
        if let Some(views) = views {
            for offset in words(&views.code, "mod") {
                let rest = views.code[offset + "mod".len()..].trim_start();
                let name = rest.split([';', '{', ' ', '\n']).next().unwrap_or_default();
                prefixes.push(format!("{folder}{name}.rs"));
                prefixes.push(format!("{folder}{name}/"));
            }
        }
    }

    fn contains(&self, file: &File) -> bool {
        self.prefixes.iter().any(|prefix| file.path.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    const LIBRARY: &str = "crates/engine/txn/src/commit.rs";

    #[test]
    fn stubs_are_caught_everywhere() {
        assert_eq!(found(LIBRARY, "fn f() {\n    todo!()\n}\n"), [2]);
        assert_eq!(found("xtask/src/main.rs", "fn f() { unimplemented!(\"a\") }\n"), [1]);
        assert_eq!(found("crates/engine/txn/tests/a.rs", "fn f() { dbg!(1); }\n"), [1]);
        assert_eq!(found(LIBRARY, "// todo!()\nf(\"dbg!(1)\"); my_todo!();\n"), NONE);
    }

    #[test]
    fn prints_are_caught_in_libraries_only() {
        let text = "fn f() { println!(\"a\"); eprint!(\"b\"); }\n";
        assert_eq!(found(LIBRARY, text), [1, 1]);
        assert_eq!(found("crates/engine/txn/tests/a.rs", text), NONE);
        assert_eq!(found("crates/engine/txn/examples/a.rs", text), NONE);
        assert_eq!(found("crates/app/namdb-program/src/main.rs", text), NONE);
        assert_eq!(found("crates/app/namdb-program/src/session.rs", text), [1, 1]);
        assert_eq!(
            found(LIBRARY, "#[cfg(test)]\nmod tests { fn f() { println!(\"a\"); } }\n"),
            NONE
        );
        assert_eq!(
            found(LIBRARY, "#[cfg(not(test))]\nmod a { fn f() { println!(\"a\"); } }\n"),
            [2]
        );
    }

    #[test]
    fn modules_of_the_program_may_print() {
        let tree = Tree::of(&[
            ("crates/app/namdb-program/src/main.rs", "mod commands;\nfn main() {}\n"),
            ("crates/app/namdb-program/src/commands/load.rs", "fn f() { println!(\"a\"); }\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn hiding_attributes_are_caught() {
        assert_eq!(found(LIBRARY, "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n"), [2]);
        assert_eq!(found(LIBRARY, "#![allow(unused, dead_code)]\n"), [1]);
        assert_eq!(found(LIBRARY, "#[allow(unused_imports)]\n// #[ignore]\n"), NONE);
    }

    #[test]
    fn notes_are_caught_in_comments() {
        assert_eq!(
            found(LIBRARY, "// FIXME: later\n/* XXX */\n/// This is enough For now.\n"),
            [1, 2, 3]
        );
        assert_eq!(found(LIBRARY, "//! A Placeholder.\n"), [1]);
        assert_eq!(
            found(LIBRARY, "// wait for nowhere, for now()\nlet placeholder = \"XXX\";\n"),
            NONE
        );
    }
}
