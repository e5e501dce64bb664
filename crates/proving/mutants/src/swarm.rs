//! Kinds of worlds that the seed draws whole, so that features meet which no list of kinds puts
//! together: rare states are often reached only by several of them at once.
//!
//! Each seed draws which features are on, and how strong each is, as in swarm testing (Groce et
//! al., ISSTA 2012).

use crate::dice::Dice;
use crate::kind::{Division, Finding, Kind, ROOMY};
use layout::{IndexKind, Storage};
use sim::Carrier;
use txn::{Isolation, Oracle};

/// All worlds are drawn.
pub const SWARM: Kind = Kind { is_drawn: true, ..ROOMY };

/// Most times that a verb is slower, where memory servers return.
const SLOW_FACTOR_MAX: u64 = 100;

/// The random stream of the drawing; sessions and worlds have others.
const STREAM: u64 = u64::MAX;

/// The kind of world of a seed.
pub fn kind(seed: u64) -> Kind {
    let dice = &mut Dice::new(seed, STREAM);
    let draws = [content, oracle, sessions, timing];
    let kind = draws.into_iter().fold(ROOMY, |kind, draw| draw(dice, kind));
    // Each new table or index needs room, in the end, too. Regions of 8 MiB have a reserve.
    let is_changed = kind.remakes_index || kind.has_passing_table;
    let sizes: &[u64] =
        if is_changed { &[1 << 19, 1 << 20] } else { &[1 << 17, 1 << 17, 1 << 18, 1 << 20] };
    let kind = Kind {
        server_words: one_of(dice, sizes),
        // Sessions that keep leaves insert where they have not read, and find out at the commit.
        keeps_leaves: kind.storage == Some(Storage::Tree) && dice.percent(20),
        has_wide_keys: dice.percent(30),
        ..kind
    };
    // Parked transactions hold old versions longer than running ones.
    let holds_versions = is_changed && kind.park_percent > 0;
    let server_words = if holds_versions { 1 << 20 } else { kind.server_words };
    let kind = Kind { server_words, ..kind };
    // Lanes that share a slot have no journals.
    let may_die = !kind.shares_slot;
    let deaths = if may_die && dice.percent(40) { 1 + dice.below(2) } else { 0 };
    // The dead leave the memory of their pools behind.
    let server_words = if deaths > 0 { 1 << 20 } else { kind.server_words };
    let replicas = one_of(dice, &[1, 1, 2, 3]);
    let kind = Kind { deaths, server_words, replicas, ..kind };
    // Lanes that share a slot cannot decide what they have lost, and fetchers need every batch.
    let may_be_lost = replicas > 1 && may_die && kind.vector_copies == 0 && !is_changed;
    let is_whole = kind.lost_batch_one_in == 0;
    let server_deaths = u64::from(may_be_lost && is_whole && dice.percent(50));
    // The dead leave their memory, and others take over what they did.
    let server_words = if server_deaths > 0 { 1 << 20 } else { kind.server_words };
    // Those that return may be the last ones.
    let returns = server_deaths > 0 && dice.percent(50);
    let server_deaths = if returns { 1 + dice.below(3) } else { server_deaths };
    // Over the slowest networks it would take longer to copy a server than a world may last.
    let slow_factor =
        if returns { kind.slow_factor.min(SLOW_FACTOR_MAX) } else { kind.slow_factor };
    Kind { server_deaths, server_words, returns, slow_factor, ..kind }
}

/// One of these values.
fn one_of<T: Copy>(dice: &mut Dice, values: &[T]) -> T {
    values[dice.below(values.len() as u64) as usize]
}

/// The table, its index, and the lists.
fn content(dice: &mut Dice, kind: Kind) -> Kind {
    let (hash, tree) = (IndexKind::Hash, IndexKind::Tree);
    let findings = [
        Finding::Keys,
        Finding::KeysOrIndex(hash),
        Finding::KeysOrIndex(tree),
        Finding::Owner(hash),
        Finding::Owner(tree),
    ];
    let finding = one_of(dice, &findings);
    let parts = 2 + dice.below(3) as u16;
    let whole = Division::Whole;
    let copied = Division::Copied(parts);
    let divided = [whole, whole, copied, Division::Ranges(parts), Division::Hashed(parts)];
    let division = one_of(dice, &divided);
    let can_remake = matches!(finding, Finding::KeysOrIndex(_)) && division == whole;
    Kind {
        storage: Some(one_of(
            dice,
            &[Storage::HashInlined, Storage::HashOutside, Storage::Tree, Storage::Tree],
        )),
        finding,
        lists: 1 + dice.below(8),
        elements: one_of(dice, &[2, 4, 8, 24]),
        neighbourhood: one_of(dice, &[0, 0, 1, 16]),
        is_long: dice.percent(15),
        versions_beside: 1 + dice.below(3) as u32,
        keeps_versions: dice.percent(15),
        node_bytes: one_of(dice, &[64, 64, 128, 256]),
        spare_rows: one_of(dice, &[0, 0, 0, 20, 60]),
        division,
        has_passing_table: dice.percent(15),
        remakes_index: can_remake && dice.percent(50),
        ..kind
    }
}

/// The oracle, and slots.
fn oracle(dice: &mut Dice, kind: Kind) -> Kind {
    let is_frozen = dice.percent(50);
    let is_fetched = is_frozen && dice.percent(40);
    let shares_slot = is_fetched || dice.percent(25);
    // A shared slot is not exchanged when its numbers end.
    let may_wrap = !shares_slot && kind.spare_rows == 0;
    Kind {
        oracle: if is_frozen { Oracle::Frozen } else { Oracle::DoubleCollect },
        shares_slot,
        vector_copies: if is_fetched { 1 + dice.below(3) as u32 } else { 0 },
        has_unaware_lane: is_fetched && dice.percent(25),
        slots: if is_fetched { 16 } else { 0 },
        is_near_wrap: may_wrap && dice.percent(5),
        ..kind
    }
}

/// The sessions and their transactions.
fn sessions(dice: &mut Dice, kind: Kind) -> Kind {
    let is_serial = dice.percent(40);
    // Fetchers of vectors, and the load of the table, need every batch.
    let may_lose = kind.vector_copies == 0 && kind.spare_rows == 0 && dice.percent(12);
    Kind {
        isolation: if is_serial { Isolation::Serializable } else { Isolation::Snapshot },
        servers: one_of(dice, &[1, 1, 2, 3]),
        sessions: 2 + dice.below(6),
        transactions: one_of(dice, &[15, 25, 40]),
        operations: 1 + dice.below(5),
        read_percent: one_of(dice, &[10, 25, 50, 75]),
        move_percent: one_of(dice, &[0, 20, 50, 80, 100]),
        visit_percent: one_of(dice, &[0, 5, 15]),
        tide_percent: one_of(dice, &[0, 0, 20, 50]),
        is_staggered: dice.percent(15),
        lost_batch_one_in: if may_lose { 60 } else { 0 },
        ..kind
    }
}

/// Times: of verbs, pauses, and horizons.
fn timing(dice: &mut Dice, kind: Kind) -> Kind {
    // Changes of the catalog wait for the longest time of a transaction, and fetchers go on
    // meanwhile. They acknowledge a change in the next tenth of a millisecond.
    let is_changed = kind.remakes_index || kind.has_passing_table;
    let is_short = is_changed && kind.vector_copies > 0;
    let times: &[u64] = match is_short {
        true => &[150_000, 300_000],
        false => &[0, 0, 5_000, 20_000, 100_000, 1_000_000_000],
    };
    let slow_factor = one_of(dice, &[0, 0, 20, 100, 1_000]);
    Kind {
        // It reads the ring over and over, as long as the collector's verbs take.
        has_unaware_lane: kind.has_unaware_lane && slow_factor < 1_000,
        carrier: one_of(dice, &[None, Some(Carrier::Card), Some(Carrier::Caller)]),
        is_tight: dice.percent(80) || is_short,
        // With the longest, horizons hardly move.
        time_max_ns: one_of(dice, times),
        park_percent: one_of(dice, &[0, 0, 0, 40]),
        pause_percent: one_of(dice, &[0, 5, 20, 30]),
        pause_ns: one_of(dice, &[4_000, 20_000, 400_000]),
        word_ns: one_of(dice, &[0, 0, 100, 500, 2_000, 4_000]),
        slow_factor,
        slow_one_in: one_of(dice, &[8, 50]),
        is_in_order: dice.percent(30),
        ..kind
    }
}
