//! Rows arrive untorn or marked as torn while another party writes them.

use crate::breakage::UNTORN;
use crate::party::{LAST, Pace, Party, word};
use crate::test::{Report, Test};
use fabric::{Batch, Env};
use layout::VersionWord;
use layout::row::{Cover, HEADER, LINK, VERSION};

/// Words of a row: header, image, and room for a checksum.
const WORDS: u32 = 9;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "rows-untorn",
            promise: "read_row delivers an image as one write_row left it, or the version TORN",
            falls_if: "a row is copied without looking at its version, or its checksum, again",
            broken: &[UNTORN],
            play: |party| Box::pin(untorn(party, Writer::Writing(Cover::All))),
            seen: "images read between the first and the last",
            ..Test::of_two()
        },
        Test {
            name: "rows-untorn-but-link",
            promise: "the same if the link word is written separately from the image",
            falls_if: "a row is copied without looking at its version, or its checksum, again",
            broken: &[UNTORN],
            play: |party| Box::pin(untorn(party, Writer::Writing(Cover::AllButLink))),
            seen: "images read between the first and the last",
            ..Test::of_two()
        },
        Test {
            name: "rows-installed-at-once",
            promise: "the same for a row whose link, image and header are installed in any order",
            falls_if: "a row is copied without looking at its version, or its checksum, again",
            broken: &[UNTORN],
            play: |party| Box::pin(untorn(party, Writer::Installing)),
            seen: "images read between the first and the last",
            ..Test::of_two()
        },
        Test {
            name: "rows-installed",
            promise: "readers of an installed row see the link first, then the image, then the header",
            falls_if: "install_row writes in another order, or its words are reordered",
            broken: &[UNTORN],
            play: |party| Box::pin(installed(party)),
            seen: "rows installed since the last look",
            ..Test::of_two()
        },
    ]
}

/// Every word of the image contains its version.
fn image(version: u64) -> [u64; WORDS as usize] {
    let mut words = [version; WORDS as usize];
    words[WORDS as usize - 1] = 0;
    words
}

/// The ways in which a row is written repeatedly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Writing(Cover),
    Installing,
}

async fn untorn<E: Env>(party: Party<E>, writer: Writer) -> Report {
    party.meet(0).await?;
    if party.number == 0 {
        return write_rows(&party, writer).await;
    }
    let cover = match writer {
        Writer::Writing(cover) => cover,
        Writer::Installing => Cover::AllButLink,
    };
    let (mut between, mut last) = (0, 0);
    let deadline = party.deadline();
    let mut batch = Batch::new();
    while last < LAST {
        batch.reset();
        let span = batch.read_row(word(0, 0), WORDS, cover);
        batch = party.execute(batch).await?;
        let words = batch.words(span);
        let version = words[VERSION as usize];
        deadline.check(&party.env)?;
        let has_header = writer == Writer::Installing || words[HEADER as usize] == 0;
        party.expect(has_header, || "write_row wrote a header".to_owned())?;
        if version == VersionWord::TORN.word() {
            continue;
        }
        party.expect(version >= last, || format!("version {version} came after {last}"))?;
        let mut image = words[LINK as usize + 1..WORDS as usize - 1].iter();
        let is_torn = image.any(|&word| word != version)
            || cover == Cover::All && words[LINK as usize] != version;
        party.expect(!is_torn, || format!("a torn row: {words:?}"))?;
        party.see(&mut between, last > 0 && version > last).await?;
        last = version;
    }
    Ok(vec![between])
}

async fn write_rows<E: Env>(party: &Party<E>, writer: Writer) -> Report {
    let mut batch = Batch::new();
    let mut pace = Pace::default();
    loop {
        let version = party.next(&mut pace).await?.unwrap_or(LAST);
        batch.reset();
        let (span, link) = (batch.put(&image(version)), batch.put(&[version]));
        match writer {
            Writer::Installing => {
                batch.install_row_at_once(word(0, 0), span, LINK + 1, Cover::AllButLink);
            }
            Writer::Writing(cover) => batch.write_row(word(0, 0), span, LINK, cover),
        }
        if writer == Writer::Writing(Cover::AllButLink) {
            batch.write(word(0, u64::from(LINK)), link);
        }
        batch = party.execute(batch).await?;
        if version == LAST {
            return Ok(Vec::new());
        }
    }
}

async fn installed<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    let mut batch = Batch::new();
    if party.number == 0 {
        let mut pace = Pace::default();
        loop {
            let version = party.next(&mut pace).await?.unwrap_or(LAST);
            batch.reset();
            let span = batch.put(&image(version));
            batch.install_row(word(0, 0), span, LINK + 1, Cover::AllButLink);
            batch = party.execute(batch).await?;
            if version == LAST {
                return Ok(Vec::new());
            }
        }
    }
    let (mut seen, mut last) = (0, 0);
    let deadline = party.deadline();
    while last < LAST {
        batch.reset();
        let header = batch.read(word(0, u64::from(HEADER)), 1);
        batch.fence();
        let row = batch.read_row(word(0, 0), WORDS, Cover::AllButLink);
        batch.fence();
        let link = batch.read(word(0, u64::from(LINK)), 1);
        batch = party.execute(batch).await?;
        let (header, link) = (batch.words(header)[0], batch.words(link)[0]);
        let words = batch.words(row);
        let version = words[VERSION as usize];
        if version != VersionWord::TORN.word() {
            party.expect(header <= version && version <= link, || {
                format!("header {header}, then version {version}, then link {link}")
            })?;
            let is_torn = words[3..WORDS as usize - 1].iter().any(|&word| word != version);
            party.expect(!is_torn, || format!("a torn row: {words:?}"))?;
        }
        party.see(&mut seen, last < header && header < LAST).await?;
        last = header;
        deadline.check(&party.env)?;
    }
    Ok(vec![seen])
}
