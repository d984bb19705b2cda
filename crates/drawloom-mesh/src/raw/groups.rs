//! Groups of elements: the parts of a boundary, for example.

use super::{RawDat, RawMesh, Values};

/// Elements of one set that a file puts into a group, such as a part of the boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// Its name, if the file has one.
    pub name: Option<String>,
    /// Its number.
    pub number: i64,
    /// The name of the set.
    pub set: String,
    /// The elements, by growing number.
    pub elements: Vec<u32>,
}

impl RawMesh {
    /// The groups of elements, set after set, by growing number. They come from dats with a number for each element, 0 for
    /// none: Gmsh's physical groups (`SET_physical`, and `gmsh:physical` in files of meshio), and `p_bound`.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for dat in self.dats.iter().filter(|dat| dat.dim == 1 && has_groups(dat)) {
            let numbers: Vec<i64> = match &dat.values {
                Values::I32(values) => values.iter().map(|value| i64::from(*value)).collect(),
                Values::U32(values) => values.iter().map(|value| i64::from(*value)).collect(),
                Values::I64(values) => values.clone(),
                _ => continue,
            };
            // Neighbours in a file are mostly in one group.
            let mut last = None;
            for (number, element) in numbers.into_iter().zip(0..).filter(|(number, _)| *number != 0) {
                let place = last.filter(|place: &usize| groups[*place].number == number).unwrap_or_else(|| {
                    let same = |group: &Group| group.set == dat.set && group.number == number;
                    groups.iter().position(same).unwrap_or_else(|| {
                        let name = self.group_name(&dat.set, number);
                        groups.push(Group { name, number, set: dat.set.clone(), elements: vec![] });
                        groups.len() - 1
                    })
                });
                groups[place].elements.push(element);
                last = Some(place);
            }
        }
        groups.iter_mut().for_each(|group| group.elements.sort_unstable());
        let set = |name: &str| self.sets.iter().position(|set| set.name == name);
        groups.sort_by_key(|group| (set(&group.set), group.number));
        groups
    }

    /// The name of a group of elements of a set: of the constant `group_NAME` with the set's dimension and the number.
    fn group_name(&self, set: &str, number: i64) -> Option<String> {
        let dimension = self.maps.iter().find(|map| map.from == set)?.shape().dimension();
        let is_it = |values: &Values| matches!(values.as_i32(), Some([of, found]) if *of == dimension && i64::from(*found) == number);
        let constant = self.constants.iter().find(|constant| is_it(&constant.values))?;
        constant.name.strip_prefix("group_").map(str::to_owned)
    }
}

fn has_groups(dat: &RawDat) -> bool {
    let of_set = dat.name.strip_prefix(dat.set.as_str()).is_some_and(|rest| rest.starts_with("_physical"));
    of_set || dat.name.starts_with("gmsh:physical") || dat.name == "p_bound"
}

#[cfg(test)]
mod tests {
    use crate::raw::{RawMesh, Values};

    #[test]
    fn an_element_is_in_all_of_its_groups() {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 4).add_set("lines", 3).add_map("l", "lines", "nodes", 2, vec![0, 1, 1, 2, 2, 3]);
        mesh.add_dat("lines_physical", "lines", 1, Values::I32(vec![7, 0, 5]));
        mesh.add_dat("lines_physical_2", "lines", 1, Values::I32(vec![5, 0, 0]));
        mesh.add_constant("group_wall", Values::I32(vec![1, 5])).add_constant("group_body", Values::I32(vec![2, 7]));
        let groups: Vec<_> =
            mesh.groups().into_iter().map(|group| (group.name, group.number, group.elements)).collect();
        assert_eq!(groups, [(Some("wall".to_owned()), 5, vec![0, 2]), (None, 7, vec![0])]);
    }
}
