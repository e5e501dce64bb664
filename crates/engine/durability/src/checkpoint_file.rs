//! The files of a checkpoint: the rows of one table each.
//!
//! ```text
//! byte | header     | bytes | meaning
//!    0 | magic      |     8 | "namdbCKP"
//!    8 | format     |     4 | 1
//!   12 | checksum   |     4 | CRC-32 of the other bytes of the header
//!   16 | database   |    16 | identity
//!   32 | checkpoint |     8 | number, counted from 1
//!   40 | table      |     4 | number
//!   44 | zeros      |     4 |
//!   48 | blocks     |       | up to the end of the file
//!
//! byte | block      | bytes | meaning
//!    0 | length     |     4 | bytes of the rows
//!    4 | rows       |     4 | number of rows
//!    8 | checksum   |     4 | CRC-32 of header, offset, length, number and rows
//!   12 | zeros      |     4 |
//!   16 | rows       |       |
//!
//! row: key words, payload words, then for each column out of line: length (4), bytes
//!      a short value is in the payload: length 0
//! ```
//!
//! The control file has the number of rows and bytes, so that a file that ends early is noticed.

use crate::control::StoredFile;
use crate::error::{DurabilityError, Result};
use crate::tail::{LoadedRow, words};
use layout::Schema;
use redo_log::DatabaseId;
use storage::{Directory, Disk, File};

const MAGIC: [u8; 8] = *b"namdbCKP";
const FORMAT: u32 = 1;
const FORMAT_AT: usize = 8;
const CHECKSUM_AT: usize = 12;
const DATABASE_AT: usize = 16;
const NUMBER_AT: usize = 32;
const TABLE_AT: usize = 40;
const HEADER_BYTES: usize = 48;

const BLOCK_ROWS_AT: usize = 4;
const BLOCK_CHECKSUM_AT: usize = 8;
const BLOCK_BYTES: usize = 16;

const _: () = {
    assert!(FORMAT_AT == MAGIC.len() && CHECKSUM_AT == FORMAT_AT + 4);
    assert!(DATABASE_AT == CHECKSUM_AT + 4 && NUMBER_AT == DATABASE_AT + 16);
    assert!(TABLE_AT == NUMBER_AT + 8 && HEADER_BYTES == TABLE_AT + 8);
    assert!(BLOCK_CHECKSUM_AT == BLOCK_ROWS_AT + 4 && BLOCK_BYTES == BLOCK_CHECKSUM_AT + 8);
};

/// The identity of a file: whose rows it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileIdentity {
    pub database: DatabaseId,
    pub checkpoint: u64,
    pub table: u32,
}

impl FileIdentity {
    pub fn name(&self) -> String {
        format!("checkpoint-{:010}-table-{:010}", self.checkpoint, self.table)
    }

    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..FORMAT_AT].copy_from_slice(&MAGIC);
        header[FORMAT_AT..CHECKSUM_AT].copy_from_slice(&FORMAT.to_le_bytes());
        header[DATABASE_AT..NUMBER_AT].copy_from_slice(&self.database.0);
        header[NUMBER_AT..TABLE_AT].copy_from_slice(&self.checkpoint.to_le_bytes());
        header[TABLE_AT..TABLE_AT + 4].copy_from_slice(&self.table.to_le_bytes());
        let checksum = crc32fast::hash(&header);
        header[CHECKSUM_AT..DATABASE_AT].copy_from_slice(&checksum.to_le_bytes());
        header
    }

    /// The checksum of a block of this file.
    fn checksum(&self, offset: u64, block: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.header());
        hasher.update(&offset.to_le_bytes());
        hasher.update(&block[..BLOCK_CHECKSUM_AT]);
        hasher.update(&block[BLOCK_CHECKSUM_AT + 4..]);
        hasher.finalize()
    }
}

/// The number of the checkpoint to which a file of this name belongs.
pub(crate) fn checkpoint_of(name: &str) -> Option<u64> {
    let (number, table) = name.strip_prefix("checkpoint-")?.split_once("-table-")?;
    table.parse::<u32>().ok()?;
    number.parse().ok()
}

/// Rows on their way into a file.
pub(crate) struct BlockBuffer {
    bytes: Vec<u8>,
    pub rows: u32,
}

impl BlockBuffer {
    pub fn new() -> Self {
        Self { bytes: vec![0; BLOCK_BYTES], rows: 0 }
    }

    pub fn clear(&mut self) {
        self.bytes.truncate(BLOCK_BYTES);
        self.rows = 0;
    }

    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a row with its long values, empty ones for nulls.
    pub fn append<'a>(
        &mut self,
        key: &[u64],
        payload: &[u64],
        values: impl Iterator<Item = &'a [u8]>,
    ) {
        self.bytes.extend_from_slice(bytemuck::cast_slice(key));
        self.bytes.extend_from_slice(bytemuck::cast_slice(payload));
        for value in values {
            let length = u32::try_from(value.len()).expect("a value is smaller than memory");
            self.bytes.extend_from_slice(&length.to_le_bytes());
            self.bytes.extend_from_slice(value);
        }
        self.rows += 1;
    }
}

/// A file that is being written.
pub(crate) struct CheckpointFile<D: Disk> {
    identity: FileIdentity,
    file: File<D>,
    end: u64,
    rows: u64,
}

impl<D: Disk> CheckpointFile<D> {
    pub async fn create(directory: &Directory<D>, identity: FileIdentity) -> Result<Self> {
        let file = directory.create(&identity.name()).await?;
        file.write_at(0, &identity.header()).await?;
        Ok(Self { identity, file, end: HEADER_BYTES as u64, rows: 0 })
    }

    pub fn name(&self) -> &str {
        self.file.name()
    }

    pub async fn append(&mut self, block: &mut BlockBuffer) -> Result<()> {
        let length = u32::try_from(block.bytes.len() - BLOCK_BYTES).expect("blocks are small");
        block.bytes[..BLOCK_ROWS_AT].copy_from_slice(&length.to_le_bytes());
        block.bytes[BLOCK_ROWS_AT..BLOCK_CHECKSUM_AT].copy_from_slice(&block.rows.to_le_bytes());
        let checksum = self.identity.checksum(self.end, &block.bytes);
        block.bytes[BLOCK_CHECKSUM_AT..BLOCK_CHECKSUM_AT + 4]
            .copy_from_slice(&checksum.to_le_bytes());
        self.file.write_at(self.end, &block.bytes).await?;
        self.end += block.bytes.len() as u64;
        self.rows += u64::from(block.rows);
        block.clear();
        Ok(())
    }

    /// Makes the file durable; its name is with the next sync of the directory.
    pub async fn finish(self) -> Result<StoredFile> {
        let (table, rows, bytes) = (self.identity.table, self.rows, self.end);
        self.file.sync().await?;
        Ok(StoredFile { table, rows, bytes })
    }
}

/// A complete file that is being read.
pub(crate) struct CheckpointReader<D: Disk> {
    identity: FileIdentity,
    file: File<D>,
    stored: StoredFile,
    key_bytes: usize,
    payload_bytes: usize,
    long_columns: usize,
}

/// A block of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockPlace {
    pub offset: u64,
    pub rows: u32,
    length: u32,
}

impl<D: Disk> CheckpointReader<D> {
    pub async fn open(
        directory: &Directory<D>,
        identity: FileIdentity,
        stored: StoredFile,
        schema: &Schema,
    ) -> Result<Self> {
        let file = directory.open_file(&identity.name()).await?;
        let row = schema.row_layout(false);
        let (key_bytes, payload_bytes) =
            (8 * row.key_words as usize, 8 * row.payload_words as usize);
        let long_columns = schema.long_columns().len();
        let reader = Self { identity, file, stored, key_bytes, payload_bytes, long_columns };
        let mut header = [0; HEADER_BYTES];
        let count = reader.file.read_at(0, &mut header).await?;
        if count < HEADER_BYTES || header != identity.header() {
            return Err(reader.damaged(0, "its header is not what was written"));
        }
        if reader.file.length().await? != reader.stored.bytes {
            return Err(reader.damaged(0, "it has another length than the control file says"));
        }
        Ok(reader)
    }

    fn damaged(&self, offset: u64, what: &'static str) -> DurabilityError {
        DurabilityError::Damaged { path: self.file.path(), offset, what }
    }

    /// The places of all blocks.
    pub async fn blocks(&self) -> Result<Vec<BlockPlace>> {
        let (mut blocks, mut rows) = (Vec::new(), 0);
        let mut offset = HEADER_BYTES as u64;
        while offset < self.stored.bytes {
            let mut head = [0; BLOCK_BYTES];
            let count = self.file.read_at(offset, &mut head).await?;
            let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| head[at + byte]));
            let (length, block_rows) = (word(0), word(BLOCK_ROWS_AT));
            let end = offset + BLOCK_BYTES as u64 + u64::from(length);
            if count < BLOCK_BYTES || end > self.stored.bytes {
                return Err(self.damaged(offset, "a block reaches behind the end"));
            }
            blocks.push(BlockPlace { offset, rows: block_rows, length });
            rows += u64::from(block_rows);
            offset = end;
        }
        match rows == self.stored.rows {
            true => Ok(blocks),
            false => {
                Err(self.damaged(0, "it has another number of rows than the control file says"))
            }
        }
    }

    /// Reads the rows of a block: their keys and contents.
    pub async fn read(&self, place: BlockPlace) -> Result<Vec<(Box<[u8]>, LoadedRow)>> {
        let BlockPlace { offset, rows, length } = place;
        let mut bytes = vec![0; BLOCK_BYTES + length as usize];
        let count = self.file.read_at(offset, &mut bytes).await?;
        let checksum = [0, 1, 2, 3].map(|byte| bytes[BLOCK_CHECKSUM_AT + byte]);
        let is_intact = count == bytes.len()
            && u32::from_le_bytes(checksum) == self.identity.checksum(offset, &bytes);
        if !is_intact {
            return Err(self.damaged(offset, "a block is not what was written"));
        }
        let (mut rest, mut all) = (&bytes[BLOCK_BYTES..], Vec::with_capacity(rows as usize));
        for _ in 0..rows {
            let row = self.row(&mut rest);
            all.push(row.ok_or_else(|| self.damaged(offset, "a row is malformed"))?);
        }
        match rest.is_empty() {
            true => Ok(all),
            false => Err(self.damaged(offset, "a block has more than its rows")),
        }
    }

    fn row(&self, rest: &mut &[u8]) -> Option<(Box<[u8]>, LoadedRow)> {
        let key = take(rest, self.key_bytes)?.into();
        let payload = words(take(rest, self.payload_bytes)?);
        let mut values = Vec::with_capacity(self.long_columns);
        for _ in 0..self.long_columns {
            let length = u32::from_le_bytes(take(rest, 4)?.try_into().ok()?);
            values.push(take(rest, length as usize)?.to_vec());
        }
        Some((key, LoadedRow { payload, values }))
    }
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(taken)
}
