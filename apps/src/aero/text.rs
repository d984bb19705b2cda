//! The kernels and scalar code as C functions, for the handlers in graph files.

use drawloom_mesh::HandlerText;

/// All of them. They do what the Rust kernels do, in the same order.
pub fn text() -> HandlerText {
    HandlerText::new()
        .kernel("res_calc", RES_CALC)
        .kernel("dirichlet", "static void kernel_dirichlet(double *res) { res[0] = 0.0; }")
        .kernel("init_cg", INIT_CG)
        .kernel("spMV", SP_MV)
        .kernel(
            "dotPV",
            "static void kernel_dotPV(const double *p, const double *v, double *c) { c[0] += p[0] * v[0]; }",
        )
        .kernel("updateUR", UPDATE_UR)
        .kernel("dotR", "static void kernel_dotR(const double *r, double *c) { c[0] += r[0] * r[0]; }")
        .kernel("updateP", UPDATE_P)
        .kernel("update", UPDATE)
        .scalar("begin", "static void scalar_begin(double *c1) { c1[0] = 0.0; }")
        .scalar("goal", GOAL)
        .scalar("reset", "static void scalar_reset(double *c2, double *c3) { c2[0] = 0.0; c3[0] = 0.0; }")
        .scalar("alpha", ALPHA)
        .scalar("beta", BETA)
        .scalar("judge", JUDGE)
        .scalar("reset_rms", "static void scalar_reset_rms(double *rms) { rms[0] = 0.0; }")
        .scalar("report", REPORT)
}

const RES_CALC: &str = "
static void kernel_res_calc(
    double (*x)[2], const double *phim, const double *shape, const double *weights, const double *gm1,
    const double *gm1i, const double *m2, double *k, double *res
) {
    for(int n = 0; n < 16; n++) k[n] = 0.0;
    for(int i = 0; i < 4; i++) {
        const double *first = shape + 4 * i, *second = shape + 16 + 4 * i;
        double y_2 = 0.0, x_1 = 0.0, y_1 = 0.0, x_2 = 0.0;
        for(int m = 0; m < 4; m++) {
            y_2 += second[m] * x[m][1];
            x_1 += first[m] * x[m][0];
            y_1 += first[m] * x[m][1];
            x_2 += second[m] * x[m][0];
        }
        double det = y_2 * x_1 - y_1 * x_2, weight = weights[i] * det;
        double n_x[4], n_y[4], along[4], u = 0.0, v = 0.0;
        for(int m = 0; m < 4; m++) {
            n_x[m] = (y_2 * first[m] - y_1 * second[m]) / det;
            n_y[m] = (x_1 * second[m] - x_2 * first[m]) / det;
            u += n_x[m] * phim[m];
            v += n_y[m] * phim[m];
        }
        double dk = 1.0 + 0.5 * gm1[0] * (m2[0] - (u * u + v * v));
        double rho = pow(dk, gm1i[0]), rc2 = rho / dk;
        for(int j = 0; j < 4; j++) {
            along[j] = u * n_x[j] + v * n_y[j];
            res[j] += weight * rho * along[j];
        }
        for(int j = 0; j < 4; j++) {
            for(int l = 0; l < 4; l++) {
                k[4 * j + l] +=
                    weight * rho * (n_x[j] * n_x[l] + n_y[j] * n_y[l]) - weight * rc2 * along[j] * along[l];
            }
        }
    }
}
";

const INIT_CG: &str = "
static void kernel_init_cg(const double *r, double *c, double *u, double *v, double *p) {
    c[0] += r[0] * r[0];
    p[0] = r[0];
    u[0] = 0.0;
    v[0] = 0.0;
}
";

const SP_MV: &str = "
static void kernel_spMV(double *v, const double *k, const double *p) {
    for(int j = 0; j < 4; j++) {
        for(int l = 0; l < 4; l++) v[j] += (j <= l ? k[4 * j + l] : k[4 * l + j]) * p[l];
    }
}
";

const UPDATE_UR: &str = "
static void kernel_updateUR(double *u, double *r, const double *p, double *v, const double *alpha) {
    u[0] += alpha[0] * p[0];
    r[0] -= alpha[0] * v[0];
    v[0] = 0.0;
}
";

const UPDATE_P: &str = "
static void kernel_updateP(const double *r, double *p, const double *beta) { p[0] = beta[0] * p[0] + r[0]; }
";

const UPDATE: &str = "
static void kernel_update(double *phim, double *res, const double *u, double *rms) {
    phim[0] -= u[0];
    res[0] = 0.0;
    rms[0] += u[0] * u[0];
}
";

const GOAL: &str = "
static void scalar_goal(const double *c1, double *goal, int64_t *inner, uint8_t *goes_on) {
    goal[0] = 0.1 * sqrt(c1[0]);
    inner[0] = 0;
    goes_on[0] = sqrt(c1[0]) > goal[0];
}
";

const ALPHA: &str = "
static void scalar_alpha(const double *c1, const double *c2, double *alpha) { alpha[0] = c1[0] / c2[0]; }
";

const BETA: &str = "
static void scalar_beta(const double *c3, double *c1, double *beta) {
    beta[0] = c3[0] / c1[0];
    c1[0] = c3[0];
}
";

const JUDGE: &str = "
static void scalar_judge(const double *c1, const double *goal, int64_t *inner, uint8_t *goes_on) {
    inner[0] += 1;
    goes_on[0] = sqrt(c1[0]) > goal[0] && inner[0] < 200;
}
";

const REPORT: &str = "
static void scalar_report(const double *rms, const int64_t *inner, const int64_t *outer) {
    handler_log(
        1, \"iteration %ld: %ld steps, and the sum of the squares of the changes is %.17g\", (long)outer[0] + 1,
        (long)inner[0], rms[0]
    );
}
";
