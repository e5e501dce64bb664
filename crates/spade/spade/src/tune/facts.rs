//! Everything that does not depend on a design: the cluster, the load, what procedures execute, and
//! the sizes of tables.
//!
//! Decision: docs/decisions/0235-a-given-design-is-forecast-from-the-same-facts-as-the-tuners.md

use crate::tune::contention::conflicts::{self, MachineGroup};
use crate::tune::contention::insert_conflicts::InsertSites;
use crate::tune::cost::memo::Memo;
use crate::tune::cost::surface::Surface;
use crate::tune::cost::versions::UpdateRates;
use crate::tune::model::{HomeBy, Locality, Model};
use crate::tune::report::tuning::Target;
use crate::tune::search::candidates::TableShape;
use crate::tune::search::choose::LOCATED_MIN;
use crate::tune::workload::draws::{Drawn, Draws};
use crate::tune::workload::grouping::{self, Grouping, Question, Source};
use crate::tune::workload::profile::Profile;
use crate::tune::workload::skew::RowPlacement;
use crate::tune::world::{self, SelectedCluster};
use crate::tune::{Input, Options, TuneError};
use procedure::node::Procedure;
use procedure::operations::{Action, Operation};
use sql::load::Expectation;
use sql::{Catalog, Load, WorkloadFolder};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Everything that does not depend on a design.
pub struct Facts<'a> {
    pub input: Input<'a>,
    pub options: &'a Options,
    pub chosen: SelectedCluster,
    pub surface: Surface,
    pub units: u64,
    /// Drawn calls, and row counts.
    pub draws: Draws,
    /// By procedure: what a call executes.
    pub profiles: Vec<Profile>,
    /// By table: sizes and statistics.
    pub shapes: Vec<TableShape>,
    /// Memo of conflicts by the homes of calls: many designs have the same homes.
    met: RefCell<Vec<(Homes, ConflictFacts)>>,
}

/// By procedure: the argument or row that determines the home of its calls.
type Homes = Vec<Option<Source>>;

/// Conflicts on updated rows, conflicts on inserts, and how often rows of each table are updated.
type ConflictFacts =
    (Rc<Vec<MachineGroup>>, Rc<InsertSites>, Rc<Vec<BTreeMap<usize, Rc<UpdateRates>>>>);

impl<'a> Facts<'a> {
    /// Collects the facts about a workload on a cluster.
    ///
    /// # Errors
    /// See [`TuneError`].
    pub fn new(input: Input<'a>, options: &'a Options) -> Result<Self, TuneError> {
        let WorkloadFolder { program, load, .. } = input.folder;
        let all: f64 = load.procedures.iter().map(|of| of.frequency).sum();
        if all <= 0.0 {
            return Err(TuneError::NoFrequency { workload: load.name.clone() });
        }
        let chosen = world::choose(input.measurements, load, options)?;
        let surface = Surface::new(input.measurements, &chosen.world);
        if options.replicas > 1 && !surface.has_replicas(options.replicas) {
            return Err(TuneError::Replicas { replicas: options.replicas });
        }
        let units = options.units.unwrap_or(load.units);
        let draws = Draws::new(program, load, units)?;
        let procedures = input.workload.procedures.iter().enumerate();
        let profiles = procedures.map(|(at, procedure)| {
            let called = load.procedures.get(at);
            let share = called.map_or(0.0, |of| of.frequency / all);
            let profile = Profile::new(input.workload, procedure, share, draws.of(at, procedure));
            profile.succeeding(called.and_then(|of| of.succeeds))
        });
        let profiles: Vec<Profile> = profiles.collect();
        let mut called = profiles.iter().filter(|of| of.share > 0.0).flat_map(|of| &of.requests);
        if !called.any(|request| request.times > 0.0) {
            return Err(TuneError::NothingAsked { workload: load.name.clone() });
        }
        let is_coherent = matches!(&*chosen.world.fabric, "local" | "shm");
        let tables = input.workload.catalog.tables.iter().enumerate();
        let shapes = tables.map(|(at, table)| {
            TableShape::new(
                table,
                at,
                draws.rows[at],
                &profiles,
                (load, units),
                &surface,
                !is_coherent,
            )
        });
        let shapes = shapes.collect();
        let met = RefCell::default();
        Ok(Self { input, options, chosen, surface, units, draws, profiles, shapes, met })
    }

    pub fn catalog(&self) -> &'a Catalog {
        &self.input.workload.catalog
    }

    pub fn load(&self) -> &'a Load {
        &self.input.folder.load
    }

    /// The workload and cluster that designs are for.
    pub fn target(&self) -> Target {
        Target {
            workload: self.load().name.clone(),
            world: self.chosen.world.clone(),
            machines: self.chosen.machines,
            threads: self.chosen.threads,
            lanes: self.chosen.lanes,
            units: self.units,
            unit: self.load().unit.clone(),
        }
    }

    pub fn drawn(&self) -> Vec<Drawn<'_>> {
        let procedures: &[Procedure] = &self.input.workload.procedures;
        procedures.iter().enumerate().map(|(at, of)| self.draws.of(at, of)).collect()
    }

    /// The grouping that the tuner selects: which tables are partitioned together.
    pub fn grouping(&self) -> Grouping {
        grouping::group(&self.question(&self.drawn()))
    }

    /// Other groupings, by attributes with fewer local rows.
    pub fn other_groupings(&self) -> Vec<Grouping> {
        grouping::others(&self.question(&self.drawn()))
    }

    fn question<'q>(&'q self, drawn: &'q [Drawn<'q>]) -> Question<'q> {
        Question {
            catalog: self.catalog(),
            load: self.load(),
            expectation: Expectation::new(self.load(), self.units),
            profiles: &self.profiles,
            drawn,
            rows: &self.draws.rows,
            bytes: self.shapes.iter().map(TableShape::row_sum).collect(),
            copied_max: self.chosen.budget.map_or(grouping::COPIED_MAX, |budget| budget / 10),
            machines: self.chosen.machines,
            ranged: self.catalog().tables.iter().map(|of| self.draws.is_ranged(of)).collect(),
        }
    }

    /// The model under a grouping, if designs name the best argument of each procedure.
    pub fn model<'m>(&'m self, grouping: &'m Grouping) -> Model<'m> {
        self.model_by(grouping, |_| HomeBy::Best)
    }

    /// The same as the tuner will write the design: arguments that locate too few rows are not
    /// named, so that those calls arrive at any machine.
    pub fn model_as_written<'m>(&'m self, grouping: &'m Grouping) -> Model<'m> {
        let calls = self.calls(grouping, &|_| HomeBy::Best);
        let nameless = self.calls(grouping, &|_| HomeBy::Nothing).into_iter();
        let calls = calls.into_iter().zip(nameless).map(|(best, nameless)| match best.told {
            Some(told) if told >= LOCATED_MIN => best,
            told => Locality { told, ..nameless },
        });
        self.model_of(grouping, calls.collect())
    }

    /// The same with a given argument for each procedure.
    pub fn model_by<'m>(
        &'m self,
        grouping: &'m Grouping,
        by: impl Fn(usize) -> HomeBy,
    ) -> Model<'m> {
        self.model_of(grouping, self.calls(grouping, &by))
    }

    /// Where calls find their rows, without differences between machines.
    fn calls(&self, grouping: &Grouping, by: &dyn Fn(usize) -> HomeBy) -> Vec<Locality> {
        let (catalog, machines) = (self.catalog(), self.chosen.machines);
        let calls = self.profiles.iter().zip(self.drawn()).enumerate();
        let calls = calls.map(|(at, (of, drawn))| {
            let tells = |operation: usize, column: usize| {
                let Operation { table, action, .. } = &of.operations[operation];
                let (table, Action::Read { keys, .. }) = (&catalog.tables[*table], action) else {
                    return false;
                };
                let from = &table.columns[column].name;
                let mut equal = keys.iter().filter(|key| key.is_equal);
                equal.any(|key| {
                    spade_format::division::is_written_out(self.load(), table, key.column, from)
                })
            };
            Locality::new(of, drawn, catalog, grouping, machines, (by(at), &tells))
        });
        calls.collect()
    }

    fn model_of<'m>(&'m self, grouping: &'m Grouping, mut calls: Vec<Locality>) -> Model<'m> {
        let (catalog, machines) = (self.catalog(), self.chosen.machines);
        let places =
            RowPlacement { catalog, load: self.load(), draws: &self.draws, grouping, machines };
        self.skew(&places, &mut calls);
        for ((profile, call), drawn) in self.profiles.iter().zip(&mut calls).zip(self.drawn()) {
            let each =
                profile.requests.iter().map(|request| places.local(profile, request, call, drawn));
            call.local_on = each.map(Option::unwrap_or_default).collect();
        }
        let (conflict_rates, insert_sites, changes) = self.conflict_rates(&places, &calls);
        let kinds = |table: &sql::Table| table.indexes.iter().map(|index| index.kind).collect();
        Model {
            surface: &self.surface,
            profiles: &self.profiles,
            shapes: &self.shapes,
            declared: Rc::new(catalog.tables.iter().map(kinds).collect()),
            grouping,
            calls: Rc::new(calls),
            conflict_rates,
            insert_sites,
            changes,
            machines: self.chosen.machines,
            remote_calls: self.options.remote_calls,
            replicas: self.options.replicas,
            threads: self.chosen.threads,
            lanes: self.chosen.lanes,
            known: Memo::new(),
            last: RefCell::default(),
            priced: Memo::new(),
        }
    }

    /// Finds the machine with most of the rows that calls access remotely, and how many more than
    /// the mean it has.
    fn skew(&self, places: &RowPlacement<'_>, calls: &mut [Locality]) {
        let machines = self.chosen.machines;
        let mut sums = vec![0.0; machines as usize];
        let mut found = Vec::new();
        for ((profile, call), drawn) in self.profiles.iter().zip(&*calls).zip(self.drawn()) {
            for (at, request) in profile.requests.iter().enumerate() {
                let shares = places.shares(profile, request, drawn).filter(|_| !call.copied[at]);
                // Local rows are evenly spread, since each machine makes the same number of calls.
                let weight = profile.share * request.times * (1.0 - call.local[at]);
                if let Some(shares) = &shares {
                    let each = sums.iter_mut().zip(shares);
                    each.for_each(|(sum, share)| *sum += weight * share);
                }
                found.push(shares);
            }
        }
        let most = (0..sums.len()).max_by(|one, other| sums[*one].total_cmp(&sums[*other]));
        let mut found = found.into_iter();
        for call in calls {
            for skew in &mut call.skew {
                let shares = found.next().flatten();
                let share = shares.and_then(|shares| shares.get(most?).copied());
                *skew = share.map_or(0.0, |share| share * f64::from(machines) - 1.0);
            }
        }
    }

    /// Conflicts between calls.
    fn conflict_rates(&self, places: &RowPlacement<'_>, calls: &[Locality]) -> ConflictFacts {
        let homes: Homes = calls.iter().map(|call| call.home.source.clone()).collect();
        if let Some((_, known)) = self.met.borrow().iter().find(|(of, _)| *of == homes) {
            return known.clone();
        }
        let each =
            self.profiles.iter().zip(calls).zip(self.drawn()).map(|((profile, call), drawn)| {
                let places = places.homes(profile, call, drawn);
                conflicts::DrawnCalls { profile, drawn, places }
            });
        let each: Vec<conflicts::DrawnCalls<'_>> = each.collect();
        let groups = conflicts::groups(&each, self.chosen.machines.max(1) as usize);
        let lanes = f64::from(self.chosen.lanes.max(1));
        let insert_sites = InsertSites::new(&each, places, &self.draws.rows, lanes);
        let changes = match self.surface.version_costs() {
            Some(_) => conflicts::changes(&each, self.chosen.machines.max(1) as usize),
            None => Vec::new(),
        };
        let changes = changes.into_iter().zip(&self.profiles).map(|(tables, profile)| {
            let again =
                |conflict_rates: Vec<_>| Rc::new(UpdateRates::new(&conflict_rates, profile.share));
            tables.into_iter().map(|(table, of)| (table, again(of))).collect()
        });
        let changes: Vec<BTreeMap<usize, Rc<UpdateRates>>> = changes.collect();
        let found = (Rc::new(groups), Rc::new(insert_sites), Rc::new(changes));
        self.met.borrow_mut().push((homes, found.clone()));
        found
    }
}
