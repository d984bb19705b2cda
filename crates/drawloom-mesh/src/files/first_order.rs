//! Cells of higher order, which are read by their corners.

use super::mesh_file::MeshFile;
use crate::raw::RawMap;

/// What is left out when cells of higher order are read as cells of first order.
#[derive(Default)]
pub(super) struct FirstOrder {
    /// For each node, whether a cell has it and not as a corner. Empty if there is no such cell.
    middle: Vec<bool>,
    cells: usize,
}

impl FirstOrder {
    /// Notes the nodes of a cell that are no corners; all are below the number of nodes.
    pub(super) fn add(&mut self, node_count: usize, middle: impl Iterator<Item = u32>) {
        self.middle.resize(node_count, false);
        self.cells += 1;
        middle.for_each(|node| self.middle[node as usize] = true);
    }

    /// Removes the nodes of a mesh that were noted and are no corner of any cell, and notes it. All maps lead to the nodes.
    pub(super) fn finish(self, file: &mut MeshFile) {
        if self.cells == 0 {
            return;
        }
        let mut left_out = self.middle;
        for map in &file.mesh.maps {
            map.table.iter().for_each(|corner| left_out[*corner as usize] = false);
        }
        let kept: Vec<u32> = (0..).zip(&left_out).filter(|(_, left_out)| !**left_out).map(|(node, _)| node).collect();
        let without = left_out.len() - kept.len();
        file.notes.push(format!(
            "{} cells of higher order are read by their corners, without the {without} nodes between these",
            self.cells
        ));
        let mut new = vec![0; left_out.len()];
        kept.iter().zip(0..).for_each(|(node, place)| new[*node as usize] = place);
        let renumber = |map: &mut RawMap| map.table.iter_mut().for_each(|corner| *corner = new[*corner as usize]);
        file.mesh.maps.iter_mut().for_each(renumber);
        for dat in file.mesh.dats.iter_mut().filter(|dat| dat.set == "nodes") {
            dat.values = dat.values.gathered(dat.dim, &kept);
        }
        file.mesh.sets.iter_mut().filter(|set| set.name == "nodes").for_each(|set| set.size = kept.len());
    }
}
