//! The amount of data of a warehouse: the specification's numbers, or smaller ones of the same
//! shape.

/// The cardinalities below a warehouse [TPC-C 1.2.1, 4.3.3.1].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Items, and stock rows per warehouse.
    pub items: i32,
    /// Districts per warehouse.
    pub districts: i16,
    pub customers_per_district: i32,
    /// Orders per district right after the load.
    pub orders_per_district: i32,
}

/// Percentage of the loaded orders that are still open: the last 900 of 3000.
const OPEN_PERCENT: i32 = 30;
/// The number of possible last names: three syllables out of ten.
const LAST_NAMES_MAX: i32 = 1000;

impl Scale {
    /// The specification's cardinalities; with any other scale the workload is not TPC-C.
    pub const FULL: Self = Self {
        items: 100_000,
        districts: 10,
        customers_per_district: 3000,
        orders_per_district: 3000,
    };

    /// A hundred times smaller, for tests and simulation. Contention is higher than at full scale.
    pub const SMALL: Self =
        Self { items: 200, districts: 10, customers_per_district: 30, orders_per_district: 30 };

    /// A thousand times smaller, for simulation and for devices that are emulated.
    pub const TINY: Self =
        Self { items: 40, districts: 3, customers_per_district: 12, orders_per_district: 12 };

    /// The last loaded order of a district that is already delivered: 2100.
    pub const fn delivered_order_max(&self) -> i32 {
        self.orders_per_district - self.orders_per_district * OPEN_PERCENT / 100
    }

    /// Number of customers whose last names are assigned in order, and so of distinct names: 1000.
    pub const fn last_names(&self) -> i32 {
        let third = self.customers_per_district / 3;
        if third < 1 {
            1
        } else if third > LAST_NAMES_MAX {
            LAST_NAMES_MAX
        } else {
            third
        }
    }

    /// The item number of a new-order with a nonexistent item [TPC-C 2.4.1.5].
    pub const fn unused_item(&self) -> i32 {
        self.items + 1
    }

    /// The reason why these numbers are invalid, if they are.
    pub fn problem(&self) -> Option<&'static str> {
        match self {
            _ if self.items < 15 => {
                Some("an order has up to 15 items, so there must be at least 15")
            }
            _ if self.districts < 1 || self.districts > 99 => {
                Some("a warehouse has 1 to 99 districts")
            }
            _ if self.customers_per_district < 1 => Some("a district has at least one customer"),
            _ if self.orders_per_district < 4 => {
                Some("a district is loaded with at least 4 orders")
            }
            _ => None,
        }
    }
}

const _: () = {
    assert!(Scale::FULL.delivered_order_max() == 2100);
    assert!(Scale::FULL.last_names() == 1000);
    assert!(Scale::SMALL.delivered_order_max() == 21);
};
