//! The structures, word by word.

use crate::page::{Field, Page};
use layout::Place;
use layout::column::INLINE_LENGTH_MAX;
use layout::oracle::{self, OracleLayout};
use layout::row::{self, BufferLayout};
use layout::{BucketLayout, GlobalPtr, LeafLayout, RegionId, RowLayout, SlotId, ValueLayout};
use layout::{
    Column, ColumnType, Schema, bucket, journal, leaf, region, value, vector_copy as copies,
};

const AT: fn(u32, &'static str, &'static str, &'static str) -> Field =
    |word, name, written, meaning| Field::at(u64::from(word), name, written, meaning);

/// The row of the examples.
const ROW: RowLayout = RowLayout { key_words: 1, payload_words: 3, checksummed: false };

pub fn write(page: &mut Page) {
    region(page);
    rows(page);
    payload(page);
    buffers(page);
    values(page);
    buckets(page);
    nodes(page);
    oracle(page);
    vector_copy(page);
}

fn word(ptr: GlobalPtr) -> u64 {
    ptr.offset() / layout::WORD_BYTES
}

/// An offset behind the key, as an expression.
fn behind_key(word: u32, times: u32) -> String {
    let fixed = word - times * ROW.key_words;
    if times == 1 { format!("{fixed}+K") } else { format!("{fixed}+{times}K") }
}

fn region(page: &mut Page) {
    page.heading(
        "Region",
        &format!("Its first {} bytes; other structures follow.", region::HEADER_BYTES),
    );
    page.fields(&[
        AT(0, "magic", "memory server, at start", "see marks"),
        AT(1, "format", "memory server, at start", "other formats are refused"),
        AT(2, "bytes", "memory server, at start", "size of the region"),
        AT(3, "checksum", "memory server, at start", "over the words before"),
        Field::at(
            region::COLLECTED_WORD,
            "collected",
            "swap, before a lane collects",
            "stamp up to which versions were collected in this region",
        ),
        Field::at(
            word(region::mark(RegionId(0), SlotId(0))),
            "marks",
            "batch 2: first, the lane that owns the slot",
            "for each slot, id of the last journal entry whose batch 2 reached the server",
        ),
    ]);
}

fn rows(page: &mut Page) {
    page.heading(
        "Row",
        "In a slot of a bucket (inlined), or in separate memory with a pointer to it (outside, tree). The words from the \
         version on are the image, which is read untorn.",
    );
    page.fields(&[
        AT(
            row::HEADER,
            "header",
            "batch 1: swap to the lock; batch 2: write, last where memory is coherent, else with the image; collection, split",
            "unlocked: the version; locked: lock bit and owner's timestamp",
        ),
        AT(
            row::VERSION,
            "version",
            "batch 2: with the payload, TORN first, itself last",
            "alone decides which snapshots see the row",
        ),
        AT(
            row::LINK,
            "chain",
            "batch 2: before the payload; collection: null",
            "version buffer and its next slot",
        ),
        AT(row::KEY, "key", "batch 2 of the insert", "K words, primary key"),
        Field::from(
            behind_key(ROW.payload(), 1),
            "payload",
            "batch 2",
            "P words, columns outside the key",
        ),
        Field::from(
            format!("{}+P", behind_key(ROW.payload(), 1)),
            "checksum",
            "batch 2",
            "over all words from 1 on except the chain; only if memory is not coherent",
        ),
    ]);
}

fn payload(page: &mut Page) {
    page.heading(
        "Payload",
        "One bit per nullable column from byte 0 on, set for null; then fixed widths, the widest first, each at a \
         multiple of its width; then text and bytes, a length before each, and packed cells. Little-endian. An example:",
    );
    let long = ColumnType::Varchar(INLINE_LENGTH_MAX + 1);
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("name", ColumnType::Varchar(20)),
        Column::nullable("note", long),
        Column::new("balance", ColumnType::Int8),
        Column::nullable("day", ColumnType::Date),
        Column::new("data", ColumnType::Bytes(300)),
        Column::new("remark", ColumnType::Varchar(1000)).with_in_row(31),
        Column::new("city", ColumnType::Varchar(120)).with_packed(30),
    ];
    let schema = Schema::new("t", columns, &[0]).expect("the example is a valid schema");
    let row = |(index, column): (usize, &Column)| {
        let (place, what) = match schema.place(index) {
            Place::Key { at } => (format!("key {at:#x}"), "see keys"),
            Place::OutOfLine { at, .. } if column.room().is_none() => {
                (format!("{at:#x}"), "reference to a value out of line")
            }
            Place::OutOfLine { at, .. } => (
                format!("{at:#x}"),
                "a short value, then its length in the last byte; or a reference, then 0",
            ),
            Place::Payload { at } => match column.column_type.fixed_bytes() {
                Some(_) => (format!("{at:#x}"), "the value"),
                None if column.column_type.length_max() > 255 => {
                    (format!("{at:#x}"), "length in 2 bytes, then space for the longest value")
                }
                None => (format!("{at:#x}"), "length in 1 byte, then space for the longest value"),
            },
        };
        let nullable = if column.nullable { ", nullable" } else { "" };
        let packed = if column.packed.is_some() { ", packed" } else { "" };
        let in_row =
            column.room().map_or(String::new(), |bytes| format!(", {bytes} in the row{packed}"));
        let kind = format!("{:?}{nullable}{in_row}", column.column_type);
        vec![place, column.name.clone(), kind, what.to_owned()]
    };
    let mut rows: Vec<_> = schema.columns().iter().enumerate().map(row).collect();
    rows.insert(
        0,
        vec!["0x0".to_owned(), String::new(), "null bits".to_owned(), "note, then day".to_owned()],
    );
    rows[1..].sort_by_key(|row| (row[0].starts_with("0x"), row[0].len(), row[0].clone()));
    page.table(&["byte", "column", "type", "content"], &rows);
}

fn buffers(page: &mut Page) {
    let buffer = BufferLayout { row: ROW, slots: 2 };
    page.heading(
        "Version buffer",
        "Allocated from a pool on the row's server at the row's first update. It has 1 to 8 slots of R words.",
    );
    page.fields(&[
        AT(
            row::OVERFLOW_HEAD,
            "overflow",
            "version mover, or collection that frees the buffer: null; under the row's lock",
            "first entry of the overflow list, or null",
        ),
        Field::from(
            format!("{}+n*R", buffer.slot(0)),
            "slot n",
            "batch 2: before the row",
            "an old version",
        ),
    ]);
    page.heading(
        "Old version",
        "In a slot of a version buffer, or as an entry of the overflow list. It has the shape of a row.",
    );
    page.fields(&[
        AT(row::HEADER, "moved", "batch 2: 0; version mover: 1", "in a slot: 1 if the overflow list has the version too; in the list: next entry"),
        AT(row::VERSION, "version", "batch 2", "as in the row"),
        AT(row::LINK, "successor", "batch 2", "the version that displaced it: a reader takes the old version only if its snapshot does not cover the successor"),
        AT(row::KEY, "key", "batch 2", "K words"),
        Field::from(behind_key(ROW.payload(), 1), "payload", "batch 2", "P words"),
        Field::from(format!("{}+P", behind_key(ROW.payload(), 1)), "checksum", "batch 2", "over all words from 1 on"),
    ]);
}

fn values(page: &mut Page) {
    let value = ValueLayout::of(5000, true);
    page.heading(
        "Value out of line",
        &format!(
            "The row has a reference to it; it never changes. A value of 5000 bytes has {} words, in an allocation of {}.",
            value.words(),
            value.piece_words()
        ),
    );
    page.fields(&[
        AT(0, "unused", "", "in place of a row's header"),
        AT(
            value::VERSION,
            "version",
            "batch 2: before the row, TORN first, itself last",
            "timestamp of the transaction that wrote the value",
        ),
        AT(value::BYTES, "bytes", "batch 2: before the row", "length"),
        AT(
            value::DATA,
            "data",
            "batch 2: before the row",
            "the bytes; the last word is padded with zeros",
        ),
        Field::from(
            format!("{}+D", value::DATA),
            "checksum",
            "batch 2: before the row",
            "over all words from 1 on; D is the number of data words",
        ),
    ]);
    page.heading(
        "Reference to a value",
        &format!(
            "{} words of the payload; all zero for an empty value, and for null.",
            value::REFERENCE_WORDS
        ),
    );
    page.fields(&[
        AT(0, "pointer", "batch 2: with the payload", "first word of the value"),
        AT(1, "bytes", "batch 2: with the payload", "length"),
        AT(
            2,
            "version",
            "batch 2: with the payload",
            "the value's version; if it differs, the memory was reused and the snapshot is too old",
        ),
    ]);
}

fn buckets(page: &mut Page) {
    let inlined = BucketLayout::inlined(4, ROW);
    let outside = BucketLayout::outside(4, ROW.key_words);
    page.heading(
        "Bucket, overflow block",
        &format!(
            "A bucket has H slots, an overflow block {} (1 if H is 1). A slot is a row, or a pointer and a key: with H = 4, \
             K = {} and P = {} that makes buckets of {} or {} words.",
            inlined.overflow_slots,
            ROW.key_words,
            ROW.payload_words,
            inlined.words(),
            outside.words()
        ),
    );
    page.fields(&[
        AT(
            bucket::INSERT,
            "insert",
            "batch 1: swap to the lock; batch 2: own timestamp, last; abort: own timestamp",
            "unlocked: timestamp of the last insert; unused in overflow blocks",
        ),
        AT(
            bucket::COLLECTED,
            "collected",
            "collection, before it empties a slot",
            "stamp up to which entries were collected here",
        ),
        AT(
            bucket::LINK,
            "link",
            "batch 2, split; under the insert lock",
            "next overflow block, or null",
        ),
        AT(
            bucket::IDENTITY,
            "identity",
            "split, under the insert lock",
            "bucket number and split level",
        ),
        AT(bucket::TAGS, "tags", "batch 2: after the slots; collection, split", "one tag per slot"),
        AT(bucket::SLOTS, "slots", "batch 2; collection and split: emptied", "H slots"),
    ]);
    page.heading(
        "Slot with a pointer",
        "Of a table with rows outside the buckets, and of a hash index.",
    );
    page.fields(&[
        AT(0, "pointer", "batch 2", "the row; null in an index over inlined rows"),
        AT(
            outside.key_at,
            "key",
            "batch 2",
            "K words; in an index its columns, then the key's other columns",
        ),
    ]);
}

fn nodes(page: &mut Page) {
    let node = LeafLayout::within(512, ROW.key_words, 1, false);
    page.heading(
        "Leaf, inner node",
        &format!(
            "With 512 bytes, K = {} and one word for the value: {} entries in {} words.",
            ROW.key_words,
            node.entries,
            node.words()
        ),
    );
    page.fields(&[
        AT(leaf::INSERT, "insert", "batch 1: swap to the lock; batch 2: own timestamp, last; split, absorption, collection", "as in a bucket"),
        AT(leaf::VERSION, "version", "with every rewrite, TORN first, itself last", "counts the rewrites of this node"),
        AT(leaf::COLLECTED, "collected", "collection, with the rewrite", "stamp up to which entries were collected here"),
        AT(leaf::NEXT, "next", "split, absorption", "right neighbour, or null"),
        AT(leaf::SHAPE, "shape", "batch 2, split, absorption, collection", "count, level, flags"),
        AT(leaf::LOW, "low", "when the node is created", "K words: the smallest key it may hold"),
        Field::from(behind_key(node.high(), 1), "high", "split, absorption", "K words: the smallest key it may not hold"),
        Field::from(behind_key(node.entry(0), 2), "entries", "batch 2, split, absorption, collection", "in key order: K words of key, then the pointer to row or child"),
        Field::from("end", "checksum", "with every rewrite", "over all words from 1 on; only if memory is not coherent"),
    ]);
}

fn oracle(page: &mut Page) {
    let area = OracleLayout { slots: 64 };
    let base = GlobalPtr::new(RegionId(0), 0);
    let (lane, ring) = (word(area.lane(base, SlotId(0))), word(area.frozen(base, 0)));
    page.heading(
        "Oracle",
        &format!(
            "The first extent of the first memory server: {} words. Offsets are for 64 slots.",
            area.words()
        ),
    );
    page.fields(&[
        AT(oracle::CLOCK, "clock", "addition, for each new horizon", "stamp of a double collect"),
        AT(
            oracle::EPOCH,
            "epoch",
            "addition, with each change of the catalog",
            "version of the catalog",
        ),
        AT(
            oracle::SLOT_COUNT,
            "slots",
            "addition, when a lane is opened",
            "number of allocated slots",
        ),
        AT(oracle::FREEZER, "freezer", "swap, write", "try-lock for freezing a vector"),
        AT(
            oracle::NEWEST,
            "newest",
            "write, under the try-lock",
            "number of the newest frozen vector",
        ),
        AT(
            oracle::TABLES,
            "tables",
            "addition, when a table is created",
            "number of created tables",
        ),
        AT(
            oracle::INDEXES,
            "indexes",
            "addition, when an index is created",
            "number of created indexes",
        ),
        AT(
            oracle::KEEPERS,
            "keepers",
            "addition, before a compute server parks its first transaction",
            "number of keepers of pins",
        ),
        Field::at(
            word(area.slot(base, SlotId(0))),
            "vector",
            "publish: the lane that owns the slot",
            "N counters",
        ),
        Field::at(
            lane,
            "lanes",
            "begin, rest: the lane that owns the slot",
            "8 words for each slot, see below",
        ),
        Field::at(ring, "ring", "write, under the try-lock", "8 frozen vectors"),
    ]);
    lanes_and_ring(page, &area);
}

fn lanes_and_ring(page: &mut Page, area: &OracleLayout) {
    page.heading("Lane", "A cache line of the oracle for each slot.");
    page.fields(&[
        AT(
            oracle::LANE_ACTIVE,
            "active",
            "begin, rest",
            "0 if idle, else a stamp that bounds the snapshot from below",
        ),
        AT(oracle::LANE_ACKNOWLEDGED, "acknowledged", "begin", "the last epoch it has seen"),
        AT(
            oracle::LANE_WORKING,
            "working",
            "publish: before active; upkeep: 0, last",
            "1 while it grows or collects: changes of the catalog wait",
        ),
        AT(
            oracle::LANE_OWNER,
            "owner",
            "swap, by a new lane or by recovery; write, when the slot is returned",
            "identity of the compute server whose lanes draw the slot's numbers, 0 if none does",
        ),
        AT(
            oracle::LANE_JOURNAL,
            "journal",
            "swap, when a journal is allocated",
            "newest journal of the slot, or null",
        ),
    ]);
    journals(page);
    page.heading(
        "Frozen vector",
        &format!(
            "{} words with 64 slots; number n is in place n mod {}.",
            area.frozen_words(),
            oracle::RING_PLACES
        ),
    );
    page.fields(&[
        AT(0, "number", "write, under the try-lock", "counts frozen vectors"),
        AT(1, "epoch", "write, under the try-lock", "version of the catalog"),
        AT(2, "counters", "write, under the try-lock", "N counters"),
        Field::from("2+N", "checksum", "write, under the try-lock", "over the words before"),
    ]);
}

fn journals(page: &mut Page) {
    page.heading(
        "Journal",
        "An extent of a memory server, if the database keeps journals. The journals of a slot are a list; its lane writes \
         to the first one.",
    );
    page.fields(&[
        AT(journal::NEXT, "next", "allocation", "the previous journal of the slot, or null"),
        AT(journal::WORDS, "words", "allocation", "size of the journal"),
        AT(journal::ENTRY, "entry", "batch 1", "the last commit of the lane"),
    ]);
    page.heading("Journal entry", "Written with one batch 1; a torn one fails its checksum.");
    page.fields(&[
        AT(0, "checksum", "batch 1", "over the other words of the entry"),
        AT(1, "words", "batch 1", "size of the entry"),
        AT(2, "number", "batch 1", "timestamp of the attempt"),
        AT(3, "id", "batch 1", "value of the marks with which batch 2 begins"),
        AT(4, "rows", "batch 1", "number of locked rows"),
        AT(5, "structures", "batch 1", "number of locked buckets and leaves"),
        AT(
            journal::ENTRY_HEAD as u32,
            "lists",
            "batch 1",
            "header and unlocked version of each row; insert word of each structure; the writes of batch 2",
        ),
    ]);
}

fn vector_copy(page: &mut Page) {
    let shape = OracleLayout { slots: 64 }.copies();
    let base = GlobalPtr::new(RegionId(0), 0);
    page.heading(
        "Copy of frozen vectors",
        &format!(
            "An extent of a memory server, if the database has copies: {} words. Offsets are for 64 slots.",
            shape.words()
        ),
    );
    page.fields(&[
        AT(
            copies::COPY_NEWEST,
            "newest",
            "write, the collector, after the vector",
            "number of the newest vector here",
        ),
        Field::at(
            word(shape.base(base, 0)),
            "bases",
            "write, the collector, before a vector that needs it",
            "2 earlier vectors: number, N counters, checksum",
        ),
        Field::at(
            word(shape.packed(base, 0)),
            "places",
            "write, the collector",
            "8 packed vectors",
        ),
    ]);
    page.heading(
        "Packed vector",
        &format!(
            "{} words with 64 slots; number n is in place n mod {}.",
            shape.packed_words(),
            oracle::RING_PLACES
        ),
    );
    page.fields(&[
        AT(copies::PACKED_NUMBER, "number", "write, the collector", "counts frozen vectors"),
        AT(copies::PACKED_EPOCH, "epoch", "write, the collector", "version of the catalog"),
        AT(copies::PACKED_BASE, "base", "write, the collector", "number of the base"),
        AT(
            copies::PACKED_COLLECTED,
            "collected",
            "write, the collector",
            "stamp to which the collected-up-to words of all regions had been raised",
        ),
        AT(
            copies::PACKED_OFFSETS,
            "offsets",
            "write, the collector",
            "N/4 words of four counters each, minus those of the base",
        ),
        Field::from("4+N/4", "checksum", "write, the collector", "over the words before"),
    ]);
}
