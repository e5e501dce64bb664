//! Procedure `stock_level`, line 356 of `procedures.sql`.

use super::tables::{Tables, district, order_line, stock};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::{Lane, Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `home_warehouse`, smallint.
    pub home_warehouse: i64,
    /// `home_district`, smallint.
    pub home_district: i64,
    /// `threshold`, smallint.
    pub threshold: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [home_warehouse, home_district, threshold] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            home_warehouse: home_warehouse.int2()?,
            home_district: home_district.int2()?,
            threshold: threshold.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `stock_level`.
pub async fn stock_level<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let home_warehouse = arguments.home_warehouse;
    let home_district = arguments.home_district;
    let threshold = arguments.threshold;
    let mut next_order: i64;
    let mut low_stock: i64;
    let Some(district_row) = call
        .txn
        .read(
            tables.district,
            &KeyBuilder::new().int2(home_warehouse as i16).int2(home_district as i16).key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let district = call.txn.row(district_row);
    next_order = district.int_in(district::D_NEXT_O_ID);
    let mut values = call.scratch.take_numbers();
    let mut order_line_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.order_line),
        low: KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(number::int4(number::subtract(next_order, 20)?)? as i32)
            .prefix_low(2),
        high: KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(number::int4(number::subtract(next_order, 1)?)? as i32)
            .prefix_high(2),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut order_line_rows).await?;
    let mut stock_found = call.scratch.take_found();
    call.scratch.reads.clear();
    for &order_line_row in order_line_rows.iter() {
        let order_line = call.txn.row(order_line_row);
        call.scratch.reads.push((
            tables.stock,
            KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int4(order_line.int_in(order_line::OL_I_ID) as i32)
                .key(),
        ));
    }
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_stock_s_quantity], &mut stock_found)
        .await?;
    for (&order_line_row, &stock_row) in order_line_rows.iter().zip(&stock_found) {
        let Some(stock_row) = stock_row else { continue };
        let stock = call.txn.row(stock_row);
        if stock.int_in(stock::S_QUANTITY) < threshold {
            let stock = call.txn.row(stock_row);
            values.push(stock.int_in(stock::S_I_ID));
        }
    }
    call.scratch.give_found(stock_found);
    call.scratch.give_rows(order_line_rows);
    values.sort_unstable();
    values.dedup();
    let counted = values.len() as i64;
    call.scratch.give_numbers(values);
    low_stock = counted;
    call.results.row();
    call.results.int(low_stock);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let home_warehouse = arguments.home_warehouse;
    let home_district = arguments.home_district;
    lane.prefetch(&[(
        tables.district,
        KeyBuilder::new().int2(home_warehouse as i16).int2(home_district as i16).key(),
    )]);
    Ok(())
}
