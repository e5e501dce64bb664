//! The files in which a Linux kernel tells what it is doing.

/// Files of a host, or in tests of one that is told of.
pub trait Files {
    /// The text of a file without white space around it, if it can be read.
    fn text(&self, path: &str) -> Option<String>;

    /// The names in a folder, in order; none if it cannot be read.
    fn names(&self, folder: &str) -> Vec<String>;

    /// The number that is all of a file.
    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}

/// This host.
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

/// A host of which the whole truth is told: paths with texts.
#[cfg(test)]
pub struct Told(pub &'static [(&'static str, &'static str)]);

#[cfg(test)]
impl Files for Told {
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
