//! Changes of the catalog while sessions run.

use crate::indexes::{self, Groups};
use crate::life::tables;
use crate::lists;
use crate::machine::{Machine, Result};
use crate::support::index;
use crate::support::mix::{Dice, Mix, programs};
use durability::catalog;
use fabric::{DynEnv, Env};
use layout::{IndexDesign, IndexKind};
use std::rc::Rc;
use txn::Database;

/// The name of the index that comes and goes.
const INDEX: &str = "again";

/// Tables, with `t` and the lists. A server's memory has room for these.
pub const TABLES_MAX: usize = 6;

/// A task that creates and drops tables and indexes.
pub struct Changes {
    pub machine: Rc<Machine>,
    /// Without a redo log.
    pub unlogged: Database<DynEnv>,
    /// With it.
    pub logged: Database<DynEnv>,
    pub mix: Mix,
    pub groups: Groups,
    pub life: u64,
    pub dice: Dice,
}

impl Changes {
    /// Changes until the sessions have ended, or the disk has failed.
    pub async fn run(mut self) {
        let env = self.unlogged.env().clone();
        let mut number = 0;
        while self.machine.has_sessions() {
            env.sleep_ns(env.random() % 200_000).await;
            number += 1;
            let name = format!("x{}-{number}", self.life);
            // Where groups come and go, a unique index is created at some moments only.
            let kinds = if self.groups == Groups::Own { 10 } else { 6 };
            let changed = match self.dice.below(kinds) {
                0..=2 => self.create_table(&name).await,
                3 => self.drop_table().await,
                _ => self.change_index().await,
            };
            if changed.is_err() && self.machine.has_ended() {
                return;
            }
        }
    }

    /// Creates a table and runs a few programs on it. If there are enough tables, drops one.
    async fn create_table(&mut self, name: &str) -> Result<()> {
        let Self { machine, unlogged, mix, groups, dice, .. } = self;
        let mut control = machine.lock(unlogged).await;
        if control.tables.len() >= TABLES_MAX {
            machine.unlock(control);
            return self.drop_table().await;
        }
        let spec = indexes::spec(mix, *groups, name, dice);
        let created = catalog::create_table(&mut control, &machine.directory, unlogged, spec).await;
        let stored = control.tables.last().cloned();
        machine.unlock(control);
        let table = created?;
        machine.ledger.borrow_mut().create(table.0);
        let stored = stored.filter(|stored| stored.number == table.0);
        let tables = tables(unlogged, &stored.expect("it was created"));
        let small = Mix { sessions: 1, transactions: 3, ..*mix };
        let mut programs = programs(dice, &small).remove(0);
        for program in &mut programs {
            if *groups != Groups::Shared {
                indexes::own_groups(program, mix.keys);
            }
            program.number += 100_000 * i64::from(table.0);
        }
        machine.session(&self.logged, tables, usize::from(u8::MAX), &programs).await;
        Ok(())
    }

    /// Drops a table that no session uses.
    async fn drop_table(&mut self) -> Result<()> {
        let Self { machine, unlogged, dice, .. } = self;
        let mut control = machine.lock(unlogged).await;
        let others =
            control.tables.iter().filter(|table| table.name != "t" && table.name != lists::TABLE);
        let others: Vec<_> = others.map(|table| (table.number, table.name.clone())).collect();
        let mut dropped = Ok(());
        if !others.is_empty() {
            let (number, name) = &others[dice.below(others.len() as u64) as usize];
            machine.ledger.borrow_mut().begin_drop(*number);
            dropped = catalog::drop_table(&mut control, &machine.directory, unlogged, name).await;
            if dropped.is_ok() {
                machine.ledger.borrow_mut().end_drop(*number);
            }
        }
        machine.unlock(control);
        dropped
    }

    /// Creates an index of the table that all sessions use, or drops it. A unique one is refused
    /// while rows share a group.
    async fn change_index(&mut self) -> Result<()> {
        let Self { machine, logged, groups, dice, .. } = self;
        let unique = *groups != Groups::Shared && dice.below(3) > 0;
        let directory = &machine.directory;
        let mut control = machine.lock(logged).await;
        let table = control.tables.iter().find(|table| table.name == "t");
        let indexes = &table.expect("it is never dropped").indexes;
        let changed = match indexes.iter().any(|index| index.name == INDEX) {
            true => catalog::drop_index(&mut control, directory, logged, "t", INDEX).await,
            false => {
                let name = INDEX.to_owned();
                let design = IndexDesign { name, ..index(IndexKind::Tree, unique) };
                let all = &machine.acknowledgements;
                let group = async {
                    all.durable(all.of_next_group()).await?;
                    Ok(all.last_group().map_or(0, |(group, _)| group.number))
                };
                let made =
                    catalog::create_index(&mut control, directory, logged, group, "t", design);
                made.await.map(drop)
            }
        };
        machine.unlock(control);
        machine.ledger.borrow_mut().changes += u64::from(changed.is_ok());
        changed
    }
}
