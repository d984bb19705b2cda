//! Views of every shape against plain indexing: small ones, all of them.

use std::sync::Arc;

use drawloom_runtime::{Element, Future, Loom, Matrix, Operator, Region, Sum};

/// The number in storage of each element of a grid, by place, the first dimension fastest.
fn grid(first: usize, extents: &[usize], strides: &[usize]) -> Vec<(Vec<usize>, usize)> {
    let mut list = vec![(Vec::new(), first)];
    for (extent, stride) in extents.iter().zip(strides).rev() {
        let longer = |(at, number): &(Vec<usize>, usize)| -> Vec<(Vec<usize>, usize)> {
            (0..*extent).map(|i| ([&[i], &at[..]].concat(), number + i * stride)).collect()
        };
        list = list.iter().flat_map(longer).collect();
    }
    list
}

/// The tiles of a grid: first element and extents, the first dimension fastest.
fn tiles(first: usize, extents: &[usize], strides: &[usize], tile: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let counts: Vec<usize> = extents.iter().zip(tile).map(|(e, t)| e.div_ceil(*t)).collect();
    grid(0, &counts, &vec![0; counts.len()])
        .into_iter()
        .map(|(at, _)| {
            let corner: Vec<usize> = at.iter().zip(tile).map(|(a, t)| a * t).collect();
            let start = first + corner.iter().zip(strides).map(|(a, s)| a * s).sum::<usize>();
            (start, (0..tile.len()).map(|d| tile[d].min(extents[d] - corner[d])).collect())
        })
        .collect()
}

/// Whether numbers follow each other.
fn is_run(numbers: &[usize]) -> bool {
    numbers.windows(2).all(|w| w[0] + 1 == w[1])
}

/// Compares a tile of a matrix whose elements are their own numbers with plain indexing, then changes it and looks again.
fn compare_matrix(loom: &Loom, tile: &Matrix<u64>, first: usize, extents: [usize; 2], leading: usize) {
    let expected = grid(first, &extents, &[1, leading]);
    let (wanted, numbers) = (expected.clone(), expected.iter().map(|(_, n)| *n).collect::<Vec<_>>());
    assert_eq!((tile.rows(), tile.columns(), tile.len()), (extents[0], extents[1], numbers.len()));
    let look = move |m: drawloom_runtime::data::strided::MatrixRef<'_, u64>| {
        assert_eq!((m.extents(), m.rows(), m.columns()), (extents, extents[0], extents[1]));
        for (at, number) in &wanted {
            let at = [at[0], at[1]];
            assert_eq!(m[at], *number as u64);
            assert_eq!(m.get(at), Some(&(*number as u64)));
            let column: Vec<u64> = (0..extents[0]).map(|i| m[[i, at[1]]]).collect();
            assert_eq!(m.run([99, at[1]]), Some(&column[..]), "the place along a run is of no matter");
        }
        assert_eq!(m.get([extents[0], 0]), None);
        assert_eq!(m.get([0, extents[1]]), None);
        let numbers: Vec<usize> = wanted.iter().map(|(_, n)| *n).collect();
        assert_eq!(m.as_slice().is_some(), is_run(&numbers), "{extents:?} of leading dimension {leading}");
        if let Some(slice) = m.as_slice() {
            assert!(slice.iter().map(|x| *x as usize).eq(numbers));
        }
    };
    loom.task("look").read(tile).run(look).wait().unwrap();
    let wanted = expected.clone();
    loom.task("change").update(tile).run(move |mut m| {
        for (at, _) in &wanted {
            m[[at[0], at[1]]] += 1000;
            *m.get_mut([at[0], at[1]]).unwrap() += 1000;
        }
        for column in 0..extents[1] {
            m.run_mut([0, column]).unwrap().iter_mut().for_each(|x| *x += 1000);
        }
        assert_eq!(m.as_ref().extents(), extents);
        assert_eq!(m.get_mut([extents[0], 0]), None);
    });
    // A private accumulator holds the elements without gaps, whatever the distances in storage are.
    let wanted = expected.clone();
    loom.task("add").reduce(tile, Sum).run(move |mut m| {
        for (k, (at, _)) in wanted.iter().enumerate() {
            assert_eq!(m[[at[0], at[1]]], 0);
            m[[at[0], at[1]]] = k as u64 * 10_000;
        }
        if extents[0] > 0 && extents[1] > 0 {
            assert!(m.as_slice_mut().is_some(), "an accumulator has no gaps");
        }
    });
    loom.task("look again").read(tile).run(move |m| {
        for (k, (at, number)) in expected.iter().enumerate() {
            assert_eq!(m[[at[0], at[1]]], *number as u64 + 3000 + k as u64 * 10_000);
        }
    });
    loom.wait_all().unwrap();
}

#[test]
fn matrices_tiles_and_tiles_of_tiles_are_what_indexing_says() {
    let loom = Loom::serial();
    for rows in 0..=4 {
        for columns in 0..=3 {
            for leading in rows..=rows + 2 {
                let make = || {
                    let data = (0..(leading * columns) as u64).collect();
                    loom.matrix_with_leading("m", rows, columns, leading, data).unwrap()
                };
                compare_matrix(&loom, &make(), 0, [rows, columns], leading);
                for tile in [[1, 1], [2, 1], [3, 2], [2, 3], [9, 9]] {
                    let m = make();
                    let expected = tiles(0, &[rows, columns], &[1, leading], &tile);
                    let parts: Vec<_> = m.tiles(tile[0], tile[1]).unwrap().collect();
                    assert_eq!(parts.len(), expected.len());
                    let (down, across) = m.tile_counts(tile[0], tile[1]);
                    assert_eq!(down * across, parts.len());
                    for (part, (first, extents)) in parts.iter().zip(&expected) {
                        let inner = tiles(*first, extents, &[1, leading], &[2, 2]);
                        for (part, (first, extents)) in part.tiles(2, 2).unwrap().zip(&inner) {
                            compare_matrix(&loom, &part, *first, [extents[0], extents[1]], leading);
                        }
                    }
                    let m = make();
                    for (part, (first, extents)) in m.tiles(tile[0], tile[1]).unwrap().zip(&expected) {
                        compare_matrix(&loom, &part, *first, [extents[0], extents[1]], leading);
                    }
                }
            }
        }
    }
}

#[test]
fn arrays_and_their_tiles_are_what_indexing_says() {
    let loom = Loom::serial();
    for extents in [[1, 1, 1], [2, 3, 4], [4, 1, 3], [3, 2, 1], [0, 2, 2], [2, 0, 2]] {
        let strides = [extents[1] * extents[2], extents[2], 1];
        for tile in [[1, 1, 1], [2, 2, 2], [1, 3, 2], [9, 9, 9]] {
            let data = (0..extents.iter().product::<usize>() as u64).collect();
            let whole = loom.array("a", extents, data).unwrap();
            assert_eq!(whole.extents(), extents);
            let expected = tiles(0, &extents, &strides, &tile);
            assert_eq!(whole.tiles(tile).unwrap().len(), expected.len());
            for (part, (first, extents)) in whole.tiles(tile).unwrap().zip(expected) {
                let places = grid(first, &extents, &strides);
                let again = places.clone();
                assert_eq!(part.extents().to_vec(), extents);
                loom.task("add").reduce(&part, Sum).run(move |mut a| {
                    for (k, (at, _)) in places.iter().enumerate() {
                        a[[at[0], at[1], at[2]]] = k as u64 * 1000;
                    }
                });
                loom.task("look").read(&part).run(move |a| {
                    assert_eq!(a.extents().to_vec(), extents);
                    for (k, (at, number)) in again.iter().enumerate() {
                        let at = [at[0], at[1], at[2]];
                        assert_eq!(a[at], *number as u64 + k as u64 * 1000);
                        let row: Vec<u64> = (0..extents[2]).map(|i| a[[at[0], at[1], i]]).collect();
                        assert_eq!(a.run(at), Some(&row[..]));
                    }
                    assert_eq!(a.get([extents[0], 0, 0]), None);
                });
                loom.wait_all().unwrap();
            }
        }
    }
}

/// All lists of element numbers below `len` with every element in or out.
fn subsets(len: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1_usize << len).map(move |bits| (0..len).filter(|i| bits >> i & 1 == 1).collect())
}

#[test]
fn scattered_elements_are_found_by_their_numbers() {
    let loom = Loom::serial();
    for first_block in [0, 1] {
        // Numbers are those of the whole vector, also for pieces of its second half.
        let whole = loom.vector("v", (0..14_u64).collect());
        let half = whole.blocks(2).unwrap().get(first_block).unwrap();
        let offset = first_block * 7;
        for list in subsets(7) {
            let piece = half.subsets(std::slice::from_ref(&list)).unwrap().next().unwrap();
            let numbers: Vec<usize> = list.iter().map(|i| i + offset).collect();
            assert_eq!(piece.len(), numbers.len());
            assert!(piece.indices().iter().map(|i| i as usize).eq(numbers.iter().copied()));
            let expected = numbers.clone();
            loom.task("add").reduce(&piece, Sum).run(move |mut v| {
                assert_eq!(v.len(), expected.len());
                assert!((0..20).all(|i| v.get_mut(i).is_some() == expected.contains(&i)));
                for i in &expected {
                    v[*i] += 100 * *i as u64;
                }
                assert!(v.iter_mut().map(|(i, x)| (i, *x)).eq(expected.iter().map(|&i| (i, 100 * i as u64))));
            });
            let expected = numbers.clone();
            loom.task("subtract").update(&piece).run(move |mut v| {
                assert!(v.as_ref().iter().map(|(i, x)| (i, *x)).eq(expected.iter().map(|&i| (i, 101 * i as u64))));
                for (first, run) in v.runs_mut() {
                    run.iter_mut().enumerate().for_each(|(k, x)| *x -= 100 * (first + k) as u64);
                }
            });
            loom.task("look").read(&piece).run(move |v| {
                assert_eq!((v.len(), v.is_empty()), (numbers.len(), numbers.is_empty()));
                for i in 0..20 {
                    assert_eq!(v.get(i).copied(), numbers.contains(&i).then_some(i as u64));
                }
                let runs: Vec<usize> = v.runs().flat_map(|(first, run)| first..first + run.len()).collect();
                assert_eq!(runs, numbers);
                assert!(v.runs().collect::<Vec<_>>().windows(2).all(|w| w[0].0 + w[0].1.len() < w[1].0));
            });
            loom.wait_all().unwrap();
        }
        assert_eq!(whole.to_vec().unwrap(), (0..14).collect::<Vec<u64>>());
    }
}

#[test]
fn colours_cover_everything_once() {
    let loom = Loom::serial();
    for number in 0..3_usize.pow(5) {
        let colours: Vec<u32> = (0..5).map(|i| (number / 3_usize.pow(i) % 3) as u32).collect();
        let v = loom.vector("v", (0..5_u64).collect());
        let parts = v.by_colour(&colours).unwrap();
        assert!(parts.is_disjoint());
        assert_eq!(parts.len(), *colours.iter().max().unwrap() as usize + 1);
        for (colour, part) in parts.enumerate() {
            let expected: Vec<u64> = (0..5).filter(|&i| colours[i as usize] as usize == colour).collect();
            loom.task("look").read(&part).run(move |part| assert!(part.iter().map(|(_, x)| *x).eq(expected)));
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn blocks_and_halos_are_runs_of_the_vector() {
    let loom = Loom::serial();
    for len in 0..=9_usize {
        let v = loom.vector("v", (0..len as u64).collect());
        for count in 1..=5 {
            let mut start = 0_usize;
            for (number, block) in v.blocks(count).unwrap().enumerate() {
                let size = len / count + usize::from(number < len % count);
                let halo = |width: usize| match size {
                    0 => start..start,
                    _ => start.saturating_sub(width)..(start + size + width).min(len),
                };
                let same = |range: std::ops::Range<usize>, found: &[u64]| {
                    assert!(range.map(|i| i as u64).eq(found.iter().copied()));
                };
                same(start..start + size, &block.read().unwrap());
                for width in 0..=3 {
                    same(halo(width), &v.halos(count, width).unwrap().get(number).unwrap().read().unwrap());
                }
                start += size;
            }
            assert_eq!(start, len);
        }
    }
}

#[test]
fn the_same_cut_gives_the_same_pieces() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0_u8; 9]);
    let name = |region: &dyn Fn() -> String| region();
    for cut in [
        &(|| v.blocks(3).unwrap().next().unwrap().name()) as &dyn Fn() -> String,
        &(|| v.halos(3, 1).unwrap().next().unwrap().name()),
        &(|| v.subsets(&[vec![1, 2], vec![2, 5]]).unwrap().next().unwrap().name()),
        &(|| v.by_colour(&[0, 1, 0, 1, 0, 1, 0, 1, 0]).unwrap().next().unwrap().name()),
    ] {
        assert_eq!(name(cut), name(cut));
    }
    let [a, b] = [[3, 4], [3, 5]].map(|list| v.subsets(&[list.to_vec()]).unwrap().next().unwrap().name());
    assert_ne!(a, b);
}

#[test]
fn elements_without_a_size_are_counted_all_the_same() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let v = loom.host_vector("v", vec![(); 1000]);
        assert_eq!(v.blocks(7).unwrap().map(|b| b.read().unwrap().len()).sum::<usize>(), 1000);
        let w = loom.vector("w", vec![[0.0_f64; 0]; 10]);
        loom.task("t").reduce(&w, Sum).run(|w| assert_eq!(w.len(), 10));
        assert_eq!(w.to_vec().unwrap(), [[0.0_f64; 0]; 10]);
        let m = loom.matrix("m", 2, 3, vec![[0_u8; 0]; 6]).unwrap();
        loom.task("t").update(&m).run(|mut m| m[[1, 2]] = []).wait().unwrap();
        loom.task("t").scratch::<[u64; 0]>(5).run(|s| assert_eq!(s.len(), 0)).wait().unwrap();
    }
}

#[test]
fn halo_tiles_are_tiles_with_what_is_around_them() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let (rows, columns, leading) = (5, 7, 6);
        let m = loom.matrix_with_leading("m", rows, columns, leading, (0..leading * columns).collect()).unwrap();
        let a = loom.array("a", [rows, columns], (0..rows * columns).collect()).unwrap();
        for (tile_rows, tile_columns, width) in [(2, 3, 1), (1, 1, 2), (5, 2, 0), (3, 9, usize::MAX), (2, 2, 4)] {
            let halos = m.halo_tiles(tile_rows, tile_columns, width).unwrap();
            let grid = a.halo_tiles([tile_rows, tile_columns], [width, 0]).unwrap();
            assert_eq!(halos.len(), m.tiles(tile_rows, tile_columns).unwrap().len());
            assert_eq!(grid.len(), halos.len());
            for (number, (halo, band)) in halos.zip(grid).enumerate() {
                let down = rows.div_ceil(tile_rows);
                let (top, left) = (number % down * tile_rows, number / down * tile_columns);
                let around = |at: usize, size: usize, width: usize, most: usize| {
                    at.saturating_sub(width)..at.saturating_add(size).saturating_add(width).min(most)
                };
                let (r, c) = (around(top, tile_rows, width, rows), around(left, tile_columns, width, columns));
                let narrow = around(left, tile_columns, 0, columns);
                let expected: Vec<usize> = c.clone().flat_map(|j| r.clone().map(move |i| i + j * leading)).collect();
                let guard = halo.read().unwrap();
                let view = guard.view();
                let found: Vec<usize> =
                    (0..c.len()).flat_map(|j| (0..r.len()).map(move |i| (i, j))).map(|(i, j)| view[[i, j]]).collect();
                assert_eq!((view.rows(), view.columns()), (r.len(), c.len()));
                assert_eq!(found, expected);
                let guard = band.read().unwrap();
                assert_eq!(guard.view().extents(), [r.len(), narrow.len()]);
                assert_eq!(guard.view()[[0, 0]], r.start * columns + narrow.start);
            }
        }
        assert_eq!(m.halo_tiles(2, 3, 1).unwrap().next().unwrap().name(), "m.halos2x3w1x1[0]");
        assert!(m.halo_tiles(0, 3, 1).is_err());
        assert!(!m.halo_tiles(2, 3, 1).unwrap().is_disjoint());
    }
}

#[test]
fn a_stencil_over_halo_tiles_is_ordered_by_what_they_share() {
    let sum_of = |loom: Loom| {
        let n = 12;
        let start: Vec<u64> = (0..n * n).map(|i| (i * 7 % 11) as u64).collect();
        let (old, new) =
            (loom.matrix("old", n, n, start).unwrap(), loom.matrix("new", n, n, vec![0_u64; n * n]).unwrap());
        for step in 0..6 {
            let (from, to) = if step % 2 == 0 { (&old, &new) } else { (&new, &old) };
            let tiles = from.halo_tiles(4, 4, 1).unwrap().zip(to.tiles(4, 4).unwrap());
            for (number, (halo, tile)) in tiles.enumerate() {
                // Tiles at the upper and left edges have nothing before them.
                let (top, left) = (usize::from(number % 3 > 0), usize::from(number / 3 > 0));
                loom.task("sum").read(&halo).write(&tile).run(move |halo, mut tile| {
                    for j in 0..4 {
                        for i in 0..4 {
                            let rows = (i + top).saturating_sub(1)..(i + top + 2).min(halo.rows());
                            let columns = (j + left).saturating_sub(1)..(j + left + 2).min(halo.columns());
                            let around = columns.flat_map(|c| rows.clone().map(move |r| (r, c)));
                            tile[[i, j]] = around.map(|(r, c)| halo[[r, c]]).fold(0, u64::wrapping_add);
                        }
                    }
                });
            }
        }
        let guard = old.read().unwrap();
        (0..n * n).map(|i| guard.view()[[i % n, i / n]]).collect::<Vec<_>>()
    };
    let expected = sum_of(Loom::serial());
    assert_eq!(sum_of(Loom::builder().workers(3).build().unwrap()), expected);
}

#[test]
fn numbers_of_pieces_that_would_take_all_memory_are_refused() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0_u8; 4]);
    for error in [
        v.blocks(u32::MAX as usize).err(),
        v.blocks(usize::MAX).err(),
        v.halos(u32::MAX as usize, 1).err(),
        v.by_colour(&[0, 1, 2, u32::MAX]).err(),
    ] {
        let error = error.expect("it is refused");
        assert!(error.to_string().contains("cannot be cut into"), "{error}");
    }
    assert_eq!(v.blocks(1000).unwrap().len(), 1000, "empty pieces are no mistake");
    // Not empty, but too many to be remembered: memory that is never touched costs nothing, and lists of pieces do.
    let many = loom.vector_without_contents::<u8>("many", (1 << 31) + 7).unwrap();
    let square = loom.matrix_without_contents::<u8>("square", 50_000, 50_000).unwrap();
    let cube = loom.array_without_contents::<u8, 3>("cube", [1000, 1000, 2500]).unwrap();
    for error in [
        many.blocks(1 << 31).err(),
        many.halos(1 << 31, 1).err(),
        square.tiles(1, 1).err(),
        // Whole rows, of which no two elements are neighbours.
        square.tiles(1, 50_000).err(),
        cube.tiles([1, 1, 1]).err(),
        cube.tiles([1000, 1000, 1]).err(),
    ] {
        let error = error.expect("it is refused");
        assert!(
            error.to_string().contains("cannot be cut into") && error.to_string().contains(" are the most"),
            "{error}"
        );
    }
    assert_eq!(square.tiles(50_000, 1).unwrap().len(), 50_000);
    assert_eq!(cube.tiles([1, 1000, 2500]).unwrap().len(), 1000);
    let nothing = loom.array("a", [0, usize::MAX, usize::MAX], Vec::<u8>::new()).unwrap();
    assert_eq!(nothing.tiles([1, 1, 1]).unwrap().len(), 0);
    loom.task("t").reduce(&nothing, Sum).run(|a| assert_eq!(a.extents(), [0, usize::MAX, usize::MAX]));
}

#[test]
fn a_scratch_buffer_that_cannot_be_had_is_an_error() {
    #[derive(Clone, Copy, Element)]
    #[repr(C, align(128))]
    struct Wide {
        bytes: [u8; 128],
    }
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let said = |task: Future<()>| task.wait().unwrap_err().to_string();
        let text = said(loom.task("huge").scratch::<f64>(1 << 45).run(|_| ()));
        assert!(text.contains("`huge`") && text.contains("281474976710656 bytes"), "{text}");
        let text = said(loom.task("endless").scratch::<f64>(usize::MAX).run(|_| ()));
        assert!(text.contains("`endless`") && text.contains(&usize::MAX.to_string()), "{text}");
        loom.task("wide").scratch::<Wide>(4).run(|wide| assert_eq!(wide[0].bytes[0], 0)).wait().unwrap();
        let capture = loom.capture("recorded");
        capture.task("huge").scratch::<f64>(1 << 45).run(|_| ());
        let text = capture.plan().unwrap().run().unwrap_err().to_string();
        assert!(text.contains("`huge`") && text.contains("281474976710656 bytes"), "{text}");
        assert_eq!(loom.task("small").scratch::<f64>(3).returns(|s| s.iter().sum::<f64>()).wait().unwrap(), 0.0);
    }
}

/// An element that is not plain, and counted.
#[derive(Clone)]
struct Word(String, #[allow(dead_code, reason = "it counts the words")] Arc<()>);

/// Puts words one behind the other.
#[derive(Clone)]
struct Append(Arc<()>);

impl Operator<Word> for Append {
    fn name(&self) -> &'static str {
        "append"
    }
    fn identity(&self) -> Word {
        Word(String::new(), Arc::clone(&self.0))
    }
    fn fold(&self, into: &mut Word, from: &Word) {
        into.0.push_str(&from.0);
    }
}

#[test]
fn vectors_and_values_can_hold_elements_of_any_type_and_drop_each_once() {
    let count = Arc::new(());
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let words = |n: usize| vec![Word("a".to_owned(), Arc::clone(&count)); n];
        let (vector, value) = (loom.host_vector("vector", words(6)), loom.host_value("value", words(1).remove(0)));
        for block in vector.blocks(3).unwrap() {
            loom.task("push").update(&block).run(|block| block[0].0.push('b'));
            let append = Append(Arc::clone(&count));
            loom.task("append").reduce(&block, append).run(|block| block[0].0.push('c'));
            loom.task("push").commute(&value).run(|value| value.0.push('b'));
        }
        let texts = loom.task("look").read(&vector).returns(|v| v.iter().map(|x| x.0.clone()).collect::<Vec<_>>());
        assert_eq!(texts.wait().unwrap(), ["abc", "a", "abc", "a", "abc", "a"]);
        assert_eq!(value.read().unwrap().0, "abbb");
        let error = loom.task("again").update(&vector).retry(1).run(|_| ()).wait().unwrap_err();
        assert!(error.to_string().contains("its elements are not plain"), "{error}");
        let error = loom.array("wrong", [2, 2], vec![0_u8; 3]).unwrap_err().to_string();
        assert!(error.contains("array `wrong`: extents [2, 2] do not make 3 elements"), "{error}");
        let _ = loom.wait_all();
    }
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn runs_of_a_block_are_counted_from_its_first_element() {
    let loom = Loom::new().unwrap();
    let whole = loom.vector("v", (0..8).collect::<Vec<u32>>());
    let block = whole.blocks(2).unwrap().get(1).unwrap();
    let runs: Vec<Vec<u32>> = block.runs(&[1]).unwrap().map(|run| run.to_vec().unwrap()).collect();
    assert_eq!(runs, [vec![4], vec![5, 6, 7]]);
}
