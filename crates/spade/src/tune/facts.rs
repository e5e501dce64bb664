//! What is known before anything is decided: the cluster, the load, what procedures ask, and what tables may be.

use super::asked::Asked;
use super::candidate::Shape;
use super::draws::{Drawn, Draws};
use super::group::{self, Grouping, Question};
use super::model::{Call, Model};
use super::surface::Surface;
use super::world::{self, Chosen};
use super::{Input, Options, TuneError};
use procedure::node::Procedure;
use sql::load::Expectation;
use sql::{Catalog, Load, WorkloadFolder};

/// Everything that designs are compared by.
pub struct Facts<'a> {
    /// Schema, procedures and load, with plans.
    pub input: Input<'a>,
    /// What is wanted.
    pub options: &'a Options,
    /// The cluster.
    pub chosen: Chosen,
    /// What was measured of it.
    pub surface: Surface,
    /// Units of scale.
    pub units: u64,
    /// Calls as they are drawn, and rows of tables.
    pub draws: Draws,
    /// What procedures ask.
    pub asked: Vec<Asked>,
    /// What tables may be.
    pub shapes: Vec<Shape>,
}

impl<'a> Facts<'a> {
    /// Of a workload on a cluster.
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
        let asked = procedures.map(|(at, procedure)| {
            let share = load.procedures.get(at).map_or(0.0, |of| of.frequency / all);
            Asked::new(input.workload, procedure, share, draws.of(at, procedure))
        });
        let asked: Vec<Asked> = asked.collect();
        let mut called = asked.iter().filter(|of| of.share > 0.0).flat_map(|of| &of.asks);
        if !called.any(|ask| ask.times > 0.0) {
            return Err(TuneError::NothingAsked { workload: load.name.clone() });
        }
        let is_coherent = matches!(&*chosen.world.fabric, "local" | "shm");
        let tables = input.workload.catalog.tables.iter().enumerate();
        let shapes = tables.map(|(at, table)| {
            Shape::new(table, at, draws.rows[at], &asked, load, units, !is_coherent)
        });
        let shapes = shapes.collect();
        Ok(Self { input, options, chosen, surface, units, draws, asked, shapes })
    }

    /// The tables.
    pub fn catalog(&self) -> &'a Catalog {
        &self.input.workload.catalog
    }

    /// The load.
    pub fn load(&self) -> &'a Load {
        &self.input.folder.load
    }

    /// The calls of each procedure.
    pub fn drawn(&self) -> Vec<Drawn<'_>> {
        let procedures: &[Procedure] = &self.input.workload.procedures;
        procedures.iter().enumerate().map(|(at, of)| self.draws.of(at, of)).collect()
    }

    /// Which tables are together, as the tuner decides it.
    pub fn grouping(&self) -> Grouping {
        let drawn = self.drawn();
        group::group(&Question {
            catalog: self.catalog(),
            load: self.load(),
            expectation: Expectation::new(self.load(), self.units),
            asked: &self.asked,
            drawn: &drawn,
            rows: &self.draws.rows,
            bytes: self.shapes.iter().map(Shape::row_sum).collect(),
            copied_max: self.chosen.budget.map_or(group::COPIED_MAX, |budget| budget / 10),
            machines: self.chosen.machines,
        })
    }

    /// What designs cost where rows are so.
    pub fn model<'m>(&'m self, grouping: &'m Grouping) -> Model<'m> {
        self.model_by(grouping, &[])
    }

    /// The same where variables are named, by procedure, that tell where a call is at home.
    pub fn model_by<'m>(&'m self, grouping: &'m Grouping, by: &[Option<usize>]) -> Model<'m> {
        let (catalog, machines) = (self.catalog(), self.chosen.machines);
        let calls = self.asked.iter().zip(self.drawn()).enumerate();
        let calls = calls.map(|(at, (of, drawn))| {
            let by = by.get(at).copied().flatten();
            Call::new(of, drawn, catalog, grouping, machines, by)
        });
        let kinds = |table: &sql::Table| table.indexes.iter().map(|index| index.kind).collect();
        Model {
            surface: &self.surface,
            asked: &self.asked,
            shapes: &self.shapes,
            declared: catalog.tables.iter().map(kinds).collect(),
            grouping,
            calls: calls.collect(),
            machines: self.chosen.machines,
            remote_calls: self.options.remote_calls,
            replicas: self.options.replicas,
        }
    }
}
