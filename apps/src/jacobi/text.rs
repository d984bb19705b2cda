//! The kernels and scalar code as C functions, for the handlers in graph files.

use drawloom_mesh::HandlerText;

use super::Variant;

/// Those of a variant. They do what the Rust kernels do, in the same order.
pub fn text(variant: Variant) -> HandlerText {
    let (begin, res, number) = match variant {
        Variant::Double => (BEGIN, RES, "double"),
        Variant::Mixed => (BEGIN_MIXED, RES_MIXED, "float"),
    };
    let of_numbers = |text: &str| text.replace("NUMBER", number);
    HandlerText::new()
        .kernel("begin", begin)
        .kernel("res", res)
        .kernel("update", of_numbers(UPDATE))
        .scalar("reset", of_numbers("static void scalar_reset(NUMBER *sum, NUMBER *max) { sum[0] = 0; max[0] = 0; }"))
        .scalar("report", of_numbers(REPORT))
}

const BEGIN: &str = "
static void kernel_begin(double *u) { u[0] = 0.0; }
";

const BEGIN_MIXED: &str = "
static void kernel_begin(float *u) { u[0] = 0.0f; u[1] = -7.0f; }
";

const RES: &str = "
static void kernel_res(const double *a, const double *u, const double *beta, double *du) {
    du[0] += beta[0] * a[0] * u[0];
}
";

const RES_MIXED: &str = "
static void kernel_res(const double *a, const float *u, const float *beta, float *du) {
    du[0] += (float)((double)beta[0] * a[0] * (double)u[0]);
}
";

const UPDATE: &str = "
static void kernel_update(
    const NUMBER *r, NUMBER *du, NUMBER *u, const NUMBER *alpha, NUMBER *sum, NUMBER *max
) {
    u[0] += du[0] + alpha[0] * r[0];
    du[0] = 0;
    sum[0] += u[0] * u[0];
    if(u[0] > max[0]) max[0] = u[0];
}
";

const REPORT: &str = "
static void scalar_report(const NUMBER *sum, const NUMBER *max, const int64_t *sweep) {
    handler_log(
        1, \"sweep %ld: the largest value is %.17g, the sum of the squares %.17g\", (long)sweep[0] + 1,
        (double)max[0], (double)sum[0]
    );
}
";
