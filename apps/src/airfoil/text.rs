//! The kernels and scalar code as C functions, for the handlers in graph files.

use drawloom_mesh::HandlerText;

/// All of them. They do what the Rust kernels do, in the same order.
pub fn text() -> HandlerText {
    HandlerText::new()
        .shared(FLUX)
        .kernel("save_soln", SAVE_SOLN)
        .kernel("adt_calc", ADT_CALC)
        .kernel("res_calc", RES_CALC)
        .kernel("bres_calc", BRES_CALC)
        .kernel("update", UPDATE)
        .scalar("reset", RESET)
        .scalar("report", REPORT)
}

const FLUX: &str = "
static void flux(double dx, double dy, const double *q1, const double *q2, double mu, double gm1, double *out) {
    double r1 = 1.0 / q1[0], r2 = 1.0 / q2[0];
    double p1 = gm1 * (q1[3] - 0.5 * r1 * (q1[1] * q1[1] + q1[2] * q1[2]));
    double p2 = gm1 * (q2[3] - 0.5 * r2 * (q2[1] * q2[1] + q2[2] * q2[2]));
    double vol1 = r1 * (q1[1] * dy - q1[2] * dx);
    double vol2 = r2 * (q2[1] * dy - q2[2] * dx);
    double pressure[4] = {0.0, (p1 + p2) * dy, -(p1 + p2) * dx, vol1 * p1 + vol2 * p2};
    for(int n = 0; n < 4; n++) {
        out[n] = 0.5 * (vol1 * q1[n] + vol2 * q2[n] + pressure[n]) + mu * (q1[n] - q2[n]);
    }
}
";

const SAVE_SOLN: &str = "
static void kernel_save_soln(const double *q, double *qold) {
    for(int n = 0; n < 4; n++) qold[n] = q[n];
}
";

const ADT_CALC: &str = "
static void kernel_adt_calc(
    double (*x)[2], const double *q, const double *gam, const double *gm1, const double *cfl, double *adt
) {
    double ri = 1.0 / q[0], u = ri * q[1], v = ri * q[2];
    double c = sqrt(gam[0] * gm1[0] * (ri * q[3] - 0.5 * (u * u + v * v)));
    double sides[4];
    for(int n = 0; n < 4; n++) {
        double dx = x[(n + 1) % 4][0] - x[n][0], dy = x[(n + 1) % 4][1] - x[n][1];
        sides[n] = fabs(u * dy - v * dx) + c * sqrt(dx * dx + dy * dy);
    }
    adt[0] = (sides[0] + sides[1] + sides[2] + sides[3]) / cfl[0];
}
";

const RES_CALC: &str = "
static void kernel_res_calc(
    const double *x1, const double *x2, const double *q1, const double *q2, const double *adt1, const double *adt2,
    const double *gm1, const double *eps, double *res1, double *res2
) {
    double f[4];
    flux(x1[0] - x2[0], x1[1] - x2[1], q1, q2, 0.5 * (adt1[0] + adt2[0]) * eps[0], gm1[0], f);
    for(int n = 0; n < 4; n++) { res1[n] += f[n]; res2[n] -= f[n]; }
}
";

const BRES_CALC: &str = "
static void kernel_bres_calc(
    const double *x1, const double *x2, const double *q1, const double *adt1, const int32_t *bound,
    const double *gm1, const double *eps, const double *qinf, double *res1
) {
    double dx = x1[0] - x2[0], dy = x1[1] - x2[1];
    if(bound[0] == 1) {
        double ri = 1.0 / q1[0];
        double p1 = gm1[0] * (q1[3] - 0.5 * ri * (q1[1] * q1[1] + q1[2] * q1[2]));
        res1[1] += p1 * dy;
        res1[2] += -p1 * dx;
        return;
    }
    double f[4];
    flux(dx, dy, q1, qinf, adt1[0] * eps[0], gm1[0], f);
    for(int n = 0; n < 4; n++) res1[n] += f[n];
}
";

const UPDATE: &str = "
static void kernel_update(
    uint64_t cell, const double *qold, double *q, double *res, const double *adt, double *rms,
    double *largest, uint32_t *place
) {
    double adti = 1.0 / adt[0], square = 0.0;
    for(int n = 0; n < 4; n++) {
        double del = adti * res[n];
        q[n] = qold[n] - del;
        res[n] = 0.0;
        square += del * del;
    }
    rms[0] += square;
    if(square > largest[0]) { largest[0] = square; place[0] = (uint32_t)cell; }
}
";

const RESET: &str = "
static void scalar_reset(double *rms, double *largest) { rms[0] = 0.0; largest[0] = 0.0; }
";

const REPORT: &str = "
static void scalar_report(const double *rms, const int64_t *iteration) {
    handler_log(1, \"iteration %ld: the sum of the squares of the changes is %.17g\", (long)iteration[0] + 1, rms[0]);
}
";
