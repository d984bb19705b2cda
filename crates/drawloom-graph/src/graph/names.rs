//! Names of nodes, in one string.

/// The names of items numbered from zero: four bytes each plus their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    /// Adds a name. Returns false, and adds nothing, when the names would exceed four gigabytes.
    pub(crate) fn push(&mut self, name: &str) -> bool {
        match u32::try_from(self.text.len() + name.len()) {
            Ok(end) => {
                self.text.push_str(name);
                self.ends.push(end);
                true
            }
            Err(_) => false,
        }
    }

    /// The name of an item.
    pub(crate) fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    pub(crate) fn reserve(&mut self, names: usize, bytes: usize) {
        self.ends.reserve(names);
        self.text.reserve(bytes);
    }
}
