//! Draws calls whose rows are on the memory servers of this process, except for a share of remote
//! calls.
//!
//! The procedure is drawn as usual. Then this module draws whether the call is at home, and selects
//! one of those memory servers. It draws the arguments again until the one that determines the home
//! has a value of that server. So the frequencies of procedures stay the same, and so do the
//! relative frequencies of a server's values; but each process calls with values of its own
//! servers, however rare these are. Searches are bounded, and a server whose values are never drawn
//! is given up.

use crate::design::Home;
use datagen::{Arguments, Calls, Judgement, Population};
use fabric::random::Random;
use sql_value::Value;
use std::sync::Arc;
use workload::Whereabouts;

/// First random stream of these choices, behind those of crate `datagen`.
const STREAM: u32 = 5 << 28;
/// Maximal number of draws for one call: a few dozen microseconds.
const DRAWS_MAX: u32 = 2_000;
/// After this number of equal values the search ends: a sequence gives no other value.
const SAME_MAX: u32 = 64;
/// A memory server is given up if this number of searches, beginning with the first, finds nothing.
const SEARCHES_MAX: u32 = 3;

/// The memory servers on which calls of a process have their rows.
#[derive(Clone, Debug)]
pub(crate) struct Residence {
    /// By procedure; `None` if its calls may access rows anywhere.
    places: Vec<Option<HomeServers>>,
    /// The share of remote calls.
    remote: f64,
}

/// The memory servers for calls of a procedure.
#[derive(Clone, Debug)]
struct HomeServers {
    home: Home,
    /// Servers of this process.
    own: Vec<u16>,
    /// All others.
    others: Vec<u16>,
}

impl Residence {
    /// For a process that owns the memory servers `own`, with the homes of procedures.
    pub fn new(homes: Vec<Option<Home>>, own: &[u16], remote: f64) -> Self {
        let places = |home: Option<Home>| {
            let (own, others): (Vec<u16>, Vec<u16>) =
                home?.servers().partition(|server| own.contains(server));
            // A process that owns none of the values has no home.
            (!own.is_empty()).then_some(HomeServers { home: home?, own, others })
        };
        Self { places: homes.into_iter().map(places).collect(), remote }
    }
}

/// Draws the calls of a client at their home.
#[derive(Debug)]
pub(crate) struct Resident {
    residence: Arc<Residence>,
    random: Random,
    /// By procedure and memory server: whether searches found calls there.
    found: Vec<Vec<SearchOutcome>>,
}

/// The outcome of earlier searches.
#[derive(Clone, Copy, Debug)]
enum SearchOutcome {
    /// All failed.
    Nothing { searches: u32 },
    /// At least one succeeded.
    Some,
}

impl Resident {
    /// The state of a client.
    pub fn new(residence: Arc<Residence>, seed: u64, client: u64) -> Self {
        let random = Random::stream(seed, STREAM, client);
        let of = |places: &Option<HomeServers>| {
            let servers = places.as_ref().map_or(0, |places| places.home.server_count());
            vec![SearchOutcome::Nothing { searches: 0 }; usize::from(servers)]
        };
        let found = residence.places.iter().map(of).collect();
        Self { residence, random, found }
    }

    /// Redraws the arguments of the last call until its rows are at the selected place; returns
    /// where they are.
    pub fn place(
        &mut self,
        calls: &mut Calls<Arc<Population>>,
        procedure: usize,
        arguments: &mut Arguments,
    ) -> Whereabouts {
        let Some(places) = &self.residence.places[procedure] else { return Whereabouts::Anywhere };
        let HomeServers { home, own, others } = places;
        let is_remote = self.random.fraction() < self.residence.remote && !others.is_empty();
        let among = if is_remote { others } else { own };
        let wanted = among[self.random.below(among.len() as u64) as usize];
        let position = home.argument();
        let found = &mut self.found[procedure][usize::from(wanted)];
        let is_there = home.server_of_value(&arguments.values()[position]) == Some(wanted);
        if !is_there && found.has_prospects() {
            let mut search = Search::new(home, wanted, &arguments.values()[position]);
            let judge = |value: &Value| search.judge(value);
            let is_found = calls.redraw_into(0, (procedure, position), arguments, judge);
            found.note(is_found);
        }
        match home.server_of_value(&arguments.values()[position]) {
            None => Whereabouts::Anywhere,
            Some(server) if own.contains(&server) => Whereabouts::Home,
            Some(_) => Whereabouts::Elsewhere,
        }
    }
}

impl SearchOutcome {
    /// Whether another search may succeed.
    fn has_prospects(self) -> bool {
        matches!(self, Self::Some | Self::Nothing { searches: ..SEARCHES_MAX })
    }

    fn note(&mut self, is_found: bool) {
        match self {
            _ if is_found => *self = Self::Some,
            Self::Nothing { searches } => *searches += 1,
            Self::Some => {}
        }
    }
}

/// A search for a value of a memory server.
struct Search<'h> {
    home: &'h Home,
    wanted: u16,
    first: Value,
    draws: u32,
    /// Whether all values were equal so far.
    is_same: bool,
}

impl<'h> Search<'h> {
    fn new(home: &'h Home, wanted: u16, first: &Value) -> Self {
        Self { home, wanted, first: first.clone(), draws: 0, is_same: true }
    }

    fn judge(&mut self, value: &Value) -> Judgement {
        self.draws += 1;
        self.is_same = self.is_same && *value == self.first;
        let draws_max = if self.is_same { SAME_MAX } else { DRAWS_MAX };
        match self.home.server_of_value(value) {
            Some(server) if server == self.wanted => Judgement::Wanted,
            _ if self.draws >= draws_max => Judgement::Stay,
            _ => Judgement::Another,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Stored};
    use datagen::Mix;
    use layout::PartRule;
    use spade_format::design::Partition;
    use std::path::Path;
    use txn::Isolation;

    /// A shipped workload whose tables are partitioned by the key columns that end with `column`;
    /// `argument` determines the home.
    fn stored(workload: &str, (column, argument): (&str, &str)) -> Stored {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload);
        let options = Options {
            linked: &[],
            units: Some(1),
            wants_plans: true,
            design: None,
            isolation: Isolation::Snapshot,
            seed: 7,
        };
        let stored = Stored::read(&folder, &options).expect("it is shipped");
        let mut design = stored.default_design();
        for (table, of) in stored.ready().catalog.tables.iter().zip(&mut design.tables) {
            let first = table.primary_key.first().filter(|_| !table.has_hidden_key());
            let name = first.map(|first| table.columns[*first].name.clone());
            if let Some(name) = name.filter(|name| name.ends_with(column)) {
                of.partition = Partition::By { columns: vec![name], group: "g".to_owned() };
            }
        }
        for (of, design) in stored.ready().procedures.iter().zip(&mut design.procedures) {
            let has_it = of.routine.inputs().any(|(_, variable)| variable.name == argument);
            design.by = has_it.then(|| argument.to_owned());
        }
        stored.with_design(design).expect("it fits")
    }

    /// A drawn call: procedure, arguments, and where its rows are.
    type Drawn = (usize, Vec<Value>, Whereabouts);

    fn draw(stored: &Stored, residence: &Arc<Residence>, client: u64, count: usize) -> Vec<Drawn> {
        let mut calls = Calls::new(stored.population().clone(), client, 8, Mix::Deck);
        let mut resident = Resident::new(residence.clone(), 7, client);
        let one = |_| {
            let mut arguments = Arguments::default();
            let procedure = calls.next_into(0, &mut arguments);
            let whereabouts = resident.place(&mut calls, procedure, &mut arguments);
            (procedure, std::mem::take(arguments.whole()), whereabouts)
        };
        (0..count).map(one).collect()
    }

    fn plain(stored: &Stored, client: u64, count: usize) -> Vec<(usize, Vec<Value>)> {
        let mut calls = Calls::new(stored.population().clone(), client, 8, Mix::Deck);
        let calls = (0..count).map(|_| calls.next_call(0));
        calls.map(|call| (call.procedure, call.arguments)).collect()
    }

    fn residence(stored: &Stored, servers: usize, own: &[u16], remote: f64) -> Arc<Residence> {
        Arc::new(Residence::new(stored.homes(servers), own, remote))
    }

    /// Checks that a count is within five standard deviations of its expected value.
    fn assert_share(count: usize, all: usize, chance: f64) {
        let expected = all as f64 * chance;
        let bound = 5.0 * (expected * (1.0 - chance)).sqrt();
        assert!((count as f64 - expected).abs() <= bound, "{count} of {all}, and not {chance}");
    }

    #[test]
    fn calls_are_at_home_but_for_their_share_and_follow_from_seed_and_client() {
        let bank = stored("smallbank", ("customer_id", "customer"));
        let homes = bank.homes(4);
        let of_two = residence(&bank, 4, &[1, 3], 0.25);
        let drawn = draw(&bank, &of_two, 2, 40_000);
        assert_eq!(drawn, draw(&bank, &of_two, 2, 40_000));
        assert_ne!(drawn[..100], draw(&bank, &of_two, 3, 100)[..]);
        let server = |(procedure, arguments, _): &Drawn| {
            homes[*procedure].and_then(|home| home.server_of_value(&arguments[home.argument()]))
        };
        for (number, chance) in [(0, 0.125), (1, 0.375), (2, 0.125), (3, 0.375)] {
            let there = drawn.iter().filter(|call| server(call) == Some(number)).count();
            assert_share(there, drawn.len(), chance);
        }
        let elsewhere = |call: &&Drawn| call.2 == Whereabouts::Elsewhere;
        assert!(drawn.iter().all(|call| elsewhere(&call) == matches!(server(call), Some(0 | 2))));
        // The sequence of procedures is unchanged; without homes, the arguments are unchanged, too.
        let plain = plain(&bank, 2, 40_000);
        assert!(drawn.iter().zip(&plain).all(|(call, plain)| call.0 == plain.0));
        let nowhere = draw(&bank, &residence(&bank, 4, &[], 0.25), 2, 1_000);
        assert!(nowhere.iter().all(|call| call.2 == Whereabouts::Anywhere));
        assert!(nowhere.into_iter().map(|(at, of, _)| (at, of)).eq(plain[..1_000].iter().cloned()));
    }

    /// The relative frequencies of a server's values are unchanged.
    #[test]
    fn hot_values_stay_hot_at_home() {
        let bank = stored("smallbank", ("customer_id", "customer"));
        let drawn = draw(&bank, &residence(&bank, 2, &[0], 0.0), 0, 40_000);
        let hot = drawn.iter().filter(|call| matches!(call.1[0], Value::Int(..4000))).count();
        // Of 100 draws, 90.4 are among the first 4,000 values, and 4.6 among the other 46,000 at
        // home.
        assert_share(hot, drawn.len(), 90.4 / 95.0);
    }

    /// The only warehouse is on one of two servers. A process on the other server has no home, and
    /// no call is ever remote.
    #[test]
    fn a_process_without_values_has_no_home() {
        let tpcc = stored("tpcc", ("w_id", "home_warehouse"));
        let of_none = draw(&tpcc, &residence(&tpcc, 2, &[1], 0.5), 0, 500);
        assert!(of_none.iter().all(|call| call.2 == Whereabouts::Anywhere));
        let of_all = draw(&tpcc, &residence(&tpcc, 2, &[0], 1.0), 0, 500);
        let told = of_all.iter().filter(|call| call.2 == Whereabouts::Home).count();
        assert!(told > 200 && of_all.iter().all(|call| call.2 != Whereabouts::Elsewhere));
    }

    /// Values of a server that are never drawn, such as keys of future rows.
    #[test]
    fn a_server_whose_values_never_come_is_given_up() {
        let bank = stored("smallbank", ("customer_id", "customer"));
        let rule = PartRule::Ranges { smallest: 0, values: 1_000_000 };
        let homes = bank.homes(10).iter().map(|_| Some(Home::of(0, rule, 10))).collect();
        let residence = Arc::new(Residence::new(homes, &[5], 0.0));
        let mut calls = Calls::new(bank.population().clone(), 0, 1, Mix::Deck);
        let mut resident = Resident::new(residence, 7, 0);
        let mut arguments = Arguments::default();
        for _ in 0..100 {
            let procedure = calls.next_into(0, &mut arguments);
            let whereabouts = resident.place(&mut calls, procedure, &mut arguments);
            assert_eq!(whereabouts, Whereabouts::Elsewhere);
        }
        assert!(resident.found.iter().all(|servers| !servers[5].has_prospects()));
    }

    #[test]
    fn a_search_for_values_that_are_not_drawn_ends() {
        let home = Home::of(0, PartRule::Ranges { smallest: 0, values: 10 }, 2);
        let judged = |values: &mut dyn Iterator<Item = i64>| {
            let mut search = Search::new(&home, 1, &Value::Int(3));
            let mut judge = |value| search.judge(&Value::Int(value));
            values.map(&mut judge).take_while(|judgement| *judgement == Judgement::Another).count()
        };
        assert_eq!(judged(&mut std::iter::repeat(3)), SAME_MAX as usize - 1);
        assert_eq!(judged(&mut (0..5).cycle()), DRAWS_MAX as usize - 1);
        assert_eq!(judged(&mut (0..10)), 5, "the first of the other server is wanted");
    }
}
