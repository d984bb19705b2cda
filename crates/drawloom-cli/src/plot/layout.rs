//! Where things are in a picture, in dots.

/// Space around everything.
pub(super) const MARGIN: f64 = 16.0;

/// Width of the colour bar.
pub(super) const BAR: f64 = 22.0;

/// Space between the field and the bar, and between the bar and its numbers.
pub(super) const GAP: f64 = 8.0;

/// Space for the numbers.
const NUMBERS: f64 = 84.0;

/// The picture, and the part of it that shows the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Left, top, width and height of the part that shows the mesh.
    pub(super) view: [f64; 4],
    scale: f64,
    middle: [f64; 2],
}

impl Layout {
    /// A layout of a given width that shows a window of the plane, with or without a colour bar. A window that is far
    /// wider or higher than the other way has space around it, so that the picture has a sensible shape.
    pub(super) fn new(width: u32, window: [f64; 4], bar: bool) -> Self {
        let beside = if bar { 2.0 * GAP + BAR + NUMBERS } else { 0.0 };
        let view_width = f64::from(width) - 2.0 * MARGIN - beside;
        let [x0, y0, x1, y1] = window;
        let (across, up) = ((x1 - x0).max(f64::MIN_POSITIVE), (y1 - y0).max(f64::MIN_POSITIVE));
        let view_height = (view_width * (up / across)).clamp(view_width / 6.0, view_width * 1.5).round();
        let height = (view_height + 2.0 * MARGIN) as u32;
        let scale = (view_width / across).min(view_height / up);
        let view = [MARGIN, MARGIN, view_width, view_height];
        Self { width, height, view, scale, middle: [x0 / 2.0 + x1 / 2.0, y0 / 2.0 + y1 / 2.0] }
    }

    /// Where a point of the plane is in the picture.
    pub(super) fn place(&self, x: f64, y: f64) -> [f64; 2] {
        let [left, top, width, height] = self.view;
        [left + width / 2.0 + (x - self.middle[0]) * self.scale, top + height / 2.0 - (y - self.middle[1]) * self.scale]
    }

    /// Left, top and height of the colour bar.
    pub(super) fn bar(&self) -> [f64; 3] {
        let [left, top, width, height] = self.view;
        [left + width + GAP, top, height]
    }
}
