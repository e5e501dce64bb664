//! The kernel's files about the state of the host.

/// The files of a host, or of an invented host in tests.
pub trait Files {
    /// The trimmed content of a file; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;

    /// The sorted names in a folder; empty if it cannot be read.
    fn names(&self, folder: &str) -> Vec<String>;

    /// The number in a file that contains nothing else.
    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}

/// The files of this host.
pub struct Host;

impl Files for Host {
    fn text(&self, path: &str) -> Option<String> {
        Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// An invented host that has only these files: paths with contents.
#[cfg(test)]
pub struct FakeFiles(pub &'static [(&'static str, &'static str)]);

#[cfg(test)]
impl Files for FakeFiles {
    fn text(&self, path: &str) -> Option<String> {
        let (_, text) = self.0.iter().find(|(told, _)| *told == path)?;
        Some(text.trim().to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside = self.0.iter().filter_map(|(path, _)| path.strip_prefix(folder));
        let names = inside.filter_map(|path| path.strip_prefix('/')?.split('/').next());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}
