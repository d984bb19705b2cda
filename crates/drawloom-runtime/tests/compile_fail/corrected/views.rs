//! Mistakes with views: what a body receives is exactly the borrow that its task declared. What is right instead.

use drawloom_runtime::*;

#[test]
fn assignment_through_a_read_slice() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    loom.task("t").update(&v).run(|v| v[0] = 1.0);
}

#[test]
fn assignment_through_a_read_value() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    loom.task("t").update(&x).run(|x| *x += 1);
}

#[test]
fn assignment_through_a_read_matrix() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    loom.task("t").update(&m).run(|mut m| m[[0, 0]] = 1.0);
}

#[test]
fn assignment_through_read_scattered_elements() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let odd = v.subsets(&[vec![1, 3]]).unwrap().next().unwrap();
    loom.task("t").update(&odd).run(|mut odd| odd[1] = 1.0);
}

#[test]
fn change_through_a_read_list() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let blocks: Vec<_> = v.blocks(2).unwrap().collect();
    loom.task("t").update_all(&blocks).run(|mut all| all.get_mut(0)[0] = 1.0);
}

#[test]
fn two_mutable_views_of_a_list() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let blocks: Vec<_> = v.blocks(2).unwrap().collect();
    loom.task("t").update_all(&blocks).run(|mut all| {
        let [a, b] = all.iter_mut().collect::<Vec<_>>().try_into().unwrap();
        a.copy_from_slice(b);
    });
}

#[test]
fn a_list_read_while_it_changes() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let blocks: Vec<_> = v.blocks(2).unwrap().collect();
    loom.task("t").update_all(&blocks).run(|mut all| {
        let other = all.get(1)[0];
        all.get_mut(0)[0] = other;
    });
}

#[test]
fn two_elements_of_a_matrix_at_once() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    loom.task("t").update(&m).run(|mut m| {
        let (a, b) = (m[[0, 0]], m[[1, 1]]);
        (m[[0, 0]], m[[1, 1]]) = (b, a);
    });
}

#[test]
fn a_view_as_result() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let kept = loom.task("t").read(&v).returns(|v| v.to_vec()).wait();
}

#[test]
fn a_tile_as_result() {
    let loom = Loom::serial();
    let m = loom.matrix("m", 4, 4, vec![0.0_f64; 16]).unwrap();
    let kept = loom.task("t").read(&m).returns(|m| m[[0, 0]]).wait();
}

#[test]
fn a_view_kept_in_a_variable() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let mut kept: Vec<Vec<f64>> = Vec::new();
    loom.task("t").read(&v).run(move |v| kept.push(v.to_vec()));
}

#[test]
fn a_lent_region_used_as_data() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0.0_f64; 8]);
    let (inner, lent) = (loom.clone(), v.clone());
    loom.task("t").lend(&v).returns(move |_| inner.task("child").read(&lent).returns(|v| v[0]).wait());
}
