//! Strongly connected components: Tarjan's algorithm (1972), with an explicit stack so that long chains are safe.

/// The component of each node. Components are numbered in reverse topological order: an edge never goes from a smaller
/// number to a larger one.
pub(crate) fn strongly_connected<I>(nodes: usize, successors: impl Fn(u32) -> I) -> Vec<u32>
where
    I: Iterator<Item = u32>,
{
    const UNSEEN: u32 = u32::MAX;
    let mut number = vec![UNSEEN; nodes];
    let mut low = vec![0u32; nodes];
    let mut component = vec![UNSEEN; nodes];
    let mut open: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, I)> = Vec::new();
    let (mut next_number, mut next_component) = (0, 0);
    for root in 0..nodes as u32 {
        if number[root as usize] != UNSEEN {
            continue;
        }
        calls.push((root, successors(root)));
        number[root as usize] = next_number;
        low[root as usize] = next_number;
        next_number += 1;
        open.push(root);
        while let Some((node, rest)) = calls.last_mut() {
            let node = *node;
            if let Some(next) = rest.next() {
                if number[next as usize] == UNSEEN {
                    number[next as usize] = next_number;
                    low[next as usize] = next_number;
                    next_number += 1;
                    open.push(next);
                    calls.push((next, successors(next)));
                } else if component[next as usize] == UNSEEN {
                    low[node as usize] = low[node as usize].min(number[next as usize]);
                }
                continue;
            }
            calls.pop();
            if let Some((caller, _)) = calls.last() {
                low[*caller as usize] = low[*caller as usize].min(low[node as usize]);
            }
            if low[node as usize] == number[node as usize] {
                loop {
                    let member = open.pop().expect("the root of a component is on the stack of open nodes");
                    component[member as usize] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}
