//! Regions without contents, and how they get some from outside of tasks.

use drawloom_runtime::{ErrorKind, Region};

use crate::stall::builders;

#[test]
fn a_region_without_contents_can_be_waited_for_and_stays_without() {
    for builder in builders() {
        let loom = builder.build().unwrap();
        let x = loom.vector_without_contents::<u64>("x", 4).unwrap();
        x.wait().unwrap();
        let error = loom.task("early").read(&x).run(|_| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Uninitialised);
        assert!(error.to_string().contains("task `early`") && error.to_string().contains("region `x`"), "{error}");
        loom.task("fill").write(&x).run(|x| x.fill(2));
        x.wait().unwrap();
        assert_eq!(x.to_vec().unwrap(), [2; 4]);
    }
}

#[test]
fn what_is_written_anew_from_outside_of_tasks_need_not_be_there_before() {
    for builder in builders() {
        let loom = builder.build().unwrap();
        let value = loom.value_without_contents::<u64>("value");
        value.set(3).unwrap();
        assert_eq!(value.get().unwrap(), 3);
        let vector = loom.vector_without_contents::<u64>("vector", 4).unwrap();
        let left = vector.blocks(2).unwrap().next().unwrap();
        left.overwrite().unwrap().fill(7);
        assert_eq!(left.to_vec().unwrap(), [7, 7]);
        assert_eq!(vector.to_vec().unwrap_err().kind(), ErrorKind::Uninitialised);
        let (matrix, held) = (loom.matrix_without_contents::<u64>("matrix", 2, 2).unwrap(), value.read().unwrap());
        matrix.overwrite().unwrap().view_mut()[[1, 1]] = 5;
        assert_eq!(loom.task("look").read(&matrix).returns(|m| m[[1, 1]] + m[[0, 0]]).wait().unwrap(), 5);
        // Its turn never comes while this thread has another guard, and then nothing has changed.
        assert_eq!(value.overwrite().err().unwrap().kind(), ErrorKind::Stalled);
        drop(held);
        assert_eq!(value.get().unwrap(), 3);
        loom.wait_all().unwrap();
    }
}

#[test]
fn what_a_failed_task_should_have_written_can_be_mended_from_outside_of_tasks() {
    for builder in builders() {
        let loom = builder.build().unwrap();
        let (value, vector) = (loom.value("value", 1), loom.vector("vector", vec![1; 6]));
        for i in 0..2 {
            loom.task("fails")
                .update(&value)
                .update(&vector)
                .run(|_, _| std::panic::resume_unwind(Box::new("by plan")));
            let _ = loom.wait_all().unwrap_err();
            assert_eq!(value.get().unwrap_err().kind(), ErrorKind::Panicked);
            value.set(i).unwrap();
            assert_eq!(value.get().unwrap(), i);
            vector.blocks(2).unwrap().nth(1).unwrap().overwrite().unwrap().fill(i);
            assert!(vector.to_vec().is_err(), "the first half is as it was");
            vector.overwrite().unwrap().fill(i);
            assert_eq!(vector.to_vec().unwrap(), [i; 6]);
        }
        // A thread that breaks off in the middle has not written everything.
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = vector.overwrite().unwrap();
            std::panic::resume_unwind(Box::new("by plan"));
        }));
        assert!(broken.is_err());
        let error = vector.to_vec().unwrap_err().to_string();
        assert!(error.contains("panicked while it wrote region `vector` through the guard of"), "{error}");
        vector.overwrite().unwrap().fill(9);
        assert_eq!(vector.to_vec().unwrap(), [9; 6]);
        loom.wait_all().unwrap();
    }
}

#[test]
fn every_kind_of_region_can_be_made_without_contents() {
    for builder in builders() {
        let loom = builder.build().unwrap();
        let matrix = loom.matrix_without_contents::<u64>("matrix", 3, 4).unwrap();
        let array = loom.array_without_contents::<u64, 3>("array", [2, 3, 2]).unwrap();
        let value = loom.value_without_contents::<u64>("value");
        let early = [
            loom.task("early").read(&matrix).run(|_| ()).wait().unwrap_err(),
            loom.task("early").read(&array).run(|_| ()).wait().unwrap_err(),
            loom.task("early").read(&value).run(|_| ()).wait().unwrap_err(),
        ];
        for (error, name) in early.iter().zip(["`matrix`", "`array`", "`value`"]) {
            assert_eq!(error.kind(), ErrorKind::Uninitialised);
            assert!(error.to_string().contains(name), "{error}");
        }
        // One tile of the matrix is enough for those who read that tile only.
        let tile = matrix.tiles(3, 2).unwrap().next().unwrap();
        loom.task("fill").write(&tile).run(|mut tile| tile[[2, 1]] = 7);
        assert_eq!(loom.task("look").read(&tile).returns(|tile| tile[[2, 1]]).wait().unwrap(), 7);
        assert!(loom.task("early").read(&matrix).run(|_| ()).wait().is_err());
        loom.task("fill").write(&value).run(|value| *value = 5);
        assert_eq!(value.get().unwrap(), 5);
        let _ = loom.wait_all();
    }
}
