//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Database, IndexId, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `subscriber`.
    pub subscriber: TableId,
    /// Index `subscriber_number` of table `subscriber`.
    pub subscriber_by_subscriber_number: IndexId,
    /// Table `access_info`.
    pub access_info: TableId,
    /// Table `special_facility`.
    pub special_facility: TableId,
    /// Table `call_forwarding`.
    pub call_forwarding: TableId,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            subscriber: bind::table(database, "subscriber", subscriber::SLOTS)?,
            subscriber_by_subscriber_number: bind::index(
                database,
                "subscriber",
                "subscriber_number",
            )?,
            access_info: bind::table(database, "access_info", access_info::SLOTS)?,
            special_facility: bind::table(database, "special_facility", special_facility::SLOTS)?,
            call_forwarding: bind::table(database, "call_forwarding", call_forwarding::SLOTS)?,
        })
    }
}

/// Columns of table `subscriber`.
pub mod subscriber {
    use super::Slot;

    /// Column `s_id`.
    pub const S_ID: Slot = Slot::key(0, 4);
    /// Column `sub_nbr`.
    pub const SUB_NBR: Slot = Slot::text(68, 15);
    /// Column `bit_1`.
    pub const BIT_1: Slot = Slot::number(8, 2);
    /// Column `bit_2`.
    pub const BIT_2: Slot = Slot::number(10, 2);
    /// Column `bit_3`.
    pub const BIT_3: Slot = Slot::number(12, 2);
    /// Column `bit_4`.
    pub const BIT_4: Slot = Slot::number(14, 2);
    /// Column `bit_5`.
    pub const BIT_5: Slot = Slot::number(16, 2);
    /// Column `bit_6`.
    pub const BIT_6: Slot = Slot::number(18, 2);
    /// Column `bit_7`.
    pub const BIT_7: Slot = Slot::number(20, 2);
    /// Column `bit_8`.
    pub const BIT_8: Slot = Slot::number(22, 2);
    /// Column `bit_9`.
    pub const BIT_9: Slot = Slot::number(24, 2);
    /// Column `bit_10`.
    pub const BIT_10: Slot = Slot::number(26, 2);
    /// Column `hex_1`.
    pub const HEX_1: Slot = Slot::number(28, 2);
    /// Column `hex_2`.
    pub const HEX_2: Slot = Slot::number(30, 2);
    /// Column `hex_3`.
    pub const HEX_3: Slot = Slot::number(32, 2);
    /// Column `hex_4`.
    pub const HEX_4: Slot = Slot::number(34, 2);
    /// Column `hex_5`.
    pub const HEX_5: Slot = Slot::number(36, 2);
    /// Column `hex_6`.
    pub const HEX_6: Slot = Slot::number(38, 2);
    /// Column `hex_7`.
    pub const HEX_7: Slot = Slot::number(40, 2);
    /// Column `hex_8`.
    pub const HEX_8: Slot = Slot::number(42, 2);
    /// Column `hex_9`.
    pub const HEX_9: Slot = Slot::number(44, 2);
    /// Column `hex_10`.
    pub const HEX_10: Slot = Slot::number(46, 2);
    /// Column `byte2_1`.
    pub const BYTE2_1: Slot = Slot::number(48, 2);
    /// Column `byte2_2`.
    pub const BYTE2_2: Slot = Slot::number(50, 2);
    /// Column `byte2_3`.
    pub const BYTE2_3: Slot = Slot::number(52, 2);
    /// Column `byte2_4`.
    pub const BYTE2_4: Slot = Slot::number(54, 2);
    /// Column `byte2_5`.
    pub const BYTE2_5: Slot = Slot::number(56, 2);
    /// Column `byte2_6`.
    pub const BYTE2_6: Slot = Slot::number(58, 2);
    /// Column `byte2_7`.
    pub const BYTE2_7: Slot = Slot::number(60, 2);
    /// Column `byte2_8`.
    pub const BYTE2_8: Slot = Slot::number(62, 2);
    /// Column `byte2_9`.
    pub const BYTE2_9: Slot = Slot::number(64, 2);
    /// Column `byte2_10`.
    pub const BYTE2_10: Slot = Slot::number(66, 2);
    /// Column `msc_location`.
    pub const MSC_LOCATION: Slot = Slot::number(0, 4);
    /// Column `vlr_location`.
    pub const VLR_LOCATION: Slot = Slot::number(4, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, S_ID),
        (1, SUB_NBR),
        (2, BIT_1),
        (3, BIT_2),
        (4, BIT_3),
        (5, BIT_4),
        (6, BIT_5),
        (7, BIT_6),
        (8, BIT_7),
        (9, BIT_8),
        (10, BIT_9),
        (11, BIT_10),
        (12, HEX_1),
        (13, HEX_2),
        (14, HEX_3),
        (15, HEX_4),
        (16, HEX_5),
        (17, HEX_6),
        (18, HEX_7),
        (19, HEX_8),
        (20, HEX_9),
        (21, HEX_10),
        (22, BYTE2_1),
        (23, BYTE2_2),
        (24, BYTE2_3),
        (25, BYTE2_4),
        (26, BYTE2_5),
        (27, BYTE2_6),
        (28, BYTE2_7),
        (29, BYTE2_8),
        (30, BYTE2_9),
        (31, BYTE2_10),
        (32, MSC_LOCATION),
        (33, VLR_LOCATION),
    ];
}

/// Columns of table `access_info`.
pub mod access_info {
    use super::Slot;

    /// Column `s_id`.
    pub const S_ID: Slot = Slot::key(0, 4);
    /// Column `ai_type`.
    pub const AI_TYPE: Slot = Slot::key(4, 2);
    /// Column `data1`.
    pub const DATA1: Slot = Slot::number(0, 2);
    /// Column `data2`.
    pub const DATA2: Slot = Slot::number(2, 2);
    /// Column `data3`.
    pub const DATA3: Slot = Slot::text(4, 3);
    /// Column `data4`.
    pub const DATA4: Slot = Slot::text(8, 5);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, S_ID), (1, AI_TYPE), (2, DATA1), (3, DATA2), (4, DATA3), (5, DATA4)];
}

/// Columns of table `special_facility`.
pub mod special_facility {
    use super::Slot;

    /// Column `s_id`.
    pub const S_ID: Slot = Slot::key(0, 4);
    /// Column `sf_type`.
    pub const SF_TYPE: Slot = Slot::key(4, 2);
    /// Column `is_active`.
    pub const IS_ACTIVE: Slot = Slot::number(0, 2);
    /// Column `error_cntrl`.
    pub const ERROR_CNTRL: Slot = Slot::number(2, 2);
    /// Column `data_a`.
    pub const DATA_A: Slot = Slot::number(4, 2);
    /// Column `data_b`.
    pub const DATA_B: Slot = Slot::text(6, 5);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, S_ID), (1, SF_TYPE), (2, IS_ACTIVE), (3, ERROR_CNTRL), (4, DATA_A), (5, DATA_B)];
}

/// Columns of table `call_forwarding`.
pub mod call_forwarding {
    use super::Slot;

    /// Column `s_id`.
    pub const S_ID: Slot = Slot::key(0, 4);
    /// Column `sf_type`.
    pub const SF_TYPE: Slot = Slot::key(4, 2);
    /// Column `start_time`.
    pub const START_TIME: Slot = Slot::key(6, 2);
    /// Column `end_time`.
    pub const END_TIME: Slot = Slot::number(0, 2);
    /// Column `numberx`.
    pub const NUMBERX: Slot = Slot::text(2, 15);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, S_ID), (1, SF_TYPE), (2, START_TIME), (3, END_TIME), (4, NUMBERX)];
}
