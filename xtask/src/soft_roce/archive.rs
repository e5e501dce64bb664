//! The archive that a kernel unpacks into memory at boot: `cpio` in its "new ASCII" form.
//!
//! ```text
//! header: "070701", then 13 numbers of 8 hexadecimal digits:
//!         inode, mode, owner, group, links, time, bytes, 4 device numbers, bytes of the name,
//!         checksum (0)
//! then the name with a zero behind it, and the content, each padded to a multiple of 4 bytes
//! ```

/// Concatenated files.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

const FILE_MODE: u32 = 0o100_755;
const FOLDER_MODE: u32 = 0o040_755;

impl Archive {
    /// Adds a folder; its parents must exist.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER_MODE, &[]);
    }

    /// Adds an executable file.
    pub fn file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, FILE_MODE, content);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.inode += 1;
        let content_bytes = u32::try_from(content.len()).expect("files of a guest are small");
        let name_bytes = name.len() as u32 + 1;
        let numbers = [self.inode, mode, 0, 0, 1, 0, content_bytes, 0, 0, 0, 0, name_bytes, 0];
        self.bytes.extend_from_slice(b"070701");
        for number in numbers {
            self.bytes.extend_from_slice(format!("{number:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.fill_up();
        self.bytes.extend_from_slice(content);
        self.fill_up();
    }

    fn fill_up(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_headers_names_and_contents_on_multiples_of_four() {
        let mut archive = Archive::default();
        archive.folder("bin");
        archive.file("init", b"12345");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let header = |at: usize| std::str::from_utf8(&bytes[at..at + 110]).expect("ASCII");
        // The folder: header of 110 bytes, name of 4.
        assert_eq!(&header(0)[..22], "07070100000001000041ED");
        assert_eq!(&bytes[110..114], b"bin\0");
        let file = 116;
        assert_eq!(&header(file)[54..62], "00000005", "bytes of the content");
        assert_eq!(&header(file)[94..102], "00000005", "bytes of the name");
        assert_eq!(&bytes[file + 110..file + 115], b"init\0");
        assert_eq!(&bytes[file + 116..file + 121], b"12345");
    }
}
