//! The bit fields of single words.

use crate::page::Page;
use layout::bucket::{self, Identity};
use layout::leaf::Shape;
use layout::row::{ChainWord, MOVED_FLAG};
use layout::{GlobalPtr, KeyBuilder, RegionId, SlotId, VersionWord, region};

/// Highest and lowest bit of the field with this mask.
fn bits(mask: u64) -> String {
    assert!(mask != 0 && (mask >> mask.trailing_zeros()).wrapping_add(1).is_power_of_two());
    let (high, low) = (63 - mask.leading_zeros(), mask.trailing_zeros());
    if high == low { low.to_string() } else { format!("{high}..{low}") }
}

/// A section about the fields of a word.
fn word(page: &mut Page, title: &str, about: &str, fields: &[(u64, &str, &str)]) {
    page.heading(title, about);
    let row = |&(mask, name, meaning): &(u64, &str, &str)| {
        vec![bits(mask), name.to_owned(), meaning.to_owned()]
    };
    let rows: Vec<_> = fields.iter().map(row).collect();
    page.table(&["bits", "field", "meaning"], &rows);
}

pub fn write(page: &mut Page) {
    pointers(page);
    versions(page);
    packed(page);
    keys(page);
}

fn pointers(page: &mut Page) {
    let region = GlobalPtr::new(RegionId(u16::MAX), 0).word();
    word(
        page,
        "Pointer",
        "Region 0, byte 0 is null. Slots of buckets, entries of leaves, links and chains contain pointers.",
        &[
            (region, "region", "number of the region, and of the memory server that owns it"),
            (!region, "offset", "byte in the region; the low three bits are zero"),
        ],
    );
    let next = ChainWord::new(GlobalPtr::NULL, layout::row::BUFFER_SLOTS_MAX - 1).word();
    word(
        page,
        "Chain word",
        "From a row to its version buffer. Null until the row is first updated.",
        &[
            (!next, "buffer", "pointer to the version buffer, or null"),
            (next, "next", "slot of the buffer for the next displaced version"),
        ],
    );
}

fn versions(page: &mut Page) {
    let (lock, deleted) = (VersionWord::NONE.locked().word(), VersionWord::NONE.deleted().word());
    let slot = VersionWord::new(SlotId(u16::MAX), 0).word();
    let counter = VersionWord::new(SlotId(0), layout::version::COUNTER_MAX).word();
    assert!(lock | deleted | slot | counter == u64::MAX);
    word(
        page,
        "Version word",
        "In headers, beside payloads, as insert word of buckets and leaves, and in values out of line.",
        &[
            (lock, "lock", "in a header or insert word: the timestamp is the lock owner's"),
            (
                deleted,
                "deleted",
                "the row is a tombstone from this version on; with `lock`: upkeep holds the lock",
            ),
            (slot, "slot", "index in the timestamp vector of the lane that wrote it"),
            (counter, "counter", "the lane's number; never used twice"),
        ],
    );
    page.line("");
    let special = |word: VersionWord, name: &str, meaning: &str| {
        vec![format!("{:016x}", word.word()), name.to_owned(), meaning.to_owned()]
    };
    let sample = VersionWord::new(SlotId(3), 18);
    let special = [
        special(VersionWord::NONE, "NONE", "nothing was ever installed here, or it was emptied"),
        special(
            VersionWord::TORN,
            "TORN",
            "in a version word: the image beside it is being written",
        ),
        special(
            VersionWord::MOVED,
            "MOVED",
            "in a header: the row has moved to another bucket, or was removed",
        ),
        special(sample, "(3,18)", "number 18 of slot 3"),
        special(sample.locked(), "locked (3,18)", "locked by the transaction with that timestamp"),
        special(
            sample.locked_by_upkeep(),
            "locked (3,18) by upkeep",
            "locked by a split, an absorption or collection with that number",
        ),
        special(sample.deleted(), "(3,18) deleted", "deleted by that transaction"),
    ];
    page.table(&["word", "is", "meaning"], &special);
}

fn packed(page: &mut Page) {
    let level = Identity { bucket: 0, level: u8::MAX.into() }.word();
    word(
        page,
        "Identity of a bucket",
        "Written with a split, under the insert lock.",
        &[
            (level, "level", "how many times the bucket was split"),
            (!level, "bucket", "number of the bucket in its table"),
        ],
    );
    let tag = |slot| bucket::with_tag(8, 0, slot, u8::MAX);
    word(
        page,
        "Tags of a bucket",
        "The highest bits of the key's hash for each slot, with 1 in place of 0; 0 for an empty slot. Up to 8 slots have a \
         byte each, as here, up to 16 have 4 bits, up to 32 have 2.",
        &[
            (tag(0), "slot 0", "tag of the key in the first slot"),
            (tag(1), "slot 1", "and so on, up to slot 7"),
            (tag(7), "slot 7", "tag of the key in the last slot"),
        ],
    );
    let none = Shape { count: 0, level: 0, unbounded: false, dead: false };
    word(
        page,
        "Shape of a node",
        "Entry count, level and flags of a leaf or inner node.",
        &[
            (Shape { dead: true, ..none }.word(), "dead", "absorbed by its left neighbour"),
            (
                Shape { unbounded: true, ..none }.word(),
                "unbounded",
                "rightmost: `high` is not used",
            ),
            (Shape { level: u8::MAX, ..none }.word(), "level", "0 for leaves"),
            (Shape { count: u32::MAX, ..none }.word(), "count", "entries in use"),
        ],
    );
    page.heading("Marks", "Words that identify structures in a dump.");
    let mark = |word: u64, name: &str, place: &str| {
        vec![format!("{word:016x}"), name.to_owned(), place.to_owned()]
    };
    let marks = [
        mark(region::MAGIC, "region", "first word of a region"),
        mark(region::FORMAT_VERSION, "format", "second word of a region"),
        mark(
            MOVED_FLAG,
            "moved",
            "first word of a slot of a version buffer whose version was moved",
        ),
    ];
    page.table(&["word", "is", "where"], &marks);
}

fn keys(page: &mut Page) {
    page.heading(
        "Keys",
        "The columns of a key are adjacent, most significant byte first, and the last word is \
         padded with zeros. Words compare as numbers. A dump shows each word's bytes in reverse.",
    );
    let encoded = |key: KeyBuilder| {
        let words = key.key().words().iter().map(|word| format!("{word:016x}")).collect::<Vec<_>>();
        format!("`{}`", words.join(" "))
    };
    let key = KeyBuilder::new;
    let row = |kind: &str, rule: &str, value: &str, key: KeyBuilder| {
        vec![kind.to_owned(), rule.to_owned(), value.to_owned(), encoded(key)]
    };
    let rows = [
        row("Int2", "2 bytes, sign bit flipped", "-1", key().int2(-1)),
        row("Int4, Date", "4 bytes, sign bit flipped", "7", key().int4(7)),
        row("Int8, Decimal, Timestamp", "8 bytes, sign bit flipped", "-2", key().int8(-2)),
        row("Bool", "1 byte", "true", key().unsigned(1, 1)),
        row("Float8", "8 bytes; sign bit flipped, all bits if negative", "1.5", key().float8(1.5)),
        row(
            "Char(n), Varchar(n)",
            "n bytes, padded with zeros",
            "\"Ada\" of 5",
            key().padded(b"Ada", 5),
        ),
        row(
            "Bytes(n)",
            "n bytes, padded with zeros, then the length in 2",
            "\"ab\" of 4",
            key().padded(b"ab", 4).unsigned(2, 2),
        ),
        row("nullable", "1 byte before: 0, or 1 for null", "Int2 7", key().unsigned(0, 1).int2(7)),
        row("two columns", "one after the other", "Int2 1, Int4 2", key().int2(1).int4(2)),
    ];
    page.table(&["type", "encoding", "value", "words"], &rows);
}
