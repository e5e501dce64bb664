//! The sums and counts that the checks need, added up while the rows are read.

use crate::tpcc::Config;

pub struct Facts {
    pub config: Config,
    pub warehouses: Vec<WarehouseFacts>,
    /// By warehouse, then district.
    pub districts: Vec<DistrictFacts>,
    /// By district, then customer.
    pub customers: Vec<CustomerFacts>,
    /// By warehouse, then item.
    pub stocks: Vec<StockFacts>,
    /// The price of each item; 0 until its row is read.
    pub prices: Vec<i64>,
    pub history_count: u64,
    pub order_line_count: u64,
    /// Number of rows whose key or references are outside the database's cardinalities.
    pub stray_count: u64,
    /// The first of them, in words.
    pub first_stray: Option<String>,
}

#[derive(Clone, Default)]
pub struct WarehouseFacts {
    pub row_count: u32,
    pub year_to_date: i64,
    /// Sum of H_AMOUNT of the histories that refer to it.
    pub history_amount: i64,
}

#[derive(Clone, Default)]
pub struct DistrictFacts {
    pub row_count: u32,
    pub year_to_date: i64,
    pub next_order: i64,
    /// Sum of H_AMOUNT of the histories that refer to it.
    pub history_amount: i64,
    /// Its orders: number n is at index n - 1. Gaps are orders without a row.
    pub orders: Vec<OrderFacts>,
}

/// An order with its lines and its new-order row.
#[derive(Clone, Default)]
pub struct OrderFacts {
    pub has_row: bool,
    pub has_new_order: bool,
    pub is_delivered: bool,
    pub is_all_local: bool,
    pub customer: i32,
    pub line_count: i16,
    pub lines: OrderLineFacts,
}

/// The lines of an order.
#[derive(Clone, Default)]
pub struct OrderLineFacts {
    pub count: i16,
    pub delivered_count: i16,
    pub remote_count: i16,
    /// Number of lines whose amount is not price times quantity, or whose number is not in an
    /// order.
    pub wrong_count: i16,
    /// Sum of OL_AMOUNT of the delivered ones.
    pub delivered_amount: i64,
}

#[derive(Clone, Default)]
pub struct CustomerFacts {
    pub row_count: u32,
    pub balance: i64,
    pub payments: i64,
    pub payment_count: i64,
    pub delivery_count: i64,
    /// Sum and number of the customer's histories.
    pub history_amount: i64,
    pub history_count: i64,
    /// Sum of the lines of the customer's delivered orders.
    pub delivered_amount: i64,
    /// The customer's orders that were delivered after the load.
    pub delivered_count: i64,
}

/// A stock row minus the values that the order lines since the load imply: zeros if they agree.
#[derive(Clone, Default)]
pub struct StockFacts {
    pub row_count: u8,
    pub is_quantity_wrong: bool,
    pub year_to_date_excess: i32,
    pub order_count_excess: i32,
    pub remote_count_excess: i32,
}

/// Prints the location of a row.
pub struct RowName(pub &'static str, pub [i64; 3]);

impl std::fmt::Display for RowName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0)?;
        self.1
            .iter()
            .filter(|&&number| number != 0)
            .try_for_each(|number| write!(formatter, " {number}"))
    }
}

/// An order further than this beyond a district's next number counts as a stray row.
const ORDERS_BEYOND_MAX: i64 = 1000;

impl Facts {
    pub fn new(config: &Config) -> Self {
        let warehouses = config.warehouses as usize;
        let districts = warehouses * config.scale.districts as usize;
        let items = config.scale.items as usize;
        Self {
            config: *config,
            warehouses: vec![WarehouseFacts::default(); warehouses],
            districts: vec![DistrictFacts::default(); districts],
            customers: vec![
                CustomerFacts::default();
                districts * config.scale.customers_per_district as usize
            ],
            stocks: vec![StockFacts::default(); warehouses * items],
            prices: vec![0; items],
            history_count: 0,
            order_line_count: 0,
            stray_count: 0,
            first_stray: None,
        }
    }

    /// Counts a row that is outside of the cardinalities.
    pub fn stray(&mut self, table: &'static str, numbers: [i64; 3]) {
        self.stray_count += 1;
        self.first_stray.get_or_insert_with(|| RowName(table, numbers).to_string());
    }

    pub fn warehouse_index(&self, w: i64) -> Option<usize> {
        index(w, i64::from(self.config.warehouses))
    }

    pub fn district_index(&self, w: i64, d: i64) -> Option<usize> {
        let districts = i64::from(self.config.scale.districts);
        Some(self.warehouse_index(w)? * districts as usize + index(d, districts)?)
    }

    pub fn customer_index(&self, w: i64, d: i64, c: i64) -> Option<usize> {
        let customers = i64::from(self.config.scale.customers_per_district);
        Some(self.district_index(w, d)? * customers as usize + index(c, customers)?)
    }

    pub fn item_index(&self, i: i64) -> Option<usize> {
        index(i, i64::from(self.config.scale.items))
    }

    /// Position of a stock row.
    pub fn stock_index(&self, w: i64, i: i64) -> Option<usize> {
        let items = self.config.scale.items as usize;
        Some(self.warehouse_index(w)? * items + self.item_index(i)?)
    }

    /// An order, which is added when it is first referred to. Districts have been read before.
    pub fn order(&mut self, w: i64, d: i64, o: i64) -> Option<&mut OrderFacts> {
        let district = self.district_index(w, d)?;
        let district = &mut self.districts[district];
        let position = index(o, district.next_order + ORDERS_BEYOND_MAX)?;
        if position >= district.orders.len() {
            district.orders.resize_with(position + 1, OrderFacts::default);
        }
        Some(&mut district.orders[position])
    }

    /// Warehouse and district numbers of the district at a position.
    pub fn district_numbers(&self, position: usize) -> (i64, i64) {
        let districts = self.config.scale.districts as usize;
        ((position / districts) as i64 + 1, (position % districts) as i64 + 1)
    }

    /// All orders that have a row or are referred to, with their numbers.
    pub fn orders(&self) -> impl Iterator<Item = (RowName, &OrderFacts)> {
        self.districts.iter().enumerate().flat_map(|(position, district)| {
            let (w, d) = self.district_numbers(position);
            let place = move |index| RowName("order", [w, d, index as i64 + 1]);
            district.orders.iter().enumerate().map(move |(index, order)| (place(index), order))
        })
    }

    /// All districts with their numbers.
    pub fn districts(&self) -> impl Iterator<Item = (RowName, &DistrictFacts)> {
        self.districts.iter().enumerate().map(|(position, district)| {
            let (w, d) = self.district_numbers(position);
            (RowName("district", [w, d, 0]), district)
        })
    }

    /// All customers with their numbers.
    pub fn customers(&self) -> impl Iterator<Item = (RowName, &CustomerFacts)> {
        let customers = self.config.scale.customers_per_district as usize;
        self.customers.iter().enumerate().map(move |(position, customer)| {
            let (w, d) = self.district_numbers(position / customers);
            (RowName("customer", [w, d, (position % customers) as i64 + 1]), customer)
        })
    }
}

impl DistrictFacts {
    /// Number of the order at a position.
    fn numbered(&self) -> impl DoubleEndedIterator<Item = (i64, &OrderFacts)> {
        self.orders.iter().enumerate().map(|(index, order)| (index as i64 + 1, order))
    }

    /// The largest order number, or 0.
    pub fn order_max(&self) -> i64 {
        self.numbered().rev().find(|(_, order)| order.has_row).map_or(0, |(number, _)| number)
    }

    pub fn order_count(&self) -> i64 {
        self.orders.iter().filter(|order| order.has_row).count() as i64
    }

    /// The largest number of a new-order row, if there is one.
    pub fn new_order_max(&self) -> Option<i64> {
        self.numbered().rev().find(|(_, order)| order.has_new_order).map(|(number, _)| number)
    }

    /// The smallest number of a new-order row, if there is one.
    pub fn new_order_min(&self) -> Option<i64> {
        self.numbered().find(|(_, order)| order.has_new_order).map(|(number, _)| number)
    }

    pub fn new_order_count(&self) -> i64 {
        self.orders.iter().filter(|order| order.has_new_order).count() as i64
    }
}

/// The index of a number that counts from 1 to `last`.
fn index(number: i64, last: i64) -> Option<usize> {
    (1..=last).contains(&number).then(|| number as usize - 1)
}
