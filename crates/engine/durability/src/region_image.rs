//! The image of a memory server's region: written when the server ends, read when it starts again.
//!
//! ```text
//! byte | header   | bytes | meaning
//!    0 | magic    |     8 | "namdbIMG"
//!    8 | format   |     4 | 1; 2 if the server has replicas of other regions
//!   12 | checksum |     4 | CRC-32 of the text; begins the checksum of each piece
//!   16 | length   |     8 | bytes of the text
//!   24 | text     |       | the fields of `ImageHead` as JSON
//!
//! byte | piece    | bytes | meaning
//!    0 | offset   |     8 | in the region, and behind it in those of its replicas;
//!      |          |       | 2^64 - 2: the state of the services; 2^64 - 1: the end
//!    8 | length   |     4 | bytes of the content
//!   12 | checksum |     4 | CRC-32 of the header's checksum, offset, length and content
//!   16 | content  |       | bytes of the region; at the end the number of pieces before it
//! ```
//!
//! Pieces of zeros are left out. The file gets its name when it is complete and synced, so an image
//! is there as a whole or not at all. While a database runs on what an image had, the image has the
//! name `opened`: if the server then ends without writing another one, that is noticed.

use crate::error::{DurabilityError, Result};
use serde::{Deserialize, Serialize};
use storage::{Directory, Disk, File};

/// The name of a complete image.
pub const IMAGE_NAME: &str = "image";
/// The name of an image that is being written.
const NEW_NAME: &str = "image.new";
/// The name of the last image while a database runs that began with it; without content if the
/// database is new.
pub const OPENED_NAME: &str = "opened";

const MAGIC: [u8; 8] = *b"namdbIMG";
const FORMAT: u32 = 1;
/// Of images with replicas.
const FORMAT_OF_REPLICAS: u32 = 2;
const FORMAT_AT: usize = 8;
const CHECKSUM_AT: usize = 12;
const LENGTH_AT: usize = 16;
const TEXT_AT: usize = 24;

const PIECE_LENGTH_AT: usize = 8;
const PIECE_CHECKSUM_AT: usize = 12;
const PIECE_HEADER_BYTES: usize = 16;
const SERVICES: u64 = u64::MAX - 1;
const END: u64 = u64::MAX;

/// Largest text of a header that is read.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 20;

const _: () = {
    assert!(FORMAT_AT == MAGIC.len() && CHECKSUM_AT == FORMAT_AT + 4);
    assert!(LENGTH_AT == CHECKSUM_AT + 4 && TEXT_AT == LENGTH_AT + 8);
    assert!(PIECE_CHECKSUM_AT == PIECE_LENGTH_AT + 4);
    assert!(PIECE_HEADER_BYTES == PIECE_CHECKSUM_AT + 4);
};

/// Whose region an image has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ImageHead {
    /// The cluster's id.
    pub cluster: u64,
    /// The number of the memory server.
    pub server: u16,
    /// The layout of the region's contents, [`layout::region::FORMAT_VERSION`].
    pub layout: u64,
    /// The size of its region.
    pub region_bytes: u64,
    /// The bytes of the region that were ever used; all others are zero.
    pub used_bytes: u64,
    /// The root of the cluster's database, as the registry had it.
    pub root: serde_json::Value,
    /// More about a server with replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<ReplicasHead>,
}

/// The part of a header that a server with replicas of other regions adds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReplicasHead {
    /// The sizes of these regions: the offsets of each begin where the one before ends.
    pub bytes: Vec<u64>,
    /// The identity of the server's process as a member.
    pub identity: u64,
    /// The epoch of the cluster from which on the server was no member.
    pub epoch: u64,
    /// Whether the registry has confirmed that.
    pub is_certain: bool,
}

impl ImageHead {
    /// Bytes of all regions that the server has.
    fn total_bytes(&self) -> u64 {
        self.region_bytes + self.replicas.iter().flat_map(|it| &it.bytes).sum::<u64>()
    }

    fn format(&self) -> u32 {
        if self.replicas.is_some() { FORMAT_OF_REPLICAS } else { FORMAT }
    }
}

/// A part of an image.
#[derive(PartialEq, Eq, Debug)]
pub enum Piece {
    /// The state of the memory server's services, which is not in the region.
    Services(Vec<u8>),
    /// Bytes at an offset of the region.
    Memory(u64, Vec<u8>),
}

/// Writes an image.
pub struct ImageWriter<'a, D: Disk> {
    directory: &'a Directory<D>,
    file: File<D>,
    /// The header's checksum.
    seed: u32,
    buffer: Vec<u8>,
    written: u64,
    pieces: u64,
}

impl<'a, D: Disk> ImageWriter<'a, D> {
    /// Begins an image in the directory of a memory server.
    ///
    /// # Errors
    /// The disk refuses it.
    pub async fn create(directory: &'a Directory<D>, head: &ImageHead) -> Result<Self> {
        if has(directory, NEW_NAME).await? {
            directory.remove(NEW_NAME).await?;
        }
        let text = serde_json::to_vec(head).expect("a head is made of texts and numbers");
        let seed = crc32fast::hash(&text);
        let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&head.format().to_le_bytes());
        buffer.extend_from_slice(&seed.to_le_bytes());
        buffer.extend_from_slice(&(text.len() as u64).to_le_bytes());
        buffer.extend_from_slice(&text);
        let file = directory.create(NEW_NAME).await?;
        Ok(Self { directory, file, seed, buffer, written: 0, pieces: 0 })
    }

    /// Adds the state of the services.
    ///
    /// # Errors
    /// The disk refuses it.
    pub async fn services(&mut self, state: &[u8]) -> Result<()> {
        self.add(SERVICES, state).await
    }

    /// Adds bytes of the region; zeros are left out.
    ///
    /// # Errors
    /// The disk refuses it.
    pub async fn memory(&mut self, offset: u64, content: &[u8]) -> Result<()> {
        match content.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => self.add(offset, content).await,
        }
    }

    async fn add(&mut self, offset: u64, content: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(&piece_header(self.seed, offset, content));
        self.buffer.extend_from_slice(content);
        self.pieces += 1;
        match self.buffer.len() >= BUFFER_BYTES {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<()> {
        self.file.write_at(self.written, &self.buffer).await?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the image, which replaces the earlier one durably; returns its bytes.
    ///
    /// # Errors
    /// The disk refuses it. The earlier image stays.
    pub async fn finish(mut self) -> Result<u64> {
        let count = self.pieces.to_le_bytes();
        self.add(END, &count).await?;
        self.flush().await?;
        self.file.sync().await?;
        self.directory.rename(NEW_NAME, IMAGE_NAME).await?;
        self.directory.sync().await?;
        if has(self.directory, OPENED_NAME).await? {
            self.directory.remove(OPENED_NAME).await?;
            self.directory.sync().await?;
        }
        Ok(self.written)
    }
}

/// Reads an image.
pub struct ImageReader<D: Disk> {
    file: File<D>,
    pub head: ImageHead,
    seed: u32,
    offset: u64,
    pieces: u64,
}

impl<D: Disk> ImageReader<D> {
    /// Opens the image with this name; `None` if there is none.
    ///
    /// # Errors
    /// The disk refuses it, or the file is damaged.
    pub async fn open(directory: &Directory<D>, name: &str) -> Result<Option<Self>> {
        if !has(directory, name).await? {
            return Ok(None);
        }
        let file = directory.open_file(name).await?;
        let mut header = [0; TEXT_AT];
        let damaged = |offset: usize, what| damaged(&file, offset as u64, what);
        if file.read_at(0, &mut header).await? < TEXT_AT || header[..FORMAT_AT] != MAGIC {
            return Err(damaged(0, "it is no image of a memory server"));
        }
        let found = number_32(&header[FORMAT_AT..]);
        if !(FORMAT..=FORMAT_OF_REPLICAS).contains(&found) {
            return Err(DurabilityError::Format {
                path: file.path(),
                found,
                expected: FORMAT_OF_REPLICAS,
            });
        }
        let length = number_64(&header[LENGTH_AT..]);
        let mut text = vec![0; length.min(TEXT_BYTES_MAX) as usize];
        let count = file.read_at(TEXT_AT as u64, &mut text).await?;
        let seed = number_32(&header[CHECKSUM_AT..]);
        if count as u64 != length || crc32fast::hash(&text) != seed {
            return Err(damaged(TEXT_AT, "the text has another checksum"));
        }
        let head = serde_json::from_slice(&text).map_err(|_| damaged(TEXT_AT, "no JSON"))?;
        let offset = TEXT_AT as u64 + length;
        Ok(Some(Self { file, head, seed, offset, pieces: 0 }))
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The disk refuses it, or the file is damaged or ends early.
    pub async fn next(&mut self) -> Result<Option<Piece>> {
        let mut header = [0; PIECE_HEADER_BYTES];
        let (file, at) = (&self.file, self.offset);
        let damaged = |what| damaged(file, at, what);
        if self.file.read_at(self.offset, &mut header).await? < PIECE_HEADER_BYTES {
            return Err(damaged("it ends early"));
        }
        let (offset, length) = (number_64(&header), number_32(&header[PIECE_LENGTH_AT..]));
        let start = self.offset + PIECE_HEADER_BYTES as u64;
        if u64::from(length) > self.file.length().await?.saturating_sub(start) {
            return Err(damaged("it ends early"));
        }
        let mut content = vec![0; length as usize];
        self.file.read_at(start, &mut content).await?;
        if piece_header(self.seed, offset, &content) != header {
            return Err(damaged("a piece has another checksum"));
        }
        self.offset = start + u64::from(length);
        let end = offset.checked_add(u64::from(length));
        match offset {
            END if content == self.pieces.to_le_bytes() => return Ok(None),
            END => return Err(damaged("pieces are missing")),
            SERVICES => {}
            _ if end.is_none_or(|end| end > self.head.total_bytes()) => {
                return Err(damaged("a piece is outside the region"));
            }
            _ => {}
        }
        self.pieces += 1;
        Ok(Some(match offset {
            SERVICES => Piece::Services(content),
            _ => Piece::Memory(offset, content),
        }))
    }
}

/// Marks that a database runs on what the image has, or on nothing: until the next image is
/// written, the directory has no complete one.
///
/// # Errors
/// The disk refuses it.
pub async fn mark_opened<D: Disk>(directory: &Directory<D>) -> Result<()> {
    match has(directory, IMAGE_NAME).await? {
        true => directory.rename(IMAGE_NAME, OPENED_NAME).await?,
        false if has(directory, OPENED_NAME).await? => {}
        false => drop(directory.create(OPENED_NAME).await?.sync().await?),
    }
    Ok(directory.sync().await?)
}

/// Takes [`mark_opened`] back: the database has not run. An image is newer than an opened one,
/// which a crash may have left behind when the image was complete.
///
/// # Errors
/// The disk refuses it.
pub async fn unmark_opened<D: Disk>(directory: &Directory<D>) -> Result<()> {
    if has(directory, OPENED_NAME).await? {
        let is_new = directory.open_file(OPENED_NAME).await?.length().await? == 0;
        match is_new || has(directory, IMAGE_NAME).await? {
            true => directory.remove(OPENED_NAME).await?,
            false => directory.rename(OPENED_NAME, IMAGE_NAME).await?,
        }
    }
    Ok(directory.sync().await?)
}

/// Whether the directory has a file with this name.
///
/// # Errors
/// The disk refuses it.
pub async fn has<D: Disk>(directory: &Directory<D>, name: &str) -> Result<bool> {
    Ok(directory.list().await?.iter().any(|entry| entry.name == name))
}

fn piece_header(seed: u32, offset: u64, content: &[u8]) -> [u8; PIECE_HEADER_BYTES] {
    let mut header = [0; PIECE_HEADER_BYTES];
    header[..PIECE_LENGTH_AT].copy_from_slice(&offset.to_le_bytes());
    let length = (content.len() as u32).to_le_bytes();
    header[PIECE_LENGTH_AT..PIECE_CHECKSUM_AT].copy_from_slice(&length);
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(&header[..PIECE_CHECKSUM_AT]);
    hasher.update(content);
    header[PIECE_CHECKSUM_AT..].copy_from_slice(&hasher.finalize().to_le_bytes());
    header
}

fn damaged<D: Disk>(file: &File<D>, offset: u64, what: &'static str) -> DurabilityError {
    DurabilityError::Damaged { path: file.path(), offset, what }
}

fn number_32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

fn number_64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::run_now;
    use std::path::PathBuf;
    use storage::RealDisk;

    /// A directory that is removed with its owner.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("namdb-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).expect("a new folder");
            Self(path)
        }

        fn open(&self) -> Directory<RealDisk> {
            let disk = RealDisk::open(&self.0).expect("it is there");
            run_now(Directory::open(disk)).expect("nobody else has it open")
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).expect("nobody else has removed it");
        }
    }

    fn head() -> ImageHead {
        let root = serde_json::json!({ "servers": [5, 7] });
        ImageHead {
            cluster: 9,
            server: 1,
            layout: 3,
            region_bytes: 1 << 20,
            used_bytes: 1 << 16,
            root,
            replicas: None,
        }
    }

    async fn write(directory: &Directory<RealDisk>) -> u64 {
        let mut writer = ImageWriter::create(directory, &head()).await.expect("there is room");
        writer.services(b"who has what").await.expect("there is room");
        writer.memory(4096, &[1; 4096]).await.expect("there is room");
        writer.memory(8192, &[0; 4096]).await.expect("zeros are left out");
        writer.memory((1 << 20) - 8, &[2; 8]).await.expect("there is room");
        writer.finish().await.expect("there is room")
    }

    async fn read(directory: &Directory<RealDisk>) -> Result<Vec<Piece>> {
        let mut reader =
            ImageReader::open(directory, IMAGE_NAME).await?.expect("there is an image");
        assert_eq!(reader.head, head());
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next().await? {
            pieces.push(piece);
        }
        Ok(pieces)
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        let place = Place::new("image");
        let directory = place.open();
        run_now(async {
            assert!(ImageReader::open(&directory, IMAGE_NAME).await.expect("no error").is_none());
            write(&directory).await;
            let pieces = read(&directory).await.expect("it is complete");
            let [Piece::Services(state), Piece::Memory(4096, ones), Piece::Memory(_, twos)] =
                &pieces[..]
            else {
                panic!("{} pieces", pieces.len())
            };
            assert_eq!(
                (&state[..], &ones[..], &twos[..]),
                (&b"who has what"[..], &[1; 4096][..], &[2; 8][..])
            );
        });
    }

    #[test]
    fn a_damaged_image_is_refused() {
        let place = Place::new("damaged-image");
        let directory = place.open();
        run_now(async {
            let bytes = write(&directory).await;
            let path = place.0.join(IMAGE_NAME);
            let whole = std::fs::read(&path).expect("it is there");
            assert_eq!(whole.len() as u64, bytes);
            for end in 0..whole.len() {
                // The content of a piece is checked as a whole.
                if end > 400 && end + 100 < whole.len() {
                    continue;
                }
                std::fs::write(&path, &whole[..end]).expect("there is room");
                let error = read(&directory).await.expect_err("a part is missing").to_string();
                assert!(error.contains("is damaged at byte"), "{error}");
            }
            for at in (0..400).chain(whole.len() - 100..whole.len()) {
                let mut flipped = whole.clone();
                flipped[at] ^= 1;
                std::fs::write(&path, &flipped).expect("there is room");
                read(&directory).await.expect_err("a bit is wrong");
            }
        });
    }

    #[test]
    fn an_opened_image_is_none_until_the_next_is_written() {
        let place = Place::new("opened-image");
        let directory = place.open();
        run_now(async {
            let there = async || {
                let image = has(&directory, IMAGE_NAME).await.expect("no error");
                (image, has(&directory, OPENED_NAME).await.expect("no error"))
            };
            mark_opened(&directory).await.expect("there is room");
            assert_eq!(there().await, (false, true), "a new database");
            unmark_opened(&directory).await.expect("there is room");
            assert_eq!(there().await, (false, false), "it has not run");
            mark_opened(&directory).await.expect("there is room");
            mark_opened(&directory).await.expect("it may be repeated");
            write(&directory).await;
            assert_eq!(there().await, (true, false));
            mark_opened(&directory).await.expect("there is room");
            assert_eq!(there().await, (false, true));
            unmark_opened(&directory).await.expect("there is room");
            assert_eq!(there().await, (true, false), "the image is as new as before");
            std::fs::write(place.0.join(OPENED_NAME), "older").expect("there is room");
            unmark_opened(&directory).await.expect("there is room");
            assert_eq!(there().await, (true, false));
            read(&directory).await.expect("it is the newer one");
        });
    }
}
