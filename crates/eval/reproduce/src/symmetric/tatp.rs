//! TATP on a symmetric cluster, stored and executed as a [`Design`] says [SPADE 5.3].
//!
//! Partitioned tables are a set of four for each machine, with all rows of its subscribers,
//! including the index on numbers; other tables are one set over all machines. Subscribers are
//! drawn uniformly [SPADE 2.3, listing 1].

use super::rows::another;
use super::{LaneId, Load};
use fabric::DynEnv;
use layout::{IndexDesign, PhysicalDesign};
use simulated_cluster::ground::Ground;
use spade::design::{self, Access, Design, Partition, TableDesign};
use std::sync::Arc;
use txn::{Database, Lane};
use workload::tatp::{Input, Kind, Tables, TatpConfig, Terminal as Hired};
use workload::{Finished, Random, WorkloadError, tatp};

/// The random stream of the clients.
const STREAM: u32 = 251;
/// Bytes of the answers of the first three types: a subscriber, the number that calls are forwarded
/// to, a type of access.
const ANSWERS: [usize; 3] = [84, 15, 12];
/// Percentage of transactions on subscribers of another machine, if tables are partitioned [SPADE
/// 5.3].
const REMOTE_PERCENT: u32 = 10;

/// TATP with a design.
#[derive(Clone, Debug)]
pub(crate) struct Tatp {
    machines: u16,
    subscribers_each: u32,
    seed: u64,
    design: Arc<Design>,
}

/// The state of a lane.
pub(crate) struct Terminal {
    machine: u16,
    random: Random,
    hired: Hired,
    /// All sets of tables.
    sets: Arc<[Tables]>,
}

impl Tatp {
    /// This many machines with this many subscribers each.
    pub fn new((seed, machines, subscribers_each): (u64, u16, u32), design: Arc<Design>) -> Self {
        assert_eq!(design.tables.len(), 4, "TATP has four tables");
        Self { machines, subscribers_each, seed, design }
    }

    fn config(&self) -> TatpConfig {
        let subscribers = self.subscribers_each * u32::from(self.machines);
        TatpConfig { seed: self.seed, ..TatpConfig::new(subscribers) }
    }

    fn is_partitioned(&self) -> bool {
        matches!(self.design.tables[0].partition, Partition::By { .. })
    }

    /// The sets of tables: the suffix of their names, their machine, and the number of subscribers
    /// of each.
    fn sets(&self) -> (Vec<(String, Option<u16>)>, u64) {
        if !self.is_partitioned() {
            return (vec![(String::new(), None)], self.config().subscribers.into());
        }
        let machines = 0..self.machines;
        let of = |machine| (format!("_{machine}"), Some(Ground::memory_node(machine).0));
        (machines.map(of).collect(), self.subscribers_each.into())
    }

    /// The set that has a subscriber.
    fn set_of(&self, s_id: i32) -> usize {
        if self.is_partitioned() { (s_id as usize - 1) / self.subscribers_each as usize } else { 0 }
    }

    fn is_shipped(&self, kind: Kind) -> bool {
        let procedures = &self.design.procedures;
        let design = procedures.iter().find(|design| design.procedure == kind.name());
        design.is_some_and(|design| design.access == Access::Shipped)
    }
}

/// A table's design for set `number`, sized for `of` of `all` subscribers.
fn stored(
    table: &TableDesign,
    (number, server): (u64, Option<u16>),
    (of, all): (u64, u64),
) -> PhysicalDesign {
    let placement = match &table.placement {
        design::Placement::Hashed { load_percent } => {
            layout::Placement::Hashed { load_percent: *load_percent }
        }
        design::Placement::Dense { columns } => {
            let mut columns = columns.clone();
            // A set has a part of the first column, the subscriber.
            columns[0] = (columns[0].0 + (number * of) as i64, of);
            layout::Placement::Dense { columns }
        }
    };
    PhysicalDesign {
        storage: table.storage,
        neighbourhood: table.neighbourhood,
        versions_beside: table.versions_beside,
        keeps_versions: table.keeps_versions,
        size_hint: table.rows * of / all,
        node_bytes: table.node_bytes,
        placement,
        server,
        part: None,
    }
}

impl Load for Tatp {
    type Input = Input;
    type Terminal = Terminal;

    fn tables(&self, _machines: u16) -> usize {
        self.sets().0.len() * self.design.tables.len()
    }

    fn kinds(&self) -> usize {
        Kind::MIX.len()
    }

    async fn fill(
        &self,
        database: &Database<DynEnv>,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let config = self.config();
        let (sets, each) = self.sets();
        let share = (each, u64::from(config.subscribers));
        for ((suffix, server), number) in sets.iter().zip(0..) {
            let tables = &self.design.tables;
            let designs =
                std::array::from_fn(|place| stored(&tables[place], (number, *server), share));
            let index = &tables[0].indexes[0];
            let index = IndexDesign {
                kind: index.kind,
                node_bytes: index.node_bytes,
                size_hint: index.entries * share.0 / share.1,
                ..IndexDesign::default()
            };
            tatp::create_set(database, suffix, designs, index).await?;
        }
        // A change of the catalog waits for active lanes, so all tables are created before the
        // first lane.
        let mut lane = database.lane().await?;
        for ((suffix, _), number) in sets.iter().zip(0..) {
            let tables = Tables::find_set(database, suffix)?;
            let range = number * each..(number + 1) * each;
            tatp::load_subscribers(&mut lane, &tables, &config, range.clone(), progress).await?;
            tatp::write_again(&mut lane, &tables, &config, range).await?;
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<DynEnv>,
        place: LaneId,
    ) -> Result<Terminal, WorkloadError> {
        let find = |(suffix, _): (String, _)| Tables::find_set(database, &suffix);
        let sets: Arc<[Tables]> = self.sets().0.into_iter().map(find).collect::<Result<_, _>>()?;
        let random = Random::stream(self.seed, STREAM, place.number().into());
        let hired = Hired::hired(self.config(), sets[0]);
        Ok(Terminal { machine: place.machine, random, hired, sets })
    }

    async fn learn(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
    ) -> Result<(), WorkloadError> {
        let (_, each) = self.sets();
        for (number, &tables) in (0..).zip(terminal.sets.iter()) {
            terminal.hired.look(lane, tables, 1 + (number * each) as i32).await?;
        }
        Ok(())
    }

    fn draw(&self, terminal: &mut Terminal) -> (Input, Option<u16>) {
        let Terminal { machine, random, .. } = terminal;
        let kind = Kind::draw(random);
        if !self.is_partitioned() {
            let s_id = 1 + random.below(self.config().subscribers.into()) as i32;
            return (Input::draw(kind, s_id, random), None);
        }
        let is_remote = random.percent(REMOTE_PERCENT);
        let owner = if is_remote { another(random, *machine, self.machines) } else { *machine };
        let each = self.subscribers_each;
        let s_id = (u32::from(owner) * each) as i32 + 1 + random.below(each.into()) as i32;
        let is_shipped = is_remote && self.is_shipped(kind);
        (Input::draw(kind, s_id, random), is_shipped.then_some(owner))
    }

    fn encode(&self, input: &Input) -> Vec<u8> {
        let Input { kind, s_id, sort, starts, ends, bit, data, location, .. } = *input;
        let mut request = vec![kind as u8];
        request.extend(s_id.to_le_bytes());
        for number in [sort, starts, ends, bit, data] {
            request.extend(number.to_le_bytes());
        }
        request.extend(location.to_le_bytes());
        request.extend(input.number);
        request.extend(input.destination);
        request
    }

    fn decode(&self, request: &[u8]) -> Option<Input> {
        let (&kind, rest) = request.split_first()?;
        let (s_id, rest) = rest.split_first_chunk()?;
        let (numbers, rest) = rest.split_first_chunk::<10>()?;
        let (location, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (destination, []) = rest.split_first_chunk()? else { return None };
        let small = |at: usize| i16::from_le_bytes([numbers[2 * at], numbers[2 * at + 1]]);
        Some(Input {
            kind: Kind::MIX.get(usize::from(kind))?.0,
            s_id: i32::from_le_bytes(*s_id),
            sort: small(0),
            starts: small(1),
            ends: small(2),
            bit: small(3),
            data: small(4),
            location: i32::from_le_bytes(*location),
            number: *number,
            destination: *destination,
        })
    }

    async fn carry_out(
        &self,
        lane: &mut Lane<DynEnv>,
        terminal: &mut Terminal,
        input: &Input,
        answer: &mut Vec<u8>,
    ) -> Result<Finished, WorkloadError> {
        let tables = terminal.sets[self.set_of(input.s_id)];
        let finished = terminal.hired.carry_out(lane, tables, input).await?;
        answer.resize(ANSWERS.get(input.kind as usize).copied().unwrap_or(0), 0);
        Ok(finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::spade::designs;

    fn tatp(version: usize) -> Tatp {
        let design = designs::tatp(version, 4 * 100);
        Tatp::new((1, 4, 100), Arc::new(design))
    }

    #[test]
    fn inputs_survive_their_way() {
        let (tatp, mut random) = (tatp(0), Random::new(2));
        for (kind, _) in Kind::MIX {
            let input = Input::draw(kind, 77, &mut random);
            let request = tatp.encode(&input);
            assert_eq!(tatp.decode(&request), Some(input));
            assert_eq!(tatp.decode(&request[1..]), None);
        }
    }

    #[test]
    fn partitioned_subscribers_have_a_set_of_tables_each_machine() {
        let (round_robin, partitioned) = (tatp(0), tatp(2));
        assert_eq!([&round_robin, &partitioned].map(|tatp| tatp.tables(4)), [4, 16]);
        let sets = |tatp: &Tatp| [1, 100, 101, 400].map(|s_id| tatp.set_of(s_id));
        assert_eq!((sets(&round_robin), sets(&partitioned)), ([0; 4], [0, 0, 1, 3]));
    }
}
