//! Filling polygons with dots.

use super::colour::{Colour, WHITE};

/// A grid of dots.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    dots: Vec<Colour>,
}

impl Canvas {
    /// White paper.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, dots: vec![WHITE; width * height] }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Red, green and blue of every dot, row after row.
    pub(super) fn bytes(&self) -> &[u8] {
        self.dots.as_flattened()
    }

    /// Fills a convex polygon: every dot whose middle lies inside. Of two polygons with a common side, each dot along
    /// it belongs to exactly one, so that there are neither gaps nor overlaps.
    pub(super) fn fill(&mut self, corners: &[[f64; 2]], colour: Colour) {
        let lowest = corners.iter().map(|corner| corner[1]).fold(f64::INFINITY, f64::min);
        let highest = corners.iter().map(|corner| corner[1]).fold(f64::NEG_INFINITY, f64::max);
        for row in first_middle(lowest, self.height)..first_middle(highest, self.height) {
            let middle = row as f64 + 0.5;
            let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
            for (index, [x0, y0]) in corners.iter().enumerate() {
                let [x1, y1] = corners[(index + 1) % corners.len()];
                if (*y0 <= middle) != (y1 <= middle) {
                    // Computed from the lower end whichever way the side is walked, so that neighbours agree.
                    let (low, high) = if *y0 <= y1 { ([*x0, *y0], [x1, y1]) } else { ([x1, y1], [*x0, *y0]) };
                    let x = low[0] + (middle - low[1]) * ((high[0] - low[0]) / (high[1] - low[1]));
                    left = left.min(x);
                    right = right.max(x);
                }
            }
            let (from, to) = (first_middle(left, self.width), first_middle(right, self.width));
            if from < to {
                self.dots[row * self.width + from..row * self.width + to].fill(colour);
            }
        }
    }

    /// Draws a line, one dot thick.
    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], colour: Colour) {
        let Some([from, to]) = self.clipped(from, to) else { return };
        let (across, down) = (to[0] - from[0], to[1] - from[1]);
        let steps = across.abs().max(down.abs()).ceil().max(1.0);
        let mut step = 0.0;
        while step <= steps {
            let share = step / steps;
            self.dot(from[0] + across * share, from[1] + down * share, colour);
            step += 1.0;
        }
    }

    /// Colours one dot, if it is on the canvas.
    pub(super) fn dot(&mut self, x: f64, y: f64, colour: Colour) {
        if x >= 0.0 && y >= 0.0 && x < self.width as f64 && y < self.height as f64 {
            self.dots[y as usize * self.width + x as usize] = colour;
        }
    }

    /// The part of a line that is on the canvas (Y. Liang and B. Barsky, 1984).
    fn clipped(&self, from: [f64; 2], to: [f64; 2]) -> Option<[[f64; 2]; 2]> {
        let direction = [to[0] - from[0], to[1] - from[1]];
        let (mut start, mut end) = (0.0f64, 1.0f64);
        for (axis, size) in [self.width as f64, self.height as f64].into_iter().enumerate() {
            let (to_low, to_high) = (-from[axis] / direction[axis], (size - from[axis]) / direction[axis]);
            if direction[axis] == 0.0 {
                if from[axis] < 0.0 || from[axis] > size {
                    return None;
                }
            } else {
                start = start.max(to_low.min(to_high));
                end = end.min(to_low.max(to_high));
            }
        }
        let at = |share: f64| [from[0] + direction[0] * share, from[1] + direction[1] * share];
        (start <= end).then(|| [at(start), at(end)])
    }

    /// The same picture at half the size: each dot is the mean of four, which makes slanted lines smooth.
    pub(super) fn halved(&self) -> Canvas {
        let (width, height) = (self.width / 2, self.height / 2);
        let mut half = Canvas::new(width, height);
        for y in 0..height {
            for x in 0..width {
                let four =
                    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| self.dots[(2 * y + dy) * self.width + 2 * x + dx]);
                let mean = |channel: usize| (four.iter().map(|dot| u32::from(dot[channel])).sum::<u32>() + 2) / 4;
                half.dots[y * width + x] = [mean(0) as u8, mean(1) as u8, mean(2) as u8];
            }
        }
        half
    }
}

/// The number of the first dot whose middle is not before a place; at most `end`.
fn first_middle(place: f64, end: usize) -> usize {
    // The cast keeps to the range of integers, and makes 0 of what is not a number.
    ((place - 0.5).ceil() as usize).min(end)
}

#[cfg(test)]
mod tests {
    use super::Canvas;

    const RED: [u8; 3] = [255, 0, 0];

    fn count(canvas: &Canvas, colour: [u8; 3]) -> usize {
        canvas.dots.iter().filter(|dot| **dot == colour).count()
    }

    #[test]
    fn a_square_fills_its_area() {
        let mut canvas = Canvas::new(20, 20);
        canvas.fill(&[[2.0, 3.0], [12.0, 3.0], [12.0, 8.0], [2.0, 8.0]], RED);
        assert_eq!(count(&canvas, RED), 50);
        assert_eq!((canvas.dots[3 * 20 + 2], canvas.dots[8 * 20 + 2]), (RED, [255; 3]));
    }

    #[test]
    fn neighbours_leave_no_gap_and_do_not_overlap() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            // A square cut into four by a point inside; each part is counted on its own.
            let middle = [random.f64() * 60.0 + 2.0, random.f64() * 60.0 + 2.0];
            let square = [[1.0, 1.0], [63.0, 1.0], [63.0, 63.0], [1.0, 63.0]];
            let mut sum = 0;
            let mut together = Canvas::new(64, 64);
            for side in 0..4 {
                let part = [square[side], square[(side + 1) % 4], middle];
                let mut alone = Canvas::new(64, 64);
                alone.fill(&part, RED);
                together.fill(&part, RED);
                sum += count(&alone, RED);
            }
            assert_eq!((sum, count(&together, RED)), (62 * 62, 62 * 62), "{middle:?}");
        }
    }

    #[test]
    fn what_is_outside_is_cut_off() {
        let mut canvas = Canvas::new(8, 8);
        canvas.fill(&[[-1e300, -1e300], [1e300, -1e300], [1e300, 1e300], [-1e300, 1e300]], RED);
        assert_eq!(count(&canvas, RED), 64);
        let mut canvas = Canvas::new(8, 8);
        canvas.fill(&[[10.0, 2.0], [20.0, 2.0], [20.0, 5.0]], RED);
        canvas.fill(&[[f64::NAN, 2.0], [2.0, f64::NAN], [2.0, 5.0]], RED);
        canvas.line([-5.0, -1.0], [100.0, -1.0], RED);
        assert_eq!(count(&canvas, RED), 0);
        canvas.line([-1e9, 4.0], [1e9, 4.0], RED);
        assert_eq!(count(&canvas, RED), 8);
    }

    #[test]
    fn halving_mixes_colours() {
        let mut canvas = Canvas::new(4, 2);
        canvas.fill(&[[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]], RED);
        assert_eq!(canvas.halved().dots, [[255, 128, 128], [255; 3]]);
    }
}
