//! Reports for programs: JSON lines and SARIF.
//!
//! | file | concept |
//! |---|---|
//! | `findings` | the result of a check, one line of JSON |
//! | `witness` | witnesses as structured values |
//! | `order` | an order and its launch list, one line of JSON |
//! | `sarif` | the results of several checks, as SARIF 2.1.0 |
//!
//! An absent value is an absent key, never `null`. Ids are integers where they were integers in the file.

mod findings;
mod order;
mod sarif;
mod witness;

pub use findings::{check_json, error_json};
pub use order::order_json;
pub use sarif::{Checked, sarif};
