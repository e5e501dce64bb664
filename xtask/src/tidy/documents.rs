//! Documents: links lead somewhere, the pages of the reading path are short, and their figures
//! are generated.
//!
//! A measured figure on a page of the reading path is between two markers, and the first names the
//! command that writes it again:
//! ```text
//! <!-- generated: cargo xtask times -->
//! ...
//! <!-- end -->
//! ```

use super::Violation;
use super::tree::{File, Tree};

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";
/// The commands that print or write what is between markers.
const COMMANDS: [&str; 5] = [
    "cargo run --release -- demo",
    "cargo xtask counts",
    "cargo xtask nightly",
    "cargo xtask soft-roce",
    "cargo xtask times",
];
/// The pages that a newcomer reads first, and how many lines each may have.
const READING_PATH: [(&str, usize); 3] =
    [("README.md", 150), ("docs/architecture.md", 200), ("docs/performance.md", usize::MAX)];
/// A number before one of these is a measured figure.
const UNITS: [&str; 7] =
    ["us", "ns", "ms", "per second", "transactions per second", "instructions", "transactions/s"];

/// Checks every document.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.files().iter().filter(|file| is_document(&file.path));
    documents.flat_map(|file| [links(tree, file), generated(file), short(file)]).flatten().collect()
}

/// Whether a file is a page for people: all of `docs` and the pages at the root.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'))
}

/// Links to files and headings of this repository that are not there.
fn links(tree: &Tree, file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in prose(&file.text) {
        for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { file.path.clone() } else { resolved(&file.path, path) };
            let what = match tree.file(&path) {
                Some(page) if !anchor.is_empty() && !has_heading(&page.text, anchor) => {
                    format!("{path} has no heading for `#{anchor}`")
                }
                None if path.ends_with(".md") => format!("there is no {path}"),
                _ => continue,
            };
            violations.push(Violation::new(&file.path, number, what));
        }
    }
    violations
}

/// Lines outside code blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence && !line.starts_with("    ")).then_some((index + 1, line))
    })
}

/// The path that `target` means on the page `from`.
fn resolved(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Whether a heading of the page has this anchor, by the rule of code hosts.
fn has_heading(text: &str, anchor: &str) -> bool {
    prose(text).filter(|(_, line)| line.starts_with('#')).any(|(_, line)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).eq(anchor.chars())
    })
}

/// Blocks between markers: each ends, and names a known command. Figures are in such blocks.
fn generated(file: &File) -> Vec<Violation> {
    let is_on_path = READING_PATH.iter().any(|(path, _)| *path == file.path);
    let mut violations = Vec::new();
    let mut begun = None;
    for (index, line) in file.text.lines().enumerate() {
        let mut tell = |what: String| violations.push(Violation::new(&file.path, index + 1, what));
        if let Some(rest) = line.strip_prefix(BEGIN) {
            let command = rest.trim_end_matches("-->").trim();
            if !COMMANDS.contains(&command) {
                tell(format!("`{command}` is not in the list of xtask/src/tidy/documents.rs"));
            }
            begun = Some(index + 1);
        } else if line == END {
            if begun.take().is_none() {
                tell(format!("`{END}` without a beginning"));
            }
        } else if is_on_path && begun.is_none() && has_figure(line) {
            tell(format!("put the figure between `{BEGIN}COMMAND -->` and `{END}`"));
        }
    }
    if let Some(line) = begun {
        violations.push(Violation::new(&file.path, line, format!("`{END}` is missing")));
    }
    violations
}

/// Whether a line has a number before a unit of what is measured.
fn has_figure(line: &str) -> bool {
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
    };
    line.match_indices(' ').any(|(space, _)| {
        let number = line[..space].rsplit([' ', '|', '(']).next().unwrap_or("");
        let rest = &line[space + 1..];
        let is_unit = |unit: &&str| {
            rest.strip_prefix(*unit)
                .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
        };
        is_number(number) && UNITS.iter().any(is_unit)
    })
}

/// Pages of the reading path that have grown.
fn short(file: &File) -> Vec<Violation> {
    let count = file.text.lines().count();
    let limit = READING_PATH.iter().find(|(path, _)| *path == file.path);
    limit
        .filter(|(_, count_max)| count > *count_max)
        .map(|(path, count_max)| {
            let what = format!("{count} lines, at most {count_max}: a newcomer reads this page");
            Violation::new(path, count, what)
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn links_to_pages_and_headings_that_are_there_satisfy() {
        let page = ("docs/a.md", "# What `a` is, briefly\n");
        let links =
            "[a](docs/a.md) [b](docs/a.md#what-a-is-briefly) [c](https://example.org/c.md)\n";
        assert_eq!(told(&[page, ("README.md", links)]), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_caught() {
        let found = told(&[("docs/b/c.md", "[a](../a.md) [d](#d)\n")]);
        assert_eq!(found, ["there is no docs/a.md", "docs/b/c.md has no heading for `#d`"]);
    }

    #[test]
    fn links_in_code_are_text() {
        assert_eq!(told(&[("README.md", "```\n[a](a.md)\n```\n    [a](a.md)\n")]), [""; 0]);
    }

    #[test]
    fn a_figure_outside_markers_is_caught_on_the_reading_path_alone() {
        let text = "A read takes 19.1 us.\n";
        assert_eq!(told(&[("README.md", text)]).len(), 1);
        assert_eq!(told(&[("docs/limits.md", text)]), [""; 0]);
        let marked = format!("{BEGIN}cargo xtask times -->\n{text}{END}\n");
        assert_eq!(told(&[("README.md", &marked)]), [""; 0]);
    }

    #[test]
    fn a_word_that_begins_like_a_unit_is_no_figure() {
        assert_eq!(told(&[("README.md", "2 users, 64 MiB, at 8 messages\n")]), [""; 0]);
        assert_eq!(told(&[("README.md", "| 1,200 per second |\n")]).len(), 1);
    }

    #[test]
    fn markers_without_end_or_with_an_unknown_command_are_caught() {
        assert_eq!(told(&[("docs/a.md", "<!-- generated: cargo xtask times -->\n")]).len(), 1);
        let unknown = "<!-- generated: by hand -->\n<!-- end -->\n";
        assert_eq!(told(&[("docs/a.md", unknown)]).len(), 1);
        assert_eq!(told(&[("docs/a.md", "<!-- end -->\n")]).len(), 1);
    }

    #[test]
    fn a_page_that_has_grown_is_caught() {
        assert_eq!(told(&[("README.md", &"a\n".repeat(151))]).len(), 1);
        assert_eq!(told(&[("README.md", &"a\n".repeat(150))]), [""; 0]);
    }
}
