//! Reads text files of limited size, and replaces files atomically.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Some editors put this before UTF-8 text; it is not part of the text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads a text file, without its byte order mark.
///
/// # Errors
/// The file cannot be read, has more than `bytes_max` bytes, or is not UTF-8; the error then has
/// line and column.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String> {
    let mut bytes = Vec::new();
    // A device or a pipe may have no end.
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let sentence = format!("the file has more than {bytes_max} bytes, the maximum");
        return Err(Error::new(ErrorKind::InvalidData, sentence));
    }
    let text = text_of(bytes).map_err(|(line, column)| {
        let sentence = format!("line {line}, column {column}: this is no text in UTF-8");
        Error::new(ErrorKind::InvalidData, sentence)
    })?;
    Ok(text)
}

/// Bytes as text, without a byte order mark; line and column of the first invalid byte otherwise.
pub(crate) fn text_of(bytes: Vec<u8>) -> std::result::Result<String, (u32, u32)> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() as u32 + 1, line.chars().count() as u32 + 1)
    })?;
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}

/// Replaces a file atomically: a concurrent reader, or a reader after a full disk or a crash, finds
/// either the complete old content or the complete new content.
///
/// # Errors
/// The file cannot be written; the old content is unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    // A symbolic link stays a link.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let kept = std::fs::metadata(&target).ok();
    if kept.as_ref().is_some_and(|kept| !kept.is_file()) {
        // Devices and pipes cannot be replaced by a rename. Opening a directory fails here.
        return OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    if kept.is_some() {
        // A user who may not write the file may not replace it.
        OpenOptions::new().append(true).open(&target)?;
    }
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Relaxed);
    // A short name, because the file's name may already have the maximal length.
    let beside = target.with_file_name(format!(".namdb-{}-{count}.new", std::process::id()));
    // `create_new` never writes into an existing file or link.
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&beside) {
        // The folder accepts no new file, so overwrite the existing one in place.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && kept.is_some() => {
            return std::fs::write(&target, bytes);
        }
        file => file?,
    };
    let written = (|| {
        if let Some(kept) = &kept {
            file.set_permissions(kept.permissions())?;
        }
        file.write_all(bytes)?;
        // Otherwise a crash could leave the name without its content.
        file.sync_all()?;
        std::fs::rename(&beside, &target)
    })();
    if written.is_err() {
        // A partial file is useless and takes space that may be short.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("namdb-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        folder
    }

    #[test]
    fn a_file_that_is_replaced_keeps_links_and_permissions_and_leaves_nothing_beside_it() {
        let folder = folder("replaced");
        let (path, link) = (folder.join("a.json"), folder.join("link"));
        replace(&path, b"old").expect("there is room");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("it is ours");
        symlink(&path, &link).expect("there is room");
        replace(&link, b"new").expect("there is room");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"new");
        assert!(link.is_symlink());
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 2);
        let long = folder.join("n".repeat(300));
        assert!(replace(&long, b"new").is_err(), "no file has such a name");
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 2);
        std::fs::remove_dir_all(folder).expect("it is ours");
    }

    #[test]
    fn what_is_no_regular_file_is_written_as_it_is() {
        replace(Path::new("/dev/null"), b"anything").expect("it takes all");
        assert!(replace(Path::new("/dev/full"), b"anything").is_err());
        assert!(replace(&std::env::temp_dir(), b"anything").is_err(), "it is a folder");
    }

    #[test]
    fn texts_have_an_end_and_no_mark_and_say_where_they_are_none() {
        let folder = folder("texts");
        let path = folder.join("a.json");
        replace(&path, b"\xef\xbb\xbf{}\n").expect("there is room");
        assert_eq!(read_text(&path, 100).expect("it is a text"), "{}\n");
        let told = read_text(&path, 5).expect_err("it has six").to_string();
        assert!(told.contains("more than 5 bytes"), "{told}");
        assert!(read_text(Path::new("/dev/zero"), 5).is_err());
        replace(&path, b"a\nb\xc3\xa4\xe4").expect("there is room");
        let told = read_text(&path, 100).expect_err("that is Latin-1").to_string();
        assert_eq!(told, "line 2, column 3: this is no text in UTF-8");
        std::fs::remove_dir_all(folder).expect("it is ours");
    }
}
