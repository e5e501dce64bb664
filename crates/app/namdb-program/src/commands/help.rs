//! Layout of `--help` on a terminal: examples keep their columns, and no text is wrapped twice.
//!
//! The texts after the options are written in the sources, with examples in two columns and long
//! paragraphs. They are wrapped here at the terminal's width, so that clap does not wrap them
//! again.

use crate::bench::text::wrapped;
use clap::Command;
use rustix::termios::tcgetwinsize;

/// Maximal width of lines, also without a terminal.
const COLUMNS_MAX: usize = 100;
/// Minimal width of lines.
const COLUMNS_MIN: usize = 40;
/// An example's comment is placed beside the command if it has at least this much room.
const COMMENT_COLUMNS_MIN: usize = 24;
/// Lines indented by at least this much continue the comment of the line before.
const CONTINUED: usize = 12;
/// Indentation of continued commands, and of comments without room beside the command.
const INDENT: usize = 6;

/// A piece of a text.
enum Piece<'t> {
    Blank,
    /// A line that is not wrapped.
    Heading(&'t str),
    Paragraph(String),
    Example {
        command: &'t str,
        comment: String,
        column: usize,
    },
}

/// The command and its subcommands, with texts wrapped for this process's terminal.
pub fn laid_out(command: Command) -> Command {
    let columns = columns();
    lay_out_all(command.term_width(columns), columns)
}

fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let columns = said.or_else(seen).filter(|columns| *columns > 0);
    columns.unwrap_or(COLUMNS_MAX).clamp(COLUMNS_MIN, COLUMNS_MAX)
}

fn lay_out_all(command: Command, columns: usize) -> Command {
    let text = command.get_after_help().map(|text| lay_out(&text.to_string(), columns));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(|inner| lay_out_all(inner, columns))
}

fn lay_out(text: &str, columns: usize) -> String {
    let mut lines = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Blank => lines.push(String::new()),
            Piece::Heading(line) => lines.extend(wrapped(line, columns)),
            Piece::Paragraph(paragraph) => lines.extend(wrapped(&paragraph, columns)),
            Piece::Example { command, comment, column } => {
                lines.extend(example(command, &comment, column, columns));
            }
        }
    }
    lines.join("\n")
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match (line.trim(), pieces.last_mut()) {
            ("", _) => pieces.push(Piece::Blank),
            (more, Some(Piece::Example { comment, column, .. })) if indent >= CONTINUED => {
                if comment.is_empty() {
                    *column = indent;
                } else {
                    comment.push(' ');
                }
                comment.push_str(more);
            }
            (_, _) if indent > 0 => pieces.push(in_columns(line)),
            (more, Some(Piece::Paragraph(paragraph))) => {
                paragraph.push(' ');
                paragraph.push_str(more);
            }
            (heading, _) if heading.ends_with(':') => pieces.push(Piece::Heading(heading)),
            (begin, _) => pieces.push(Piece::Paragraph(begin.to_owned())),
        }
    }
    pieces
}

/// A line with a command and, after at least two spaces, its comment.
fn in_columns(line: &str) -> Piece<'_> {
    let command = line.trim();
    let Some(end) = command.find("  ") else {
        return Piece::Example { command, comment: String::new(), column: 0 };
    };
    let comment = command[end..].trim_start();
    let column = line.trim_end().len() - comment.len();
    Piece::Example { command: &command[..end], comment: comment.to_owned(), column }
}

fn example(command: &str, comment: &str, column: usize, columns: usize) -> Vec<String> {
    let mut lines = broken_command(command, columns);
    if comment.is_empty() {
        return lines;
    }
    let last = lines.last_mut().expect("a command has a line");
    let room = columns.saturating_sub(column);
    let is_beside =
        last.len() + 2 <= column && (room >= COMMENT_COLUMNS_MIN || comment.len() <= room);
    let (column, room) = match is_beside {
        true => (column, room),
        false => (INDENT, columns - INDENT),
    };
    let mut comment = wrapped(comment, room).into_iter();
    if is_beside {
        let first = comment.next().unwrap_or_default();
        *last = format!("{last:column$}{first}");
    }
    lines.extend(comment.map(|line| format!("{:column$}{line}", "")));
    lines
}

/// Breaks a command before its options, into lines that a shell joins.
fn broken_command(command: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::from(" ");
    for (number, part) in command.split(" --").enumerate() {
        let part = if number == 0 { part.to_owned() } else { format!("--{part}") };
        // Leaves room for a blank and a backslash.
        if number > 0 && line.len() + 1 + part.len() + 2 > columns {
            lines.push(line + " \\");
            line = " ".repeat(INDENT - 1);
        }
        line.push(' ');
        line.push_str(&part);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: [&str; 13] =
        ["B", "KiB", "MiB", "GiB", "TiB", "MB", "GB", "us", "ms", "s", "%", "seconds", "bytes"];
    const TEXT: &str = "\
Examples:
  namdb doctor                         this host by itself
  namdb doctor --cluster               what the cluster of namdb.toml needs of it, and which servers run
  namdb bench mine --design tuned.json --cluster namdb.toml --remote-calls 30
                                       calls are made where their rows are

The exit code is 0 if there is no problem, 1 if there is one, 2 if the file, of at most 100 MiB,
cannot be read.";

    #[test]
    fn comments_keep_their_column_and_paragraphs_are_wrapped_once() {
        let text = lay_out(TEXT, 72);
        assert_eq!(
            text,
            "\
Examples:
  namdb doctor                         this host by itself
  namdb doctor --cluster               what the cluster of namdb.toml
                                       needs of it, and which servers
                                       run
  namdb bench mine --design tuned.json --cluster namdb.toml \\
      --remote-calls 30                calls are made where their rows
                                       are

The exit code is 0 if there is no problem, 1 if there is one, 2 if the
file, of at most 100 MiB, cannot be read."
        );
        assert!(lay_out(TEXT, 100).lines().all(|line| line.len() <= 100));
    }

    #[test]
    fn numbers_stay_with_their_units() {
        let numbers = wrapped("a memory server has 16 MiB at least, and 12.5 s to start", 22);
        assert_eq!(numbers, ["a memory server has", "16 MiB at least, and", "12.5 s to start"]);
    }

    /// Checks all texts of the program on terminals of usual widths.
    #[test]
    fn no_help_has_lines_that_are_too_long_or_short() {
        for columns in [80, 100] {
            let mut command = lay_out_all(crate::program::command().term_width(columns), columns);
            command.build();
            check(&mut command, columns);
        }
    }

    fn check(command: &mut Command, columns: usize) {
        let help = command.render_help().to_string();
        let name = command.get_name().to_owned();
        let lines: Vec<&str> = help.lines().collect();
        for line in &lines {
            assert!(line.chars().count() <= columns, "{name}: {line:?} is too long");
        }
        for pair in lines.windows(2) {
            let number = pair[0].rsplit(' ').next().is_some_and(|word| word.parse::<f64>().is_ok());
            let unit = pair[1].trim().split([' ', ',', '.', ';']).next();
            let is_unit = unit.is_some_and(|unit| UNITS.contains(&unit));
            assert!(!number || !is_unit, "{name}: a number is apart from its unit: {pair:?}");
        }
        for inner in command.get_subcommands_mut() {
            check(inner, columns);
        }
    }
}
