//! A witness as a graph for Graphviz.

use super::{Witness, words};
use crate::history::History;
use std::io::{self, Write};

/// Writes the witnesses as one graph, with a cluster per witness.
pub fn write_dot(
    history: &History,
    witnesses: &[&Witness],
    output: &mut dyn Write,
) -> io::Result<()> {
    writeln!(output, "digraph history {{")?;
    writeln!(output, "  rankdir=LR; fontname=\"sans-serif\";")?;
    writeln!(output, "  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];")?;
    writeln!(output, "  edge [fontname=\"sans-serif\", fontsize=11];")?;
    for (number, witness) in witnesses.iter().enumerate() {
        writeln!(output, "  subgraph cluster_{number} {{")?;
        writeln!(output, "    label={};", quoted(&super::title(witness)))?;
        for (place, &id) in witness.transactions.iter().enumerate() {
            let mut label =
                format!("T{}: {}\n", place + 1, words::transaction_in_words(history, id));
            for operation in words::operations_in_words(history, id, &witness.keys) {
                label.extend([&operation, "\n"]);
            }
            writeln!(output, "    t{number}_{place} [label={}];", quoted(&label))?;
        }
        for link in &witness.links {
            let (from, to, name) = (link.from, link.to, link.relation.name());
            let why = quoted(&link.why);
            writeln!(
                output,
                "    t{number}_{from} -> t{number}_{to} [label=\"{name}\", tooltip={why}];"
            )?;
        }
        writeln!(output, "  }}")?;
    }
    writeln!(output, "}}")
}

/// A quoted DOT string; `\l` at the end of a line aligns it left.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l"))
}
