//! The text of the workspace in memory, which every check reads.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::lexer::{self, Views, is_word};

/// Directories without text of ours. Cargo's own are recognised by their `CACHEDIR.TAG` instead,
/// because they may have any name.
const SKIPPED: [&str; 3] = [".git", "papers", "node_modules"];

/// Ends of the names of files to read. `run` is the script of the continuous integration.
const READ: [&str; 9] = [".rs", ".toml", ".md", ".sh", ".sql", ".slt", ".yml", ".yaml", ".ci/run"];

/// All text files, sorted by path.
pub struct Tree {
    files: Vec<File>,
}

/// One text file.
pub struct File {
    /// From the workspace root, with `/`.
    pub path: String,
    pub text: String,
    /// For Rust files: the text split into code, comments and literals.
    pub rust: Option<Views>,
}

impl Tree {
    /// Reads every text file below `root`.
    pub fn read(root: &Path) -> Result<Tree> {
        let mut files = Vec::new();
        // A list of directories still to read, rather than recursion.
        let mut pending = vec![String::new()];
        while let Some(folder) = pending.pop() {
            let path = root.join(&folder);
            let entries = fs::read_dir(&path).with_context(|| format!("read {folder:?}"))?;
            for entry in entries {
                let entry = entry.with_context(|| format!("read {folder:?}"))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let kind = entry.file_type().with_context(|| format!("look at {name:?}"))?;
                let child =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                let is_cache = entry.path().join("CACHEDIR.TAG").exists();
                if kind.is_dir() && !is_cache && !SKIPPED.contains(&name.as_str()) {
                    pending.push(child);
                } else if kind.is_file() && READ.iter().any(|end| child.ends_with(end)) {
                    let bytes = fs::read(entry.path()).with_context(|| format!("read {child}"))?;
                    files.push(File::new(&child, &String::from_utf8_lossy(&bytes)));
                }
            }
        }
        files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(Tree { files })
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| File::new(path, text)).collect() }
    }

    pub fn files(&self) -> &[File] {
        &self.files
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files, each with its views.
    pub fn rust(&self) -> impl Iterator<Item = (&File, &Views)> {
        self.files.iter().filter_map(|file| file.rust.as_ref().map(|views| (file, views)))
    }
}

impl File {
    fn new(path: &str, text: &str) -> File {
        let rust = path.ends_with(".rs").then(|| lexer::split(text));
        File { path: path.to_string(), text: text.to_string(), rust }
    }
}

/// The line of a byte offset, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
}

/// The offsets of `word` as a whole word.
pub fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(offset, _)| offset).filter(move |&offset| {
        let before = offset.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(offset + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The offset of the bracket that closes the one at `open`; the text must be code alone.
pub fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(offset);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_alone() {
        let found: Vec<usize> = words("unsafe unsafe_code an_unsafe (unsafe)", "unsafe").collect();
        assert_eq!(found, [0, 30]);
    }

    #[test]
    fn brackets_close_where_they_match() {
        assert_eq!(closing("f(a[1], {b}) + (c)", 1), Some(11));
        assert_eq!(closing("{ never", 0), None);
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!(line_of("a\nb\nc", 0), 1);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
