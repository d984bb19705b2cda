//! Operators of users that use the runtime, which calls them in the middle of other things.

use drawloom_runtime::{Loom, Operator, Value};

fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    looms.extend([1, 3].map(|workers| Loom::builder().workers(workers).build().unwrap()));
    looms
}

/// Adds up, and does something else on the way.
#[derive(Clone)]
struct Busy {
    loom: Loom,
    other: Value<u64>,
    at: &'static str,
    what: &'static str,
}

impl Busy {
    fn reach(&self, place: &str) {
        if self.at != place {
            return;
        }
        match self.what {
            "submits" => drop(self.loom.task("from an operator").update(&self.other).run(|x| *x += 1)),
            "waits" => drop(self.loom.task("waited for").run(|| ()).wait()),
            _ => drop(self.other.get()),
        }
    }
}

impl Operator<u64> for Busy {
    fn name(&self) -> &'static str {
        self.reach("name");
        "busy"
    }

    fn identity(&self) -> u64 {
        self.reach("identity");
        0
    }

    fn fold(&self, into: &mut u64, from: &u64) {
        self.reach("fold");
        *into += from;
    }
}

#[test]
fn an_operator_that_uses_the_runtime_holds_nothing_up() {
    for at in ["name", "identity", "fold"] {
        for what in ["submits", "waits", "reads"] {
            for loom in looms() {
                let (sum, other) = (loom.value("sum", 0), loom.value("other", 0));
                let busy = Busy { loom: loom.clone(), other, at, what };
                for number in 1..=3 {
                    loom.task("add").reduce(&sum, busy.clone()).run(move |sum| *sum += number);
                }
                assert_eq!(sum.get().unwrap(), 6, "{what} in {at}");
                let _ = loom.wait_all();
            }
        }
    }
}
