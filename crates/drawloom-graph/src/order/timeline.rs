//! Mutations by group, earliest first, seen from a moving point in time.
//!
//! Versions are visited from last to first, so each mutation entered is earlier than all before it. Every group keeps a
//! stack of its own mutations, and a list of its children in the order of their earliest mutation: a child moves to the
//! front when something in it is entered. Both are therefore sorted by time without any sorting, and "everything in this
//! subtree up to time t" is a walk that touches nothing else.

use crate::region::cover::{Covers, Group, Part};

const NONE: u32 = u32::MAX;

/// A mutation: the position of a version in the topological order, and the version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mutation {
    pub(crate) position: u32,
    pub(crate) version: u32,
}

/// The mutations later than the current point, by group.
pub(crate) struct Timeline<'a> {
    covers: &'a Covers,
    stacks: Vec<Vec<Mutation>>,
    /// The position of the earliest mutation in the subtree.
    earliest: Vec<u32>,
    /// Children lists, linked through the links of the covers.
    head: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    child: Vec<Group>,
    todo: Vec<Group>,
}

impl<'a> Timeline<'a> {
    pub(crate) fn new(covers: &'a Covers) -> Self {
        let (groups, links) = (covers.group_count(), covers.link_count());
        let mut child = vec![0; links];
        for group in 0..groups as Group {
            covers.links(group).for_each(|link| child[link as usize] = group);
        }
        Self {
            covers,
            stacks: vec![Vec::new(); groups],
            earliest: vec![NONE; groups],
            head: vec![NONE; groups],
            next: vec![NONE; links],
            previous: vec![NONE; links],
            child,
            todo: Vec::new(),
        }
    }

    /// Enters a mutation earlier than all before it.
    pub(crate) fn enter(&mut self, group: Group, mutation: Mutation) {
        self.stacks[group as usize].push(mutation);
        self.earliest[group as usize] = mutation.position;
        self.todo.push(group);
        while let Some(g) = self.todo.pop() {
            for (link, &parent) in self.covers.links(g).zip(self.covers.parents(g)) {
                self.move_to_front(parent, link);
                if self.earliest[parent as usize] != mutation.position {
                    self.earliest[parent as usize] = mutation.position;
                    self.todo.push(parent);
                }
            }
        }
    }

    /// The position of the earliest mutation in a cover.
    pub(crate) fn earliest(&self, cover: &[Part]) -> Option<u32> {
        let of = |part: &Part| match part.below {
            true => self.earliest[part.group as usize],
            false => self.stacks[part.group as usize].last().map_or(NONE, |m| m.position),
        };
        cover.iter().map(of).min().filter(|p| *p != NONE)
    }

    /// Hands every mutation in a cover up to a position to `visit`, until it returns false.
    pub(crate) fn up_to(&mut self, cover: &[Part], position: u32, mut visit: impl FnMut(Mutation) -> bool) {
        for part in cover {
            self.todo.clear();
            self.todo.push(part.group);
            while let Some(g) = self.todo.pop() {
                for mutation in self.stacks[g as usize].iter().rev().take_while(|m| m.position <= position) {
                    if !visit(*mutation) {
                        self.todo.clear();
                        return;
                    }
                }
                if !part.below {
                    break;
                }
                let mut link = self.head[g as usize];
                while link != NONE && self.earliest[self.child[link as usize] as usize] <= position {
                    self.todo.push(self.child[link as usize]);
                    link = self.next[link as usize];
                }
            }
        }
    }

    fn move_to_front(&mut self, parent: Group, link: u32) {
        let first = self.head[parent as usize];
        if first == link {
            return;
        }
        let (before, after) = (self.previous[link as usize], self.next[link as usize]);
        if before != NONE {
            self.next[before as usize] = after;
        }
        if after != NONE {
            self.previous[after as usize] = before;
        }
        self.previous[link as usize] = NONE;
        self.next[link as usize] = first;
        if first != NONE {
            self.previous[first as usize] = link;
        }
        self.head[parent as usize] = link;
    }
}
