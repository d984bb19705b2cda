//! The airfoil written by hand for one core: the limit that the program of mesh loops is compared with.
//!
//! Everything that is done for a cell is done in one loop, so that a time step goes over the data four times: edges and
//! cells, in each of the two stages. With AVX2, four elements are computed at once.

use drawloom_mesh::Error;
use drawloom_mesh::raw::{RawMap, RawMesh};

use super::Airfoil;
use super::maths::{Constants, flux, pressure, time_step};
#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;

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
    /// The instructions of AVX2, if they are used.
    #[cfg(target_arch = "x86_64")]
    vectors: Option<V3>,
}

impl Fused {
    /// The flow at its start, computed at the best level that the processor has.
    ///
    /// # Errors
    /// When the mesh lacks one of the sets, maps and dats of an airfoil mesh, or its parts do not fit together.
    pub fn new(raw: &RawMesh) -> Result<Self, Error> {
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
            #[cfg(target_arch = "x86_64")]
            vectors: V3::try_new(),
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
        if let Some(simd) = self.vectors {
            simd.vectorize(four::Edges(simd, self));
            self.boundary();
            return simd.vectorize(four::Cells(simd, self, keep));
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
mod four {
    use std::arch::x86_64::{__m128d, __m256d};
    use std::ops::{Add, Div, Mul, Neg, Sub};

    use pulp::x86::V3;
    use pulp::{NullaryFnOnce, Simd, cast, f64x4};

    use super::super::maths::{Real, flux, time_step};
    use super::Fused;

    /// Four numbers, and the instructions that they are computed with.
    #[derive(Clone, Copy)]
    struct Four(V3, f64x4);

    macro_rules! operation {
        ($($trait:ident $method:ident $with:ident;)*) => { $(
            impl $trait for Four {
                type Output = Four;

                #[inline(always)]
                fn $method(self, other: Four) -> Four {
                    Four(self.0, self.0.$with(self.1, other.1))
                }
            }
        )* };
    }
    operation! { Add add add_f64s; Sub sub sub_f64s; Mul mul mul_f64s; Div div div_f64s; }

    impl Neg for Four {
        type Output = Four;

        #[inline(always)]
        fn neg(self) -> Four {
            Four(self.0, self.0.neg_f64s(self.1))
        }
    }

    impl Real for Four {
        #[inline(always)]
        fn of(self, value: f64) -> Self {
            Four(self.0, self.0.splat_f64s(value))
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            Four(self.0, self.0.sqrt_f64s(self.1))
        }

        #[inline(always)]
        fn abs(self) -> Self {
            Four(self.0, self.0.abs_f64s(self.1))
        }
    }

    impl Four {
        #[inline(always)]
        fn numbers(self) -> [f64; 4] {
            cast(self.1)
        }
    }

    /// Four rows of four as columns, and back.
    #[inline(always)]
    fn transposed(simd: V3, rows: [[f64; 4]; 4]) -> [Four; 4] {
        let [a, b, c, d]: [__m256d; 4] = [cast(rows[0]), cast(rows[1]), cast(rows[2]), cast(rows[3])];
        let avx = simd.avx;
        let (ab, ab_odd) = (avx._mm256_unpacklo_pd(a, b), avx._mm256_unpackhi_pd(a, b));
        let (cd, cd_odd) = (avx._mm256_unpacklo_pd(c, d), avx._mm256_unpackhi_pd(c, d));
        [
            Four(simd, cast(avx._mm256_permute2f128_pd::<0x20>(ab, cd))),
            Four(simd, cast(avx._mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd))),
            Four(simd, cast(avx._mm256_permute2f128_pd::<0x31>(ab, cd))),
            Four(simd, cast(avx._mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd))),
        ]
    }

    /// Four points, as their coordinates.
    #[inline(always)]
    fn points(simd: V3, x: &[[f64; 2]], [a, b, c, d]: [u32; 4]) -> [Four; 2] {
        let [a, b]: [__m128d; 2] = [cast(x[a as usize]), cast(x[b as usize])];
        let [c, d]: [__m128d; 2] = [cast(x[c as usize]), cast(x[d as usize])];
        let avx = simd.avx;
        let ac = avx._mm256_insertf128_pd::<1>(avx._mm256_castpd128_pd256(a), c);
        let bd = avx._mm256_insertf128_pd::<1>(avx._mm256_castpd128_pd256(b), d);
        [Four(simd, cast(avx._mm256_unpacklo_pd(ac, bd))), Four(simd, cast(avx._mm256_unpackhi_pd(ac, bd)))]
    }

    /// The states of four cells, number by number.
    #[inline(always)]
    fn states(simd: V3, q: &[[f64; 4]], [a, b, c, d]: [u32; 4]) -> [Four; 4] {
        transposed(simd, [q[a as usize], q[b as usize], q[c as usize], q[d as usize]])
    }

    /// The time steps of four cells.
    #[inline(always)]
    fn steps(simd: V3, adt: &[f64], [a, b, c, d]: [u32; 4]) -> Four {
        Four(simd, f64x4(adt[a as usize], adt[b as usize], adt[c as usize], adt[d as usize]))
    }

    /// The loop over all edges.
    pub(super) struct Edges<'a>(pub(super) V3, pub(super) &'a mut Fused);

    impl NullaryFnOnce for Edges<'_> {
        type Output = ();

        // It is compiled for AVX2 as it is inlined. A closure with vectors in it would not be.
        #[inline(always)]
        fn call(self) {
            let Self(simd, flow) = self;
            let half = Four(simd, simd.splat_f64s(0.5));
            let (eps, gm1) = (half.of(flow.air.eps), half.of(flow.air.gm1));
            let Fused { pedge, pecell, x, q, adt, res, .. } = &mut *flow;
            // They have the same length: a number of a cell is compared with it once.
            let (adt, res) = (&adt[..q.len()], &mut res[..q.len()]);
            for (nodes, cells) in pedge.as_chunks::<4>().0.iter().zip(pecell.as_chunks::<4>().0) {
                let mut ends = [[0; 4]; 4];
                for (k, ([a, b], [c, d])) in nodes.iter().zip(cells).enumerate() {
                    (ends[0][k], ends[1][k], ends[2][k], ends[3][k]) = (*a, *b, *c, *d);
                }
                let [first, second] = [ends[2], ends[3]];
                let (x1, x2) = (points(simd, x, ends[0]), points(simd, x, ends[1]));
                let mu = half * (steps(simd, adt, first) + steps(simd, adt, second)) * eps;
                let (q1, q2) = (states(simd, q, first), states(simd, q, second));
                let [a, b, c, d] = flux([x1[0] - x2[0], x1[1] - x2[1]], q1, q2, mu, gm1);
                let of_edges = transposed(simd, [a.numbers(), b.numbers(), c.numbers(), d.numbers()]);
                for (f, (one, other)) in of_edges.iter().zip(first.into_iter().zip(second)) {
                    let one = &mut res[one as usize];
                    *one = cast(simd.add_f64s(cast(*one), f.1));
                    let other = &mut res[other as usize];
                    *other = cast(simd.sub_f64s(cast(*other), f.1));
                }
            }
            (flow.pedge.len() / 4 * 4..flow.pedge.len()).for_each(|edge| flow.edge(edge));
        }
    }

    /// The loop over all cells, which keeps their states if wanted. Gives the sum of the squares of all changes.
    pub(super) struct Cells<'a>(pub(super) V3, pub(super) &'a mut Fused, pub(super) bool);

    impl NullaryFnOnce for Cells<'_> {
        type Output = f64;

        #[inline(always)]
        fn call(self) -> f64 {
            let Self(simd, flow, keep) = self;
            let one = Four(simd, simd.splat_f64s(1.0));
            let (gam, gm1, cfl) = (one.of(flow.air.gam), one.of(flow.air.gm1), one.of(flow.air.cfl));
            let mut squares = one.of(0.0);
            let Fused { pcell, x, q, qold, adt, res, .. } = &mut *flow;
            let states = q.as_chunks_mut::<4>().0.iter_mut().zip(qold.as_chunks_mut::<4>().0);
            let cells = states.zip(adt.as_chunks_mut::<4>().0).zip(res.as_chunks_mut::<4>().0);
            for ((((q, qold), adt), res), corners) in cells.zip(pcell.as_chunks::<4>().0) {
                let each = (one / Four(simd, cast(*adt))).numbers();
                for (k, each) in each.into_iter().enumerate() {
                    let del = one.of(each) * Four(simd, cast(res[k]));
                    q[k] = (Four(simd, cast(qold[k])) - del).numbers();
                    squares = squares + del * del;
                    res[k] = [0.0; 4];
                    if keep {
                        qold[k] = q[k];
                    }
                }
                let [a, b, c, d] = corners;
                let mut at = [[one; 2]; 4];
                for (n, at) in at.iter_mut().enumerate() {
                    *at = points(simd, x, [a[n], b[n], c[n], d[n]]);
                }
                *adt = time_step(at, transposed(simd, *q), gam, gm1, cfl).numbers();
            }
            let whole = flow.q.len() / 4 * 4;
            let rest: f64 = (whole..flow.q.len()).map(|cell| flow.cell(cell, keep)).sum();
            squares.numbers().iter().sum::<f64>() + rest
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
        for wide in [false, true] {
            let mut flow = Fused::new(&raw).unwrap();
            #[cfg(target_arch = "x86_64")]
            flow.vectors.take_if(|_| !wide);
            let found = flow.run(30);
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-10 * b, "with vectors {wide}: {a} instead of {b}");
            }
        }
    }
}
