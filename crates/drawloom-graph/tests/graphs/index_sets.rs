//! Sets of indices.

use drawloom_graph::IndexSet;

#[test]
fn a_set_begins_with_its_smallest_index_and_ends_with_its_largest() {
    let set: IndexSet = [9, 3, 4, 12].into_iter().collect();
    assert_eq!((set.first(), set.last()), (Some(3), Some(12)));
    assert_eq!((IndexSet::empty().first(), IndexSet::empty().last()), (None, None));
}
