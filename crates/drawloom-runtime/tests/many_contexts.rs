//! Many contexts, one after the other: what is deleted costs next to nothing. In a process of its own, whose memory is measured.

use drawloom_runtime::{ErrorKind, Loom};

/// The memory of this process that is in use, in bytes; none where the system does not say.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

#[test]
fn contexts_that_come_and_go_leave_little_behind() {
    const MANY: usize = 20_000;
    let loom = Loom::builder().workers(2).build().unwrap();
    let mut first = None;
    let mut before = None;
    for i in 0..MANY + 2000 {
        if i == 2000 {
            // Those that were cancelled are told of here.
            let _ = loom.wait_all();
            before = resident();
        }
        let context = loom.context("short").create().unwrap();
        loom.task("t").in_context(&context).run(|| ());
        if i % 3 == 0 {
            context.cancel().unwrap();
        }
        context.delete().unwrap();
        first.get_or_insert(context);
    }
    let _ = loom.wait_all();
    let stats = loom.stats();
    assert_eq!(stats.contexts.len(), 1, "those that were deleted are not gone through any more");
    assert_eq!((stats.submitted, stats.completed), ((MANY + 2000) as u64, (MANY + 2000) as u64));
    let error = first.unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Context);
    assert!(error.to_string().contains("context `short` was deleted"), "{error}");
    if let (Some(before), Some(after)) = (before, resident()) {
        let each = after.saturating_sub(before) / MANY;
        assert!(each < 1000, "{each} bytes are left of each context");
    }
}
