//! The stock-level transaction [TPC-C 2.8].

use super::input::StockLevelInput;
use super::keys;
use super::present;
use super::schema::{district, order_line, stock};
use super::tables::Tables;
use super::terminal::Buffers;
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Isolation, Lane, Scan, ScanSource};

/// Number of the district's newest orders that it reads.
const ORDERS: i32 = 20;

/// Counts the distinct items of the last 20 orders whose stock is below the threshold [TPC-C
/// 2.8.2]. The specification permits weaker isolation; here it reads a snapshot like every other
/// transaction.
pub async fn stock_level<E: Env>(
    lane: &mut Lane<E>,
    isolation: Isolation,
    tables: &Tables,
    buffers: &mut Buffers,
    input: &StockLevelInput,
) -> Result<TransactionResult, WorkloadError> {
    let (w, d) = (input.warehouse, input.district);
    let mut txn = lane.begin(isolation).await?;
    let district_row =
        present(txn.read(tables.district, &keys::district(w, d)).await?, "district")?;
    let next_order = txn.row(district_row).int(district::D_NEXT_O_ID) as i32;

    let (low, high) = keys::order_lines(w, d, next_order - ORDERS, next_order - 1);
    let source = ScanSource::Table(tables.order_line);
    let scan = Scan { source, low, high, reverse: false, limit: usize::MAX };
    txn.scan(&scan, &mut buffers.rows).await?;
    let item = |&row| txn.row(row).int(order_line::OL_I_ID) as i32;
    buffers.items.clear();
    buffers.items.extend(buffers.rows.iter().map(item));
    buffers.items.sort_unstable();
    buffers.items.dedup();

    buffers.reads.clear();
    buffers.reads.extend(buffers.items.iter().map(|&item| (tables.stock, keys::stock(w, item))));
    txn.read_columns(&buffers.reads, &[tables.stock_level], &mut buffers.found).await?;
    let mut low_stock = 0;
    for &found in &buffers.found {
        let quantity = txn.row(present(found, "stock")?).int(stock::S_QUANTITY);
        low_stock += i64::from(quantity < i64::from(input.threshold));
    }
    buffers.screen.clear();
    buffers.screen.number(low_stock);
    Ok(result_of(txn.commit().await))
}
