//! The airfoil written by hand for one core: the limit that the program of mesh loops is compared with.
//!
//! Everything that is done for a cell is done in one loop, so that a time step goes over the data four times: edges and
//! cells, in each of the two stages. With AVX2, four elements are computed at once.

#![allow(unsafe_code)]

use drawloom_mesh::Error;
use drawloom_mesh::raw::{RawMap, RawMesh};

use super::Airfoil;
use super::maths::{Constants, flux, pressure, time_step};
use crate::Level;

/// The mesh and the state of the flow.
pub struct Fused {
    pedge: Vec<[u32; 2]>,
    pecell: Vec<[u32; 2]>,
    pbedge: Vec<[u32; 2]>,
    pbecell: Vec<u32>,
    bound: Vec<i32>,
    pcell: Vec<[u32; 4]>,
    x: Vec<[f64; 2]>,
    q: Vec<[f64; 4]>,
    qold: Vec<[f64; 4]>,
    adt: Vec<f64>,
    res: Vec<[f64; 4]>,
    air: Constants,
    level: Level,
}

impl Fused {
    /// The flow at its start, computed at the best level that the processor has.
    ///
    /// # Errors
    /// When the mesh lacks one of the sets, maps and dats of an airfoil mesh, or its parts do not fit together.
    pub fn new(raw: &RawMesh) -> Result<Self, Error> {
        let level = if Level::Avx2.is_available() { Level::Avx2 } else { Level::Portable };
        Self::at_level(raw, level)
    }

    fn at_level(raw: &RawMesh, level: Level) -> Result<Self, Error> {
        // Everything that the loops below rely on is what the program of mesh loops checks: the maps have these columns, and
        // lead from and to the sets of the arrays that they index.
        Airfoil::new(raw, 0, |_, _| ())?;
        let (x, bound) = (raw.dat("p_x")?.values.as_f64(), raw.dat("p_bound")?.values.as_i32());
        let (x, bound) = (x.unwrap_or_default(), bound.unwrap_or_default());
        let air = Constants::air();
        let cells = raw.size("cells")?;
        Ok(Self {
            pedge: rows(raw.map("pedge")?),
            pecell: rows(raw.map("pecell")?),
            pbedge: rows(raw.map("pbedge")?),
            pbecell: raw.map("pbecell")?.table.clone(),
            bound: bound.to_vec(),
            pcell: rows(raw.map("pcell")?),
            x: x.as_chunks::<2>().0.to_vec(),
            q: vec![air.far; cells],
            qold: vec![air.far; cells],
            adt: vec![0.0; cells],
            res: vec![[0.0; 4]; cells],
            air,
            level,
        })
    }

    /// The bytes that all arrays take.
    pub fn bytes(&self) -> usize {
        let (edges, boundary, cells) = (self.pedge.len(), self.pbedge.len(), self.q.len());
        16 * edges + 16 * boundary + 16 * self.x.len() + (16 + 3 * 32 + 8) * cells
    }

    /// The bytes that one iteration reads and writes, if every loop finds each of its elements once in memory.
    pub fn traffic(&self) -> usize {
        let (edges, nodes, cells) = (self.pedge.len(), self.x.len(), self.q.len());
        let by_edges = 16 * edges + 16 * nodes + (32 + 8 + 2 * 32) * cells;
        let by_cells = 16 * nodes + (16 + 32 + 32 + 2 * 32 + 2 * 8) * cells;
        // The second stage also keeps the state.
        2 * (by_edges + by_cells) + 32 * cells
    }

    /// Goes on for a number of iterations, and gives the residual after each.
    pub fn run(&mut self, iterations: usize) -> Vec<f64> {
        self.time_steps();
        let cells = self.q.len() as f64;
        let step = |_| {
            self.stage(false);
            (self.stage(true) / cells).sqrt()
        };
        (0..iterations).map(step).collect()
    }

    /// One stage. Gives the sum of the squares of all changes.
    fn stage(&mut self, keep: bool) -> f64 {
        #[cfg(target_arch = "x86_64")]
        if self.level == Level::Avx2 {
            // SAFETY: the level was asked for.
            return unsafe {
                self.edges_with_avx2();
                self.boundary();
                self.cells_with_avx2(keep)
            };
        }
        (0..self.pedge.len()).for_each(|edge| self.edge(edge));
        self.boundary();
        (0..self.q.len()).map(|cell| self.cell(cell, keep)).sum()
    }

    fn time_steps(&mut self) {
        for cell in 0..self.q.len() {
            self.adt[cell] = self.time_step(cell);
        }
    }

    #[inline(always)]
    fn time_step(&self, cell: usize) -> f64 {
        let corners = self.pcell[cell].map(|node| self.x[node as usize]);
        time_step(corners, self.q[cell], self.air.gam, self.air.gm1, self.air.cfl)
    }

    #[inline(always)]
    fn edge(&mut self, edge: usize) {
        let ([a, b], [c, d]) = (self.pedge[edge], self.pecell[edge]);
        let (x1, x2, c, d) = (self.x[a as usize], self.x[b as usize], c as usize, d as usize);
        let mu = 0.5 * (self.adt[c] + self.adt[d]) * self.air.eps;
        let flux = flux([x1[0] - x2[0], x1[1] - x2[1]], self.q[c], self.q[d], mu, self.air.gm1);
        for (n, f) in flux.into_iter().enumerate() {
            self.res[c][n] += f;
            self.res[d][n] -= f;
        }
    }

    fn boundary(&mut self) {
        for edge in 0..self.pbedge.len() {
            let [a, b] = self.pbedge[edge];
            let (x1, x2, cell) = (self.x[a as usize], self.x[b as usize], self.pbecell[edge] as usize);
            let (dx, dy) = (x1[0] - x2[0], x1[1] - x2[1]);
            if self.bound[edge] == 1 {
                let p = pressure(self.q[cell], self.air.gm1);
                self.res[cell][1] += p * dy;
                self.res[cell][2] += -p * dx;
                continue;
            }
            let mu = self.adt[cell] * self.air.eps;
            let flux = flux([dx, dy], self.q[cell], self.air.far, mu, self.air.gm1);
            for (n, f) in flux.into_iter().enumerate() {
                self.res[cell][n] += f;
            }
        }
    }

    #[inline(always)]
    fn cell(&mut self, cell: usize, keep: bool) -> f64 {
        let adti = 1.0 / self.adt[cell];
        let mut square = 0.0;
        for n in 0..4 {
            let del = adti * self.res[cell][n];
            self.q[cell][n] = self.qold[cell][n] - del;
            square += del * del;
        }
        self.res[cell] = [0.0; 4];
        if keep {
            self.qold[cell] = self.q[cell];
        }
        self.adt[cell] = self.time_step(cell);
        square
    }
}

/// The table of a map as rows.
fn rows<const A: usize>(map: &RawMap) -> Vec<[u32; A]> {
    map.table.as_chunks::<A>().0.to_vec()
}

#[cfg(target_arch = "x86_64")]
mod with_avx2 {
    use std::arch::x86_64::{
        __m256d, _mm_loadu_pd, _mm256_add_pd, _mm256_andnot_pd, _mm256_castpd128_pd256, _mm256_div_pd,
        _mm256_insertf128_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_permute2f128_pd, _mm256_set1_pd,
        _mm256_setzero_pd, _mm256_sqrt_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
        _mm256_xor_pd,
    };
    use std::ops::{Add, Div, Mul, Neg, Sub};

    use super::super::maths::{Real, flux, time_step};
    use super::Fused;

    /// Four numbers. Only code that runs with AVX2 makes any.
    #[derive(Clone, Copy)]
    struct Four(__m256d);

    macro_rules! operation {
        ($($trait:ident $method:ident $with:ident;)*) => { $(
            impl $trait for Four {
                type Output = Four;

                #[inline(always)]
                fn $method(self, other: Four) -> Four {
                    // SAFETY: whoever has four numbers has AVX2.
                    Four(unsafe { $with(self.0, other.0) })
                }
            }
        )* };
    }
    operation! { Add add _mm256_add_pd; Sub sub _mm256_sub_pd; Mul mul _mm256_mul_pd; Div div _mm256_div_pd; }

    impl Neg for Four {
        type Output = Four;

        #[inline(always)]
        fn neg(self) -> Four {
            // SAFETY: whoever has four numbers has AVX2.
            Four(unsafe { _mm256_xor_pd(self.0, _mm256_set1_pd(-0.0)) })
        }
    }

    impl Real for Four {
        #[inline(always)]
        fn of(value: f64) -> Self {
            // SAFETY: only code that runs with AVX2 computes with four numbers.
            Four(unsafe { _mm256_set1_pd(value) })
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: whoever has four numbers has AVX2.
            Four(unsafe { _mm256_sqrt_pd(self.0) })
        }

        #[inline(always)]
        fn abs(self) -> Self {
            // SAFETY: as above.
            Four(unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0) })
        }
    }

    /// Four rows of four as columns, and back.
    #[inline(always)]
    unsafe fn transposed([a, b, c, d]: [__m256d; 4]) -> [Four; 4] {
        // SAFETY: the caller has AVX2.
        unsafe {
            let (ab, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                Four(_mm256_permute2f128_pd::<0x20>(ab, cd)),
                Four(_mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd)),
                Four(_mm256_permute2f128_pd::<0x31>(ab, cd)),
                Four(_mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd)),
            ]
        }
    }

    /// Four points, as their coordinates.
    #[inline(always)]
    unsafe fn points(x: &[[f64; 2]], nodes: [u32; 4]) -> [Four; 2] {
        // SAFETY: the caller has AVX2, and the nodes exist.
        unsafe {
            let x = x.as_ptr();
            let (a, b) = (_mm_loadu_pd(x.add(nodes[0] as usize).cast()), _mm_loadu_pd(x.add(nodes[1] as usize).cast()));
            let (c, d) = (_mm_loadu_pd(x.add(nodes[2] as usize).cast()), _mm_loadu_pd(x.add(nodes[3] as usize).cast()));
            let ac = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(a), c);
            let bd = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(b), d);
            [Four(_mm256_unpacklo_pd(ac, bd)), Four(_mm256_unpackhi_pd(ac, bd))]
        }
    }

    /// The states of four cells, number by number.
    #[inline(always)]
    unsafe fn states(q: &[[f64; 4]], cells: [u32; 4]) -> [Four; 4] {
        // SAFETY: the caller has AVX2, and the cells exist.
        unsafe {
            let q = q.as_ptr();
            transposed([
                _mm256_loadu_pd(q.add(cells[0] as usize).cast()),
                _mm256_loadu_pd(q.add(cells[1] as usize).cast()),
                _mm256_loadu_pd(q.add(cells[2] as usize).cast()),
                _mm256_loadu_pd(q.add(cells[3] as usize).cast()),
            ])
        }
    }

    /// The time steps of four cells.
    #[inline(always)]
    unsafe fn steps(adt: &[f64], cells: [u32; 4]) -> Four {
        // SAFETY: as above.
        unsafe {
            let adt = adt.as_ptr();
            let at = |n: u32| *adt.add(n as usize);
            let steps = [at(cells[0]), at(cells[1]), at(cells[2]), at(cells[3])];
            Four(_mm256_loadu_pd(steps.as_ptr()))
        }
    }

    impl Fused {
        /// # Safety
        /// The processor has AVX2.
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn edges_with_avx2(&mut self) {
            // SAFETY: promised by the caller.
            unsafe { self.edges_by_four() };
        }

        /// # Safety
        /// The processor has AVX2.
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn cells_with_avx2(&mut self, keep: bool) -> f64 {
            // SAFETY: promised by the caller.
            unsafe { self.cells_by_four(keep) }
        }

        // These become part of the functions above, which have the instructions. A closure with vectors in it would not.
        #[inline(always)]
        unsafe fn edges_by_four(&mut self) {
            let (eps, gm1) = (Four::of(self.air.eps), Four::of(self.air.gm1));
            let res = self.res.as_mut_ptr();
            let ends = self.pedge.as_chunks::<4>().0.iter().zip(self.pecell.as_chunks::<4>().0);
            for (nodes, cells) in ends {
                // SAFETY: the maps lead to elements that exist.
                unsafe {
                    let mut ends = [[0; 4]; 4];
                    for (k, ([a, b], [c, d])) in nodes.iter().zip(cells).enumerate() {
                        (ends[0][k], ends[1][k], ends[2][k], ends[3][k]) = (*a, *b, *c, *d);
                    }
                    let [first, second] = [ends[2], ends[3]];
                    let (x1, x2) = (points(&self.x, ends[0]), points(&self.x, ends[1]));
                    let mu = Four::of(0.5) * (steps(&self.adt, first) + steps(&self.adt, second)) * eps;
                    let (q1, q2) = (states(&self.q, first), states(&self.q, second));
                    let [a, b, c, d] = flux([x1[0] - x2[0], x1[1] - x2[1]], q1, q2, mu, gm1);
                    let of_edges = transposed([a.0, b.0, c.0, d.0]);
                    for (k, f) in of_edges.iter().enumerate() {
                        let (one, other) = (res.add(first[k] as usize).cast(), res.add(second[k] as usize).cast());
                        _mm256_storeu_pd(one, _mm256_add_pd(_mm256_loadu_pd(one), f.0));
                        _mm256_storeu_pd(other, _mm256_sub_pd(_mm256_loadu_pd(other), f.0));
                    }
                }
            }
            (self.pedge.len() / 4 * 4..self.pedge.len()).for_each(|edge| self.edge(edge));
        }

        #[inline(always)]
        unsafe fn cells_by_four(&mut self, keep: bool) -> f64 {
            let (gam, gm1, cfl) = (Four::of(self.air.gam), Four::of(self.air.gm1), Four::of(self.air.cfl));
            let mut squares = Four::of(0.0);
            let whole = self.q.len() / 4 * 4;
            for first in (0..whole).step_by(4) {
                // SAFETY: all arrays of cells have the same length, and the map leads to nodes that exist.
                unsafe {
                    let adt = self.adt.as_mut_ptr().add(first);
                    let adti = Four::of(1.0) / Four(_mm256_loadu_pd(adt));
                    let mut each = [0.0; 4];
                    _mm256_storeu_pd(each.as_mut_ptr(), adti.0);
                    let mut next = [_mm256_setzero_pd(); 4];
                    for (k, next) in next.iter_mut().enumerate() {
                        let cell = first + k;
                        let res = self.res.as_mut_ptr().add(cell).cast::<f64>();
                        let qold = self.qold.as_mut_ptr().add(cell).cast::<f64>();
                        let del = Four::of(each[k]) * Four(_mm256_loadu_pd(res));
                        *next = _mm256_sub_pd(_mm256_loadu_pd(qold), del.0);
                        squares = squares + del * del;
                        _mm256_storeu_pd(res, _mm256_setzero_pd());
                        _mm256_storeu_pd(self.q.as_mut_ptr().add(cell).cast(), *next);
                        if keep {
                            _mm256_storeu_pd(qold, *next);
                        }
                    }
                    let corners: [[u32; 4]; 4] = *self.pcell.as_ptr().add(first).cast();
                    let [a, b, c, d] = corners;
                    let mut x = [[Four::of(0.0); 2]; 4];
                    for (n, x) in x.iter_mut().enumerate() {
                        *x = points(&self.x, [a[n], b[n], c[n], d[n]]);
                    }
                    _mm256_storeu_pd(adt, time_step(x, transposed(next), gam, gm1, cfl).0);
                }
            }
            let mut sums = [0.0; 4];
            // SAFETY: there is room for four.
            unsafe { _mm256_storeu_pd(sums.as_mut_ptr(), squares.0) };
            let rest: f64 = (whole..self.q.len()).map(|cell| self.cell(cell, keep)).sum();
            sums.iter().sum::<f64>() + rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naca;
    use drawloom_mesh::raw::RawSet;
    use drawloom_mesh::{Backend, ErrorKind};

    #[test]
    fn maps_that_lead_to_other_sets_are_refused() {
        for name in ["pedge", "pecell", "pbedge", "pbecell", "pcell"] {
            let mut raw = naca::naca0012(7, 9).unwrap();
            raw.sets.push(RawSet { name: "larger".to_owned(), size: 1_000_000 });
            let map = raw.maps.iter_mut().find(|map| map.name == name).unwrap();
            map.to = "larger".to_owned();
            map.table.iter_mut().for_each(|target| *target += 900_000);
            let error = Fused::new(&raw).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Refused);
            assert!(error.to_string().contains(&format!("map `{name}` leads to `larger`")), "{error}");
        }
        let mut raw = naca::naca0012(7, 9).unwrap();
        let short = raw.dats.iter_mut().find(|dat| dat.name == "p_bound").unwrap();
        short.set = "none".to_owned();
        short.values = drawloom_mesh::raw::Values::I32(Vec::new());
        raw.sets.push(RawSet { name: "none".to_owned(), size: 0 });
        assert!(Fused::new(&raw).err().expect("refused").to_string().contains("dat `p_bound` is on `none`"));
    }

    #[test]
    fn it_computes_what_the_program_of_loops_does() {
        // Numbers of edges and cells that four does not divide.
        let raw = naca::naca0012(7, 9).unwrap();
        let app = Airfoil::new(&raw, 30, |_, _| ()).unwrap();
        app.program.start(Backend::Serial).unwrap().run().unwrap();
        let expected = app.residuals.lock().clone();
        for level in [Level::Portable, Level::Avx2] {
            if !level.is_available() {
                continue;
            }
            let found = Fused::at_level(&raw, level).unwrap().run(30);
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-10 * b, "{level:?}: {a} instead of {b}");
            }
        }
    }
}
