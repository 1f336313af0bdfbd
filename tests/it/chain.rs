//! Whole states of an era, upgraded to a release; and two ways that lead to one version.

use crate::steps::check_upgrade;
use crate::support::{check_all, fixtures};

#[test]
fn fixture_of_chain() {
    check_all(&fixtures("chain"), |fixture| check_upgrade(fixture).map(drop));
}
