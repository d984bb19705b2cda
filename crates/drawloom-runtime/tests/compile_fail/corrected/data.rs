//! Mistakes with data: what may be stored, and who may reach it. What is right instead.

use drawloom_runtime::*;

#[test]
fn text_as_plain_bytes() {
    let loom = Loom::serial();
    loom.host_vector("v", vec![String::new()]);
}

#[test]
fn a_struct_of_unknown_contents() {
    let loom = Loom::serial();
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Point {
        x: f64,
        y: f64,
    }
    loom.vector("v", vec![Point { x: 0.0, y: 0.0 }]);
}

#[test]
fn a_struct_of_elements_with_text() {
    let loom = Loom::serial();
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Named {
        name: [u8; 16],
        number: u64,
    }
    loom.value("v", Named { name: [0; 16], number: 1 });
}

#[test]
fn a_struct_of_elements_with_a_character() {
    let loom = Loom::serial();
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Letter {
        letter: u32,
        count: u32,
    }
    loom.value("v", Letter { letter: 'a'.into(), count: 1 });
}

#[test]
fn a_struct_of_elements_with_padding() {
    let loom = Loom::serial();
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Padded {
        number: u64,
        small: u8,
        reserved: [u8; 7],
    }
    loom.value("v", Padded { number: 1, small: 1, reserved: [0; 7] });
}

#[test]
fn a_struct_of_elements_without_layout() {
    let loom = Loom::serial();
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Pair {
        one: u32,
        other: u32,
    }
    loom.value("v", Pair { one: 1, other: 1 });
}

#[test]
fn characters_as_elements() {
    let loom = Loom::serial();
    loom.vector("v", vec![u32::from('a')]);
}

#[test]
fn element_without_unsafe() {
    let loom = Loom::serial();
    #[derive(Clone, Copy, Element)]
    #[repr(transparent)]
    struct Word(u64);
    loom.value("v", Word(1));
}

#[test]
fn a_value_of_one_thread() {
    let loom = Loom::serial();
    loom.host_value("x", std::sync::Arc::new(1));
}

#[test]
fn a_value_that_changes_while_shared() {
    let loom = Loom::serial();
    loom.host_value("x", std::sync::atomic::AtomicU32::new(1));
}

#[test]
fn elements_that_borrow() {
    let loom = Loom::serial();
    let text = String::from("owned");
    let v = loom.host_vector("v", vec![text]);
}

#[test]
fn a_plain_vector_as_region() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0; 8]);
    loom.task("t").read(&v).run(|v| ());
}

#[test]
fn a_region_dropped_before_submission() {
    let loom = Loom::serial();
    let x = loom.value("x", 1_u64);
    let task = loom.task("t").read(&x);
    task.run(|x| ());
}

#[test]
fn a_sum_of_truths() {
    let loom = Loom::serial();
    #[derive(Clone)]
    struct Or;
    impl Operator<bool> for Or {
        fn name(&self) -> &'static str {
            "or"
        }
        fn identity(&self) -> bool {
            false
        }
        fn fold(&self, into: &mut bool, from: &bool) {
            *into |= *from
        }
    }
    let x = loom.value("x", false);
    loom.task("t").reduce(&x, Or).run(|x| *x = true);
}

#[test]
fn a_closure_as_operator() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    loom.task("t").reduce(&x, Sum).run(|x| *x += 1);
}

#[test]
fn a_scratch_buffer_of_text() {
    let loom = Loom::serial();
    loom.task("t").scratch::<u8>(4).run(|buffer| ());
}

#[test]
fn unordered_without_unsafe() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    // SAFETY: no other task uses the region.
    let v = unsafe { v.unordered() };
}

#[test]
fn elements_with_another_lifetime() {
    let loom = Loom::serial();
    fn any(text: &String) {}
    let lasting: Vector<fn(&'static String)> = loom.host_vector("lasting", vec![any as fn(&'static String)]);
}
