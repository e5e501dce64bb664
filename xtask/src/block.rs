//! Generated blocks of documents: the lines between `<!-- generated: COMMAND -->` and
//! `<!-- end -->`.

use std::path::Path;

use anyhow::{Context, Result};

/// Replaces the text of the block that `command` generates.
pub fn write(root: &Path, file: &str, command: &str, text: &str) -> Result<()> {
    let path = root.join(file);
    let before = std::fs::read_to_string(&path).with_context(|| format!("read {file}"))?;
    let after = replaced(&before, command, text)
        .with_context(|| format!("{file} has no block that `{command}` generates"))?;
    std::fs::write(&path, after).with_context(|| format!("write {file}"))
}

fn replaced(document: &str, command: &str, text: &str) -> Option<String> {
    let marker = format!("<!-- generated: {command} -->\n");
    let start = document.find(&marker)? + marker.len();
    let end = start + document[start..].find("<!-- end -->")?;
    Some(format!("{}{}\n{}", &document[..start], text.trim_end(), &document[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_the_rest_is_kept() {
        let page = "a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n";
        let new = replaced(page, "x", "new\n");
        assert_eq!(new.as_deref(), Some("a\n<!-- generated: x -->\nnew\n<!-- end -->\nb\n"));
        assert_eq!(replaced(page, "y", "new"), None);
        assert_eq!(replaced("<!-- generated: x -->\nopen", "x", "new"), None);
    }
}
