//! Halves of halves, until every part has its share.

/// Divides elements into parts. `split` gets some elements and how many of them should go to the left; it puts those first
/// and returns how many there are.
pub(super) fn divide(size: usize, parts: usize, mut split: impl FnMut(&mut [u32], usize) -> usize) -> Vec<u32> {
    let mut elements: Vec<u32> = (0..size as u32).collect();
    let mut owners = vec![0; size];
    // The first part, the number of parts, and where their elements start and end.
    let mut open = vec![(0, parts, 0, size)];
    while let Some((first, parts, start, end)) = open.pop() {
        if start == end {
            continue;
        }
        if parts == 1 {
            elements[start..end].iter().for_each(|element| owners[*element as usize] = first as u32);
            continue;
        }
        let left = parts / 2;
        let wanted = ((end - start) as u64 * left as u64 + parts as u64 / 2) / parts as u64;
        let middle = start + split(&mut elements[start..end], wanted as usize).min(end - start);
        open.push((first, left, start, middle));
        open.push((first + left, parts - left, middle, end));
    }
    owners
}
