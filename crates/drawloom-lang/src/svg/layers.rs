//! Layers: every edge goes from a layer to the next, after turning some around and cutting long ones.
//!
//! The first two steps of the method of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical
//! System Structures" (1981): make the graph acyclic, put each node one layer below the lowest of its predecessors, and
//! replace an edge over several layers by a chain of cells.

/// A place in a layer: a node, or the point where a long edge crosses the layer.
pub(super) struct Cell {
    pub(super) layer: usize,
    /// The node; `None` for a crossing point.
    pub(super) node: Option<usize>,
    /// Cells in the layer above that are joined to this one.
    pub(super) up: Vec<usize>,
    /// Cells in the layer below that are joined to this one.
    pub(super) down: Vec<usize>,
}

/// Cells by layer, top to bottom, and the chain of cells of every edge.
pub(super) struct Layers {
    pub(super) cells: Vec<Cell>,
    pub(super) rows: Vec<Vec<usize>>,
    /// The cells of each edge from top to bottom; empty for an edge from a node to itself.
    pub(super) chains: Vec<Vec<usize>>,
    /// Edges that point upwards in the drawing.
    pub(super) turned: Vec<bool>,
}

impl Layers {
    /// Layers a graph. The first `nodes` cells are its nodes. `None` when there would be more than `most` cells.
    pub(super) fn new(nodes: usize, edges: &[(usize, usize)], most: usize) -> Option<Self> {
        let turned = turn_back_edges(nodes, edges);
        let downward: Vec<(usize, usize)> =
            edges.iter().zip(&turned).map(|(&(a, b), turned)| if *turned { (b, a) } else { (a, b) }).collect();
        let layer = longest_paths(nodes, &downward);
        let crossings: usize =
            downward.iter().map(|(a, b)| layer[*b].saturating_sub(layer[*a]).saturating_sub(1)).sum();
        if nodes + crossings > most {
            return None;
        }
        let cell = |layer: usize, node: Option<usize>| Cell { layer, node, up: Vec::new(), down: Vec::new() };
        let mut cells: Vec<Cell> = (0..nodes).map(|node| cell(layer[node], Some(node))).collect();
        let mut chains = Vec::with_capacity(edges.len());
        for &(top, bottom) in &downward {
            if top == bottom {
                chains.push(Vec::new());
                continue;
            }
            let mut chain = vec![top];
            for between in layer[top] + 1..layer[bottom] {
                chain.push(cells.len());
                cells.push(cell(between, None));
            }
            chain.push(bottom);
            for pair in chain.windows(2) {
                cells[pair[0]].down.push(pair[1]);
                cells[pair[1]].up.push(pair[0]);
            }
            chains.push(chain);
        }
        let rows = first_rows(&cells);
        Some(Self { cells, rows, chains, turned })
    }
}

/// Edges that close a cycle in a depth-first walk. Turning them around leaves no cycle.
fn turn_back_edges(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut has_source = vec![false; nodes];
    for (edge, &(a, b)) in edges.iter().enumerate() {
        out[a].push(edge);
        has_source[b] = true;
    }
    let mut turned = vec![false; edges.len()];
    // 0: not seen, 1: on the path of the walk, 2: done.
    let mut state = vec![0u8; nodes];
    let sources = (0..nodes).filter(|n| !has_source[*n]);
    for start in sources.chain(0..nodes) {
        if state[start] != 0 {
            continue;
        }
        let mut path = vec![(start, 0)];
        state[start] = 1;
        while let Some((node, next)) = path.last_mut() {
            let Some(&edge) = out[*node].get(*next) else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                1 => turned[edge] = true,
                _ => {}
            }
        }
    }
    turned
}

/// One below the lowest predecessor; a node without predecessors just above its highest successor.
fn longest_paths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut waiting = vec![0usize; nodes];
    for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
        out[a].push(b);
        waiting[b] += 1;
    }
    let sources: Vec<usize> = (0..nodes).filter(|n| waiting[*n] == 0).collect();
    let mut layer = vec![0usize; nodes];
    let mut ready = sources.clone();
    while let Some(node) = ready.pop() {
        for &to in &out[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    for source in sources {
        if let Some(highest) = out[source].iter().map(|to| layer[*to]).min() {
            layer[source] = highest - 1;
        }
    }
    layer
}

/// A first order in each row: as a depth-first walk from the top meets the cells, so that relatives start out together.
fn first_rows(cells: &[Cell]) -> Vec<Vec<usize>> {
    let depth = cells.iter().map(|cell| cell.layer + 1).max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); depth];
    let mut seen = vec![false; cells.len()];
    let mut starts: Vec<usize> = (0..cells.len()).filter(|c| cells[*c].up.is_empty()).collect();
    starts.sort_by_key(|cell| cells[*cell].layer);
    for start in starts {
        let mut todo = vec![start];
        while let Some(cell) = todo.pop() {
            if !std::mem::replace(&mut seen[cell], true) {
                rows[cells[cell].layer].push(cell);
                todo.extend(cells[cell].down.iter().rev());
            }
        }
    }
    rows
}
