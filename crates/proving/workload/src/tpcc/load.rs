//! Loading the population, in transactions of many rows.
//!
//! The items of each partition are one task and each warehouse is another; a part takes every n-th
//! task, so concurrent parts never write the same row.

use super::Config;
use super::keys;
use super::population::Population;
use super::tables::{Partitions, Tables};
use crate::error::WorkloadError;
use crate::loading;
use fabric::Env;
use layout::{Key, RecordMut};
use std::ops::RangeInclusive;
use txn::{Lane, TableId};

/// Approximate number of rows of a batch: a unit is never split.
const BATCH_ROWS: usize = 256;

/// The state of one part of the load.
struct Loader<'a, E: Env> {
    lane: &'a mut Lane<E>,
    tables: &'a Tables,
    population: Population,
    progress: &'a dyn Fn(u64),
    inserts: Vec<(TableId, Key)>,
    /// For each insert its unit and its position in the unit.
    origins: Vec<(i32, usize)>,
}

/// Loads part `part` of `parts`.
pub async fn load_part<E: Env>(
    lane: &mut Lane<E>,
    partitions: &Partitions,
    config: &Config,
    (part, parts): (u64, u64),
    progress: &dyn Fn(u64),
) -> Result<(), WorkloadError> {
    assert!(part < parts, "parts count from 0");
    let population = Population::new(config);
    let (inserts, origins) = (Vec::new(), Vec::new());
    let items = partitions.iter().map(|tables| (tables, None));
    let warehouses = (1..=config.warehouses as i16).map(|w| (partitions.of(w), Some(w)));
    let tasks = (0..).zip(items.chain(warehouses)).filter(|(task, _)| task % parts == part);
    let tables = partitions.of(1);
    let mut loader = Loader { lane, tables, population, progress, inserts, origins };
    for (_, (tables, warehouse)) in tasks {
        loader.tables = tables;
        match warehouse {
            None => load_items(&mut loader, config).await?,
            Some(warehouse) => load_warehouse(&mut loader, config, warehouse).await?,
        }
    }
    Ok(())
}

async fn load_items<E: Env>(
    loader: &mut Loader<'_, E>,
    config: &Config,
) -> Result<(), WorkloadError> {
    let (population, table) = (loader.population, loader.tables.item);
    let name = |i, inserts: &mut Inserts| inserts.push((table, keys::item(i)));
    let fill = |i, _, row: &mut RecordMut<'_>| population.fill_item(i, row);
    loader.insert(1..=config.scale.items, &name, &fill).await
}

async fn load_warehouse<E: Env>(
    loader: &mut Loader<'_, E>,
    config: &Config,
    w: i16,
) -> Result<(), WorkloadError> {
    let (population, tables, scale) = (loader.population, loader.tables, &config.scale);
    let name = |_, inserts: &mut Inserts| inserts.push((tables.warehouse, keys::warehouse(w)));
    let fill = |_, _, row: &mut RecordMut<'_>| population.fill_warehouse(w, row);
    loader.insert(1..=1, &name, &fill).await?;

    let name = |i, inserts: &mut Inserts| inserts.push((tables.stock, keys::stock(w, i)));
    let fill = |i, _, row: &mut RecordMut<'_>| population.fill_stock(w, i, row);
    loader.insert(1..=scale.items, &name, &fill).await?;

    for d in 1..=scale.districts {
        let name = |_, inserts: &mut Inserts| inserts.push((tables.district, keys::district(w, d)));
        let fill = |_, _, row: &mut RecordMut<'_>| population.fill_district(w, d, row);
        loader.insert(1..=1, &name, &fill).await?;
        load_customers(loader, config, (w, d)).await?;
        load_orders(loader, config, (w, d)).await?;
    }
    Ok(())
}

/// The unit is a customer: the customer's row and its one history row.
async fn load_customers<E: Env>(
    loader: &mut Loader<'_, E>,
    config: &Config,
    (w, d): (i16, i16),
) -> Result<(), WorkloadError> {
    let (population, tables) = (loader.population, loader.tables);
    let name = |c, inserts: &mut Inserts| {
        let number = keys::first_history_number(0) + population.customer_index(w, d, c) as i64;
        inserts.push((tables.customer, keys::customer(w, d, c)));
        inserts.push((tables.history, keys::history(number)));
    };
    let fill = |c, position, row: &mut RecordMut<'_>| match position {
        0 => population.fill_customer((w, d), c, row),
        _ => population.fill_history((w, d), c, row),
    };
    loader.insert(1..=config.scale.customers_per_district, &name, &fill).await
}

/// The unit is an order: its row, its lines, and for the last ones the row of a new order.
async fn load_orders<E: Env>(
    loader: &mut Loader<'_, E>,
    config: &Config,
    (w, d): (i16, i16),
) -> Result<(), WorkloadError> {
    let (population, tables) = (loader.population, loader.tables);
    let customers = population.customer_permutation(w, d);
    let name = |o, inserts: &mut Inserts| {
        let line_count = population.order(w, d, o).line_count;
        inserts.push((tables.orders, keys::order(w, d, o)));
        let line = |number| (tables.order_line, keys::order_line(w, d, o, number));
        inserts.extend((1..=line_count).map(line));
        if !population.is_delivered(o) {
            inserts.push((tables.new_order, keys::order(w, d, o)));
        }
    };
    let fill = |o: i32, position, row: &mut RecordMut<'_>| {
        let line_count = population.order(w, d, o).line_count as usize;
        match position {
            0 => {
                population.fill_order((w, d), o, customers[(o as usize - 1) % customers.len()], row)
            }
            line if line <= line_count => population.fill_order_line((w, d), o, line as i16, row),
            // A new-order row has no columns but its key.
            _ => {}
        }
    };
    loader.insert(1..=config.scale.orders_per_district, &name, &fill).await
}

type Inserts = Vec<(TableId, Key)>;

impl<E: Env> Loader<'_, E> {
    /// Inserts the rows of many units. `name` appends the keys of a unit, `fill` fills one row,
    /// given its position in the unit.
    async fn insert(
        &mut self,
        units: RangeInclusive<i32>,
        name: &dyn Fn(i32, &mut Inserts),
        fill: &dyn Fn(i32, usize, &mut RecordMut<'_>),
    ) -> Result<(), WorkloadError> {
        let last = *units.end();
        self.inserts.clear();
        self.origins.clear();
        for unit in units {
            let before = self.inserts.len();
            name(unit, &mut self.inserts);
            let positions = 0..self.inserts.len() - before;
            self.origins.extend(positions.map(|position| (unit, position)));
            if self.inserts.len() >= BATCH_ROWS || unit == last {
                let origins = &self.origins;
                let mut fill_row = |index: usize, row: &mut RecordMut<'_>| {
                    let (unit, position) = origins[index];
                    fill(unit, position, row);
                };
                loading::insert(self.lane, &self.inserts, &mut fill_row).await?;
                (self.progress)(self.inserts.len() as u64);
                self.inserts.clear();
                self.origins.clear();
            }
        }
        Ok(())
    }
}
