//! The kernels and scalar code as C functions, for the handlers in graph files.

use drawloom_mesh::HandlerText;

/// Those of [`Reduction`](super::Reduction). They do what the Rust kernels do, in the same order.
pub fn text() -> HandlerText {
    HandlerText::new()
        .kernel("count_edge", "static void kernel_count_edge(double *seen, int32_t *n) { seen[0] += 1.0; n[0] += 1; }")
        .kernel("count_cell", "static void kernel_count_cell(double *seen, int32_t *n) { seen[1] += 1.0; n[0] += 1; }")
        .scalar("reset", "static void scalar_reset(int32_t *edges, int32_t *cells) { edges[0] = 0; cells[0] = 0; }")
        .scalar("report", REPORT)
}

/// Those of [`Bounds`](super::Bounds).
pub fn bounds_text() -> HandlerText {
    HandlerText::new()
        .shared(FIVE)
        .kernel("direct", DIRECT)
        .kernel("indirect", INDIRECT)
        .kernel("leftmost", LEFTMOST)
        .kernel("wide", WIDE)
        .kernel("through", THROUGH)
        .scalar("reset", RESET)
}

const REPORT: &str = "
static void scalar_report(const int32_t *edges, const int32_t *cells, const int64_t *iteration) {
    handler_log(1, \"iteration %ld: %d edges and %d cells\", (long)iteration[0] + 1, (int)edges[0], (int)cells[0]);
}
";

const FIVE: &str = "
static int64_t five(uint64_t node, int c) { return (int64_t)((node * 7919 + (uint64_t)c * 104729) % 1009) - 500; }
";

const DIRECT: &str = "
static void kernel_direct(const double *x, double *low, double *high) {
    for(int c = 0; c < 2; c++) {
        if(x[c] < low[c]) low[c] = x[c];
        if(x[c] > high[c]) high[c] = x[c];
    }
}
";

const INDIRECT: &str = "
static void kernel_indirect(double (*x)[2], double *low, double *high) {
    for(int n = 0; n < 2; n++) {
        for(int c = 0; c < 2; c++) {
            if(x[n][c] < low[c]) low[c] = x[n][c];
            if(x[n][c] > high[c]) high[c] = x[n][c];
        }
    }
}
";

const LEFTMOST: &str = "
static void kernel_leftmost(uint64_t node, const double *x, double *left, uint32_t *place) {
    if(x[0] < left[0]) { left[0] = x[0]; place[0] = (uint32_t)node; }
}
";

const WIDE: &str = "
static void kernel_wide(uint64_t node, int64_t *low, int64_t *high, int64_t *sum) {
    for(int c = 0; c < 5; c++) {
        int64_t value = five(node, c);
        if(value < low[c]) low[c] = value;
        if(value > high[c]) high[c] = value;
        sum[c] += value;
    }
}
";

const THROUGH: &str = "
static void kernel_through(uint64_t first, const int64_t *more, int64_t *sum) {
    for(int c = 0; c < 5; c++) sum[c] += five(first, c) + more[c];
}
";

const RESET: &str = "
static void scalar_reset(int64_t *sums, int64_t *through) {
    for(int c = 0; c < 5; c++) { sums[c] = 0; through[c] = 0; }
}
";
