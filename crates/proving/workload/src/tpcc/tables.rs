//! The physical design of the nine tables, and their numbers in an open database.
//!
//! The keys of warehouses, districts, customers, items and stock are dense, so their buckets are
//! addressed without hashing ([`Placement::Dense`]): no hash, no empty slots, no overflow. Their
//! buckets have a single slot, so that a remote read fetches the wanted row and no neighbours.
//!
//! Orders, new-orders, order lines and history grow without bound and are read in key order: trees.

use super::Config;
use super::schema::{customer, orders, schemas, stock};
use crate::error::WorkloadError;
use fabric::Env;
use layout::{IndexDesign, IndexKind, PhysicalDesign, Placement, Schema, Storage};
use txn::{Columns, Database, IndexId, TableId, TableSpec};

/// The tables, in the order in which they are created.
pub const TABLE_NAMES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "orders",
    "new_order",
    "order_line",
    "item",
    "stock",
];

/// The index from a customer's name to the customers of a district with that name.
const CUSTOMER_NAME: &str = "customer_name";
/// The index from a customer to the customer's orders, oldest first.
const ORDER_CUSTOMER: &str = "order_customer";

/// Slots per bucket of the tables with dense keys.
const DENSE_NEIGHBOURHOOD: u32 = 1;
/// Old versions beside rows that every transaction of a warehouse uses: the largest possible
/// number. These rows change faster than the horizon of collection advances, and each further
/// change calls the version mover.
const VERSIONS_BESIDE_HOT: u32 = 8;
/// Old versions beside all other rows.
const VERSIONS_BESIDE_COLD: u32 = 1;
/// Bytes of the nodes of the trees. Larger nodes split less often, but cost more to read and to
/// write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeBytes {
    /// Nodes of order lines; about ten lines are inserted into a leaf together.
    pub order_lines: u32,
    /// Nodes of all other trees.
    pub others: u32,
}

impl NodeBytes {
    /// A leaf has about forty-five order lines.
    pub const LARGE: Self = Self { order_lines: 1536, others: 1536 };
    /// For cards, which write every leaf as a whole.
    pub const SMALL: Self = Self { order_lines: 1024, others: 384 };
}

/// Memory beyond the raw rows of the loaded database, in percent: 80 for headers, keys and indexes
/// as measured at full scale, the rest for old versions and the orders of a run.
const OVERHEAD_PERCENT: u64 = 200;
/// Memory that is independent of the number of warehouses.
const BASE_BYTES: u64 = 256 << 20;

/// All tables: the nine of each partition; a partition has consecutive warehouses.
#[derive(Clone, Debug)]
pub struct Partitions {
    tables: Vec<Tables>,
    warehouses_each: i16,
}

impl Partitions {
    /// Finds all tables by name.
    pub fn find<E: Env>(database: &Database<E>, config: &Config) -> Result<Self, WorkloadError> {
        let tables = (0..config.partitions).map(|part| Tables::find(database, config, part));
        let warehouses_each = (config.warehouses / config.partitions) as i16;
        Ok(Self { tables: tables.collect::<Result<_, _>>()?, warehouses_each })
    }

    /// The tables of a warehouse's partition.
    #[inline]
    pub fn of(&self, warehouse: i16) -> &Tables {
        match self.tables.as_slice() {
            [all] => all,
            parts => &parts[((warehouse - 1) / self.warehouses_each) as usize],
        }
    }

    /// The tables of each partition.
    pub fn iter(&self) -> impl Iterator<Item = &Tables> {
        self.tables.iter()
    }
}

/// The tables and indexes of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub warehouse: TableId,
    pub district: TableId,
    pub customer: TableId,
    pub history: TableId,
    pub orders: TableId,
    pub new_order: TableId,
    pub order_line: TableId,
    pub item: TableId,
    pub stock: TableId,
    pub customer_name: IndexId,
    pub order_customer: IndexId,
    /// The columns of the customer that a new-order reads.
    pub customer_terms: Columns,
    /// The columns of an item's stock that stock-level reads.
    pub stock_level: Columns,
}

impl Tables {
    /// Finds the tables of a partition by name.
    pub fn find<E: Env>(
        database: &Database<E>,
        config: &Config,
        partition: u32,
    ) -> Result<Self, WorkloadError> {
        let called = |name| name_in(name, config, partition);
        let table = |name| database.table(&called(name)).ok_or(WorkloadError::NoTable(name));
        let index =
            |of, name| database.index(&called(of), name).ok_or(WorkloadError::NoTable(name));
        let columns = |name, columns: &[usize]| {
            database.columns(table(name)?, columns).ok_or(WorkloadError::NoTable(name))
        };
        let terms = [customer::C_LAST, customer::C_CREDIT, customer::C_DISCOUNT];
        Ok(Self {
            customer_terms: columns("customer", &terms)?,
            stock_level: columns("stock", &[stock::S_QUANTITY])?,
            warehouse: table("warehouse")?,
            district: table("district")?,
            customer: table("customer")?,
            history: table("history")?,
            orders: table("orders")?,
            new_order: table("new_order")?,
            order_line: table("order_line")?,
            item: table("item")?,
            stock: table("stock")?,
            customer_name: index("customer", CUSTOMER_NAME)?,
            order_customer: index("orders", ORDER_CUSTOMER)?,
        })
    }
}

/// Creates the nine tables of each partition with their indexes. Partitions are assigned to memory
/// servers round robin; if there are fewer partitions, the first servers have none, in particular
/// the one with the oracle.
pub async fn create<E: Env>(database: &Database<E>, config: &Config) -> Result<(), WorkloadError> {
    let servers = database.root().servers.len() as u32;
    for partition in 0..config.partitions {
        let first = servers.saturating_sub(config.partitions);
        let server = (config.partitions > 1).then_some(((first + partition) % servers) as u16);
        for schema in schemas()? {
            let (design, indexes) = design(schema.name(), config, partition);
            let name = name_in(schema.name(), config, partition);
            let key = schema.key().to_vec();
            let schema = Schema::new(&name, schema.columns().to_vec(), &key)?;
            let design = PhysicalDesign { server, keeps_versions: config.keeps_versions, ..design };
            database.create_table(TableSpec { schema, design, indexes }).await?;
        }
    }
    Ok(())
}

/// The name of a table in a partition.
fn name_in(table: &str, config: &Config, partition: u32) -> String {
    match config.partitions {
        1 => table.to_owned(),
        _ => format!("{table}_{partition}"),
    }
}

/// Number of rows that the load inserts into a table; for order lines it is the expected value.
pub fn loaded_rows(table: &str, config: &Config) -> u64 {
    let scale = &config.scale;
    let warehouses = u64::from(config.warehouses);
    let districts = warehouses * scale.districts as u64;
    let open_orders = (scale.orders_per_district - scale.delivered_order_max()) as u64;
    match table {
        "warehouse" => warehouses,
        "district" => districts,
        "customer" | "history" => districts * scale.customers_per_district as u64,
        "orders" => districts * scale.orders_per_district as u64,
        "new_order" => districts * open_orders,
        "order_line" => districts * scale.orders_per_district as u64 * 10,
        "item" => scale.items as u64 * u64::from(config.partitions),
        "stock" => warehouses * scale.items as u64,
        other => unreachable!("TPC-C has no table {other}"),
    }
}

/// Bytes of remote memory to plan for the loaded database.
pub fn memory_bytes(config: &Config) -> u64 {
    let raw = |schema: &Schema| schema.raw_bytes() * loaded_rows(schema.name(), config);
    let schemas = schemas().expect("the schemas depend on nothing and have passed their tests");
    let rows: u64 = schemas.iter().map(raw).sum();
    BASE_BYTES + rows + rows * OVERHEAD_PERCENT / 100
}

fn design(table: &str, config: &Config, partition: u32) -> (PhysicalDesign, Vec<IndexDesign>) {
    let scale = &config.scale;
    let each = config.warehouses / config.partitions;
    let warehouses = (i64::from(partition * each) + 1, u64::from(each));
    let districts = (1, scale.districts as u64);
    let customers = (1, scale.customers_per_district as u64);
    // The unused item number has a slot too: a read of it costs the same as any other.
    let items = (1, scale.unused_item() as u64);
    let rows = loaded_rows(table, config) / u64::from(config.partitions);
    let index = |name: &str, columns: Vec<usize>, kind| IndexDesign {
        name: name.to_owned(),
        columns,
        unique: false,
        kind,
        node_bytes: config.node_bytes.others,
        size_hint: rows,
        hashed_columns: None,
    };
    let others = config.node_bytes.others;
    match table {
        "warehouse" => (dense(vec![warehouses], VERSIONS_BESIDE_HOT, rows), vec![]),
        "district" => (dense(vec![warehouses, districts], VERSIONS_BESIDE_HOT, rows), vec![]),
        "customer" => {
            let design = dense(vec![warehouses, districts, customers], VERSIONS_BESIDE_COLD, rows);
            let columns = vec![customer::C_W_ID, customer::C_D_ID, customer::C_LAST];
            (design, vec![index(CUSTOMER_NAME, columns, IndexKind::Tree)])
        }
        "item" => (dense(vec![items], VERSIONS_BESIDE_COLD, rows), vec![]),
        "stock" => (dense(vec![warehouses, items], VERSIONS_BESIDE_COLD, rows), vec![]),
        "orders" => {
            let columns = vec![orders::O_W_ID, orders::O_D_ID, orders::O_C_ID];
            (tree(rows, others), vec![index(ORDER_CUSTOMER, columns, IndexKind::Tree)])
        }
        "order_line" => (tree(rows, config.node_bytes.order_lines), vec![]),
        _ => (tree(rows, others), vec![]),
    }
}

fn dense(columns: Vec<(i64, u64)>, versions_beside: u32, size_hint: u64) -> PhysicalDesign {
    PhysicalDesign {
        storage: Storage::HashInlined,
        neighbourhood: DENSE_NEIGHBOURHOOD,
        versions_beside,
        size_hint,
        placement: Placement::Dense { columns },
        ..PhysicalDesign::default()
    }
}

fn tree(size_hint: u64, node_bytes: u32) -> PhysicalDesign {
    PhysicalDesign {
        storage: Storage::Tree,
        versions_beside: VERSIONS_BESIDE_COLD,
        size_hint,
        node_bytes,
        ..PhysicalDesign::default()
    }
}
