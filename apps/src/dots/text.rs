//! The kernels and scalar code as C functions, for the handlers in graph files.

use drawloom_mesh::HandlerText;

/// All of them. They do what the Rust kernels do, in the same order.
pub fn text() -> HandlerText {
    HandlerText::new()
        .kernel("iota", "static void kernel_iota(uint64_t index, int64_t *sum) { sum[0] += (int64_t)index; }")
        .kernel("multiply", MULTIPLY)
        .kernel("add", "static void kernel_add(const double *product, double *sum) { sum[0] += product[0]; }")
        .kernel("zero", "static void kernel_zero(double *sum) { sum[0] = 0.0; }")
        .kernel("halves", "static void kernel_halves(const double *x, double *sum) { sum[0] += x[0] * x[0]; }")
        .kernel("collect", COLLECT)
        .scalar("reset", RESET)
        .scalar("report", REPORT)
}

const MULTIPLY: &str = "
static void kernel_multiply(const double *x, const double *y, double *product) { product[0] = x[0] * y[0]; }
";

const COLLECT: &str = "
static void kernel_collect(uint64_t half, const double *part, double *both) { both[half] += part[0]; }
";

const RESET: &str = "
static void scalar_reset(int64_t *indices, double *squares, double *both) {
    indices[0] = 0;
    squares[0] = 0.0;
    both[0] = 0.0;
    both[1] = 0.0;
}
";

const REPORT: &str = "
static void scalar_report(
    const int64_t *indices, const double *squares, const double *both, const int64_t *iteration
) {
    handler_log(
        1, \"iteration %ld: the sum is %ld, that of the squares %.17g, of them %.17g and %.17g\",
        (long)iteration[0] + 1, (long)indices[0], squares[0], both[0], both[1]
    );
}
";
