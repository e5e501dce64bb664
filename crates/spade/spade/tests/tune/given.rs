//! Forecasts of supplied designs agree with the tuner's own.

use crate::support::{PRICES, Subject, measurements, options, shipped_measurements};
use layout::{IndexKind, Storage};
use spade::design::{Access, Design, Partition, Placement};
use spade::measurement::Measurements;
use spade::scale::rescale;
use spade::tune::{DesignForecast, Options};
use sql::load::{Distribution, Draw, Literal};

const WORKLOADS: [&str; 4] = ["smallbank", "tatp", "tpcc", "ycsb"];

#[test]
fn the_tuners_design_has_the_tuners_forecast() {
    let measured = shipped_measurements();
    let others =
        Options { machines: Some(20), units: Some(30), remote_calls: 0.4, ..Options::default() };
    for (name, options) in
        WORKLOADS.into_iter().flat_map(|name| [(name, Options::default()), (name, others.clone())])
    {
        let subject = Subject::shipped(name);
        let tuning = subject.tuned(&measured, &options);
        let given = subject.forecast(&measured, &options, &tuning.design);
        let given = given.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(given.forecast, tuning.forecast, "{name}");
        assert_eq!(given.memory, tuning.memory, "{name}");
        assert_eq!(given.assumptions, tuning.assumptions, "{name}");
        assert_eq!(given.warnings, tuning.warnings, "{name}");
        for (given, tuned) in given.tables.iter().zip(&tuning.tables) {
            assert_eq!(given.bytes_each, tuned.bytes_each, "{name}");
            assert_eq!(given.stored, tuned.candidates[0].what, "{name}");
        }
        for (given, tuned) in given.procedures.iter().zip(&tuning.procedures) {
            assert_eq!(given.local, tuned.local, "{name}");
            assert_eq!(given.home_latency_us, tuned.home_latency_us, "{name}");
            let own = tuned.candidates.iter().find(|of| of.access == tuned.access);
            let elsewhere = own.and_then(|of| of.latency_us);
            assert_eq!(given.elsewhere_latency_us, elsewhere, "{name}, {}", given.procedure);
        }
    }
}

/// A design contains the units that it was made for; forecasts and rescaling use them.
#[test]
fn a_design_for_other_units_is_forecast_as_it_was_tuned_for_them() {
    let measured = shipped_measurements();
    let at = |units: u64| Options { units: Some(units), ..Options::default() };
    for name in WORKLOADS {
        let subject = Subject::shipped(name);
        let (program, load) = (&subject.folder.program, &subject.folder.load);
        let units = if load.units == 1 { 2 } else { 1 };
        let tuning = subject.tuned(&measured, &at(units));
        let text = tuning.design.clone().sealed().json();
        let design = Design::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(design.units(load.units), units, "{name}");
        let forecast = |design: &Design, units: u64| {
            let found = subject.forecast(&measured, &at(units), design);
            found.unwrap_or_else(|error| panic!("{name}, {units} units: {error}"))
        };
        let own = forecast(&design, units);
        assert_eq!(own.forecast, tuning.forecast, "{name}");
        assert_eq!((own.memory, &own.warnings), (tuning.memory, &tuning.warnings), "{name}");
        // At the default units, a design does not mention them.
        let usual = rescale(design.clone(), program, load, load.units).expect("it can be drawn");
        assert!(!usual.json().contains("units"), "{name}");
        assert_eq!(forecast(&usual, units), own, "{name}");
        assert_eq!(forecast(&design, load.units), forecast(&usual, load.units), "{name}");
        assert_eq!(forecast(&design, 3), forecast(&usual, 3), "{name}");
    }
}

/// A table that is planned for too few rows has the same load at any scale.
#[test]
fn buckets_are_as_full_at_other_units() {
    let changes = Changes::new("tatp");
    let mut design = changes.design.clone();
    let table = &mut design.tables[1];
    table.placement = Placement::Hashed { load_percent: 40 };
    (table.storage, table.rows) = (Storage::HashInlined, table.rows / 4);
    let options = Options { units: Some(1), ..options() };
    let found = changes.subject.forecast(&changes.measured, &options, &design);
    let warnings = found.unwrap_or_else(|error| panic!("{error}")).warnings;
    assert!(
        warnings.iter().any(|what| what.contains("its buckets are 160 % full")),
        "{warnings:?}"
    );
}

/// The forecast refuses units at which the workload has no rows.
#[test]
fn a_design_for_units_without_a_population_is_refused() {
    let told = Changes::new("tatp").refused(|design| {
        *design = design.clone().for_units(u64::MAX, 10);
    });
    assert!(told.contains("the design is for 18446744073709551615 units of scale"), "{told}");
}

/// The design does not name an argument that locates few rows. Calls then arrive at any machine,
/// also in the tuner's forecast.
#[test]
fn an_argument_that_locates_few_rows_is_not_named_or_forecast() {
    let (measured, options) = (
        shipped_measurements(),
        Options { machines: Some(50), units: Some(100), ..Options::default() },
    );
    let mut subject = Subject::shipped("tpcc");
    let mut procedures = subject.folder.load.procedures.iter_mut();
    let order = procedures.find(|of| of.procedure == "new_order").expect("it is called");
    let (_, supply) = order
        .arguments
        .iter_mut()
        .find(|(name, _)| name == "supply_warehouses")
        .expect("it is an argument");
    let Draw::Array { of, .. } = &mut supply.draw else { panic!("a warehouse for each item") };
    let Draw::Mixture(of) = &mut of.draw else { panic!("most are at home") };
    (of[0].0, of[1].0) = (of[1].0, of[0].0);
    let tuning = subject.tuned(&measured, &options);
    let design = &tuning.design;
    let order = design.procedures.iter().find(|of| of.procedure == "new_order");
    assert_eq!(order.expect("it is there").by, None);
    let given = subject.forecast(&measured, &options, design);
    let given = given.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(given.forecast, tuning.forecast);
    assert_eq!(given.assumptions, tuning.assumptions);
    for (given, tuned) in given.procedures.iter().zip(&tuning.procedures) {
        assert_eq!(given.local, tuned.local, "{}", given.procedure);
        assert_eq!(given.home_latency_us, tuned.home_latency_us, "{}", given.procedure);
    }
}

/// A workload with its tuned design, for forecasts of modified designs.
struct Changes {
    subject: Subject,
    measured: Measurements,
    design: Design,
}

impl Changes {
    fn new(name: &str) -> Self {
        Self::of(Subject::shipped(name), PRICES.measured())
    }

    /// The same with measurements of real hosts.
    fn on_hosts(name: &str) -> Self {
        let hosts = PRICES.measured().json().replace("\"sim\"", "\"verbs\"");
        Self::of(Subject::shipped(name), Measurements::parse(&hosts).expect("it is as before"))
    }

    fn of(subject: Subject, measured: Measurements) -> Self {
        let design = subject.tuned(&measured, &options()).design;
        Self { subject, measured, design }
    }

    fn with(&self, change: impl Fn(&mut Design)) -> Result<DesignForecast, String> {
        let mut design = self.design.clone();
        change(&mut design);
        let found = self.subject.forecast(&self.measured, &options(), &design);
        found.map_err(|error| error.to_string())
    }

    fn forecast(&self, change: impl Fn(&mut Design)) -> DesignForecast {
        self.with(change).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(&self, change: impl Fn(&mut Design)) -> String {
        self.with(change).expect_err("it does not fit")
    }
}

fn rate(of: &DesignForecast) -> f64 {
    of.forecast.transactions_per_s[1]
}

#[test]
fn a_design_that_is_worse_is_forecast_to_be_worse() {
    let changes = Changes::new("tatp");
    let tuned = changes.forecast(|_| {});
    let spread = changes.forecast(|design| {
        design.tables.iter_mut().for_each(|table| table.partition = Partition::RoundRobin);
        for of in &mut design.procedures {
            (of.access, of.by) = (Access::OneSided, None);
        }
    });
    assert!(rate(&spread) < 0.8 * rate(&tuned), "{} {}", rate(&spread), rate(&tuned));
    assert!(spread.forecast.latency_us[1] > tuned.forecast.latency_us[1]);
    assert!(spread.procedures.iter().all(|of| of.elsewhere_latency_us.is_none()));
    assert!(spread.procedures.iter().all(|of| of.local < 0.26), "a quarter of all rows is near");
    let tells_of_others = |of: &DesignForecast| {
        of.assumptions.iter().any(|what| what.contains("of 100 calls arrive at another machine"))
    };
    assert!(tells_of_others(&tuned) && !tells_of_others(&spread), "{:?}", spread.assumptions);
    assert_eq!((tuned.remote_calls, spread.remote_calls), (Some(0.1), None));
    // A table that is apart from the others slows its procedures down, and no others.
    let apart = changes.forecast(|design| {
        design.tables[1].partition = Partition::RoundRobin;
        design.procedures.iter_mut().for_each(|of| {
            if of.procedure == "get_access_data" {
                (of.access, of.by) = (Access::OneSided, None);
            }
        });
    });
    for (tuned, apart) in tuned.procedures.iter().zip(&apart.procedures) {
        let is_slower = apart.home_latency_us > tuned.home_latency_us;
        assert_eq!(is_slower, tuned.procedure == "get_access_data", "{}", tuned.procedure);
    }
    // So does the same column in another group.
    let alone = changes.forecast(|design| {
        let columns = vec!["s_id".to_owned()];
        design.tables[2].partition = Partition::By { columns, group: "alone".to_owned() };
    });
    let local = |of: &DesignForecast| of.procedures[1].local;
    assert!((local(&tuned) - 1.0).abs() < 1e-9 && local(&alone) < 0.7, "{}", local(&alone));
}

#[test]
fn storage_of_tables_affects_the_forecast() {
    let changes = Changes::new("tatp");
    let with = |load_percent: u32, rows: u64| {
        changes.forecast(|design| {
            let table = &mut design.tables[1];
            (table.storage, table.neighbourhood) = (Storage::HashInlined, 1);
            table.placement = Placement::Hashed { load_percent };
            table.rows = rows.max(1) * table.rows / 4;
        })
    };
    let (full, half) = (with(90, 4), with(40, 4));
    let latency = |of: &DesignForecast| of.procedures[2].latency_us[1];
    assert!(latency(&full) > latency(&half), "chains are longer in full buckets");
    assert!(full.tables[1].bytes_each < half.tables[1].bytes_each);
    // With a quarter of the planned rows, buckets are four times as full.
    let crowded = with(40, 1);
    assert!(latency(&crowded) > latency(&full));
    assert!(
        crowded.warnings.iter().any(|what| what.contains("its buckets are 160 % full")),
        "{:?}",
        crowded.warnings
    );
    let versions = |versions_beside: u32| {
        changes.forecast(|design| design.tables[0].versions_beside = versions_beside)
    };
    let [one, eight] = [1, 8].map(|slots| versions(slots).tables[0].clone());
    let rest = |of: &spade::tune::TableForecast| of.bytes_each - of.version_bytes_each;
    assert!(eight.version_bytes_each > 4 * one.version_bytes_each);
    assert!(rest(&one).abs_diff(rest(&eight)) <= 1, "but for rounding");
}

/// Parts are ranges of the first key column. A table partitioned by another column is not with its
/// group.
#[test]
fn designs_that_cannot_be_built_are_forecast_as_built() {
    let changes = Changes::new("tatp");
    let by = |partition: Partition| {
        changes.forecast(|design| {
            design.tables[2].partition = partition.clone();
            design.procedures.iter_mut().for_each(|of| of.access = Access::OneSided);
        })
    };
    let by_type = Partition::By { columns: vec!["sf_type".to_owned()], group: "types".to_owned() };
    let (by_type, spread) = (by(by_type), by(Partition::RoundRobin));
    // The spread table is divided by the ranges of the group.
    let local = |of: &DesignForecast| of.procedures[1].local;
    assert!(local(&by_type) < 0.7 && local(&spread) == local(&changes.forecast(|_| {})));
    assert!(rate(&by_type) < rate(&spread));
    let is_told = |of: &DesignForecast| {
        of.warnings
            .iter()
            .any(|one| one.contains("which is not the first column of its primary key"))
    };
    assert!(is_told(&by_type) && !is_told(&spread), "{:?}", by_type.warnings);
}

/// Stores and spreads the savings table, with calls at home or anywhere. Returns calls per second
/// and the shares of local rows.
fn savings(
    changes: &Changes,
    (storage, placement): &(Storage, Placement),
    is_spread: bool,
    is_at_home: bool,
) -> (f64, f64) {
    let forecast = changes.forecast(|design| {
        let table = &mut design.tables[1];
        assert_eq!(table.table, "savings");
        (table.storage, table.placement) = (*storage, placement.clone());
        if is_spread {
            table.partition = Partition::RoundRobin;
        }
        for of in design.procedures.iter_mut().filter(|_| !is_at_home) {
            (of.access, of.by) = (Access::OneSided, None);
        }
    });
    (rate(&forecast), forecast.procedures.iter().map(|of| of.local).sum::<f64>())
}

/// Ordered tables are divided by ranges even if they are spread; on simulated clusters all tables
/// are. If the ranges equal a group's, rows are with the group.
#[test]
fn spread_rows_in_the_ranges_of_a_group_are_with_it() {
    let (simulated, hosts) = (Changes::new("smallbank"), Changes::on_hosts("smallbank"));
    let columns = vec![(0, simulated.design.tables[0].rows)];
    let dense = (Storage::HashInlined, Placement::Dense { columns });
    let hashed = (Storage::HashInlined, Placement::Hashed { load_percent: 65 });
    let tree = (Storage::Tree, Placement::Hashed { load_percent: 65 });
    let cases = [(&simulated, &dense), (&simulated, &tree), (&simulated, &hashed)];
    for (changes, stored) in cases.into_iter().chain([(&hosts, &dense), (&hosts, &tree)]) {
        let [spread, partitioned] = [true, false].map(|is| savings(changes, stored, is, true));
        assert_eq!(spread, partitioned, "{stored:?}");
    }
    let [spread, partitioned] = [true, false].map(|is| savings(&hosts, &hashed, is, true));
    assert!(spread.0 < partitioned.0 && spread.1 < partitioned.1, "buckets are on all hosts");
    // Calls at any machine find the same share of local rows under every division.
    let anywhere = savings(&simulated, &dense, false, false);
    assert_eq!(savings(&simulated, &dense, true, false), anywhere);
    assert!(anywhere.0 < savings(&simulated, &dense, false, true).0, "{anywhere:?}");
    assert!(anywhere.1 < 0.26 * simulated.design.procedures.len() as f64, "{anywhere:?}");
}

#[test]
fn a_group_with_a_table_of_unknown_range_has_no_ranges() {
    let spread_and_not = |draw: fn(&Distribution) -> Draw| {
        let mut subject = Subject::shipped("smallbank");
        let mut tables = subject.folder.load.tables.iter_mut();
        let of = tables.find(|of| of.table == "checking").expect("it is loaded");
        let (_, number) = &mut of.columns[0];
        number.draw = draw(number);
        let changes = Changes::of(subject, PRICES.measured());
        let tree = (Storage::Tree, Placement::Hashed { load_percent: 65 });
        [true, false].map(|is_spread| savings(&changes, &tree, is_spread, true).1)
    };
    let [spread, known] = spread_and_not(|number| number.draw.clone());
    assert_eq!(spread, known);
    // Tables of a group are divided alike: this one by the hash of its keys.
    let [spread, own] =
        spread_and_not(|number| Draw::Digits { of: Box::new(number.clone()), width: 1 });
    assert_eq!(spread, own);
    assert!(own < known, "{own} {known}");
    // Where the load has ranges, the built table is divided by them, and so is the forecast's.
    let [spread, own] = spread_and_not(|number| Draw::Mixture(vec![(1.0, number.clone())]));
    assert_eq!(spread, own);
}

/// Local shares of a procedure's rows with the table in its group, and with the table spread.
fn near(subject: Subject, table: &str, procedure: &str) -> [f64; 2] {
    let changes = Changes::of(subject, PRICES.measured());
    [false, true].map(|is_spread| {
        let forecast = changes.forecast(|design| {
            let of = design.tables.iter_mut().find(|of| of.table == table).expect("it is there");
            of.storage = Storage::Tree;
            of.placement = Placement::Hashed { load_percent: 65 };
            if is_spread {
                of.partition = Partition::RoundRobin;
            }
            design.procedures.iter_mut().for_each(|of| of.access = Access::OneSided);
        });
        let found = forecast.procedures.iter().find(|of| of.procedure == procedure);
        found.expect("it is called").local
    })
}

/// An index is divided with its table. If a procedure scans it in another order, index and table
/// must be undivided.
#[test]
fn a_spread_table_with_an_index_in_another_order_is_not_divided_by_ranges() {
    let near = |begins_with_the_key: bool| {
        let mut subject = Subject::shipped("tpcc");
        let orders = subject.workload.catalog.position("orders").expect("it is there");
        let columns = &mut subject.workload.catalog.tables[orders].indexes[0].columns;
        if !begins_with_the_key {
            columns.rotate_left(1);
        }
        near(subject, "orders", "delivery")
    };
    let [partitioned, spread] = near(true);
    assert_eq!(partitioned, spread);
    let [partitioned, spread] = near(false);
    assert!(spread < partitioned, "{spread} {partitioned}");
}

/// If the whole key is the dividing column and procedures insert behind the load's rows, all new
/// rows would be on the last machine.
#[test]
fn a_spread_table_that_grows_beyond_its_range_is_not_divided_by_ranges() {
    let near = |has_more_key: bool| {
        let mut subject = Subject::shipped("tatp");
        let at = subject.workload.catalog.position("call_forwarding").expect("it is there");
        if !has_more_key {
            subject.workload.catalog.tables[at].primary_key.truncate(1);
        }
        // A scan in key order would keep the table in ranges.
        let mut procedures = subject.workload.procedures.iter_mut();
        let scanning = procedures.find(|of| of.routine.name == "get_new_destination");
        scanning.expect("it is there").statements.clear();
        near(subject, "call_forwarding", "insert_call_forwarding")
    };
    let [partitioned, spread] = near(true);
    assert_eq!(partitioned, spread);
    let [partitioned, spread] = near(false);
    assert!(spread < partitioned, "{spread} {partitioned}");
}

/// A lookup by a derived number locates the subscriber if the number is written out from the
/// dividing column.
#[test]
fn calls_by_a_derived_column_have_a_home() {
    let local = |is_written_out: bool| {
        let mut subject = Subject::shipped("tatp");
        let mut tables = subject.folder.load.tables.iter_mut();
        let of = tables.find(|of| of.table == "subscriber").expect("it is loaded");
        let (_, number) =
            of.columns.iter_mut().find(|(name, _)| name == "sub_nbr").expect("it is drawn");
        let Draw::Digits { of, .. } = &mut number.draw else { panic!("digits of its subscriber") };
        if !is_written_out {
            of.draw = Draw::Constant(Literal::Integer(7));
        }
        let forecast = Changes::of(subject, PRICES.measured()).forecast(|_| {});
        let update = forecast.procedures.into_iter().find(|of| of.procedure == "update_location");
        update.expect("it is called").local
    };
    assert!(local(true) > 0.49 && local(false) < 0.26, "{} {}", local(true), local(false));
}

/// In both designs the index entry is remote and the row is local.
#[test]
fn an_index_lookup_costs_the_same_with_every_storage() {
    let subject = Subject::shipped("tatp");
    let (measured, options) = (shipped_measurements(), Options::default());
    let design = subject.tuned(&measured, &options).design;
    let home_us = |storage: Storage| {
        let mut design = design.clone();
        design.tables[0].storage = storage;
        (design.tables[0].indexes[0].kind, design.tables[0].indexes[0].node_bytes) =
            (IndexKind::Tree, 512);
        let forecast = subject.forecast(&measured, &options, &design).expect("it can be built");
        let mut each = forecast.procedures.into_iter();
        each.find(|of| of.procedure == "update_location").expect("it is called").home_latency_us
    };
    let (inlined, outside) = (home_us(Storage::HashInlined), home_us(Storage::HashOutside));
    assert!((0.99 * inlined..1.2 * inlined).contains(&outside), "{inlined} {outside}");
}

#[test]
fn calls_are_at_home_where_the_argument_says() {
    let changes = Changes::new("smallbank");
    let tuned = changes.forecast(|_| {});
    let merged = |of: &DesignForecast| of.procedures[0].clone();
    assert_eq!(merged(&tuned).procedure, "amalgamate");
    // More rows are read and written for the customer than for the other argument.
    let other = changes.forecast(|design| design.procedures[0].by = Some("other".to_owned()));
    assert!(merged(&other).local < merged(&tuned).local - 0.1);
    assert!(merged(&other).home_latency_us > merged(&tuned).home_latency_us);
    let told = changes.refused(|design| design.procedures[3].by = Some("nobody".to_owned()));
    assert!(told.contains("procedure send_payment has no argument nobody"), "{told}");
}

#[test]
fn all_problems_of_a_design_are_refused_together() {
    let changes = Changes::new("tpcc");
    let told = changes.refused(|design| {
        design.tables[0].neighbourhood = 33;
        design.tables[1].partition = Partition::Replicated;
        let columns = vec!["c_w_id".to_owned(), "c_d_id".to_owned()];
        design.tables[2].partition = Partition::By { columns, group: "warehouse".to_owned() };
        design.tables[2].indexes[0].kind = IndexKind::Hash;
        design.tables[6].storage = Storage::HashInlined;
        design.tables[8].partition =
            Partition::By { columns: vec!["s_x".to_owned()], group: "warehouse".to_owned() };
        design.procedures[1].by = Some("amount".to_owned());
        design.procedures[1].access = Access::Shipped;
    });
    for expected in [
        "table warehouse: neighbourhood is 33; 1 to 32 is allowed",
        "table district is replicated, but procedures change it",
        "table customer is partitioned by 2 columns; forecasts support only one",
        "table order_line is a hash table, but ",
        "table stock, partitioned by s_x, has no such column",
        "procedure payment is shipped, but its argument amount locates none of its rows",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let told = changes.refused(|design| {
        design.workload = "other".to_owned();
        design.tables[0].table = "nothing".to_owned();
        design.procedures[0].procedure = "no_order".to_owned();
    });
    for expected in [
        "it is for workload other, but this is tpcc; tune this workload, or write its name into the design if both \
         have the same tables",
        "schema.sql has no table nothing",
        "it lacks table warehouse",
        "procedures.sql has no procedure no_order",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[test]
fn more_lanes_help_waiting_calls_and_more_threads_help_computing_ones() {
    let subject = Subject::shipped("tatp");
    let measured = shipped_measurements();
    let design = subject.tuned(&measured, &Options::default()).design;
    let with = |threads: Option<u32>, lanes: Option<u32>| {
        let options = Options { threads, lanes, ..Options::default() };
        let found = subject.forecast(&measured, &options, &design);
        found.unwrap_or_else(|error| panic!("{error}"))
    };
    let (usual, few, many) = (with(None, None), with(None, Some(2)), with(None, Some(64)));
    assert_eq!((usual.target.threads, usual.target.lanes), (16, 32));
    assert_eq!(few.forecast.bottleneck, "lanes");
    assert!(rate(&few) < 0.5 * rate(&usual) && rate(&many) >= rate(&usual));
    assert_eq!(few.forecast.latency_us, usual.forecast.latency_us, "alone it is the same");
    assert!(few.loaded_latency_us < many.loaded_latency_us);
    let one = with(Some(1), None);
    assert_eq!(one.forecast.bottleneck, "cores");
    assert!(rate(&one) < 0.5 * rate(&usual));
    assert!(one.warnings.iter().any(|what| what.contains("forecasts for 1 and 32 assume")));
}

/// An undivided index is on one machine; forecasts warn about it and ignore its queue. If all
/// ranges have a value of the index's first column, there is no warning.
#[test]
fn an_index_on_one_machine_causes_a_warning() {
    let measured = measurements("connectx3-fdr-4");
    let told = |procedure: &str, machines: u32| {
        let subject = Subject::shipped("../crates/eval/reproduce/data/items").only(procedure);
        let options = Options { machines: Some(machines), ..Options::default() };
        let tuning = subject.tuned(&measured, &options);
        let given = subject.forecast(&measured, &options, &tuning.design);
        assert_eq!(given.expect("all was measured").warnings, tuning.warnings);
        let sentence = "index item_ends of item is on one machine, because closing scans it in order without a value of ends";
        assert!(!tuning.warnings.iter().any(|what| what.contains("item_category")));
        tuning.warnings.iter().any(|what| what.contains(sentence))
    };
    assert!(told("closing", 4));
    assert!(!told("closing", 1) && !told("newest", 4));
}

/// Entries with equal values are in one bucket with its chain, so an index with few values is a
/// tree whatever the forecast of a hash index says.
#[test]
fn an_index_of_few_values_is_a_tree() {
    let subject = Subject::shipped("../crates/eval/reproduce/data/items");
    let options = Options { machines: Some(4), ..Options::default() };
    let tuning = subject.tuned(&measurements("connectx3-fdr-4"), &options);
    let design = &tuning.design.tables[0].indexes[0];
    assert_eq!((&*design.index, design.kind), ("member_country", IndexKind::Tree));
    let index = &tuning.tables[0].indexes[0];
    let hash = index.candidates.iter().find(|one| one.what == "hash").expect("it is looked at");
    assert!(hash.reason.contains("each value has 500 rows"), "{}", hash.reason);
}
