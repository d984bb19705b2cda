//! Where each member of a record lies: at the offset that a C compiler would give it.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::field::{Field, Plain};
use super::json;
use super::types::{Member, Scalar, Tuple, Type};
use crate::error::{Error, ErrorKind, Result, check_name};

/// A record is at most so large, so that a slip in a declaration cannot ask for all memory.
const LARGEST: usize = 1 << 24;

/// Types inside of types are followed so deep.
const DEEPEST: usize = 32;

/// The type of a record, with the place of each member. Cloning is cheap.
#[derive(Clone)]
pub struct Layout(Arc<Body>);

struct Body {
    tuple: Tuple,
    size: usize,
    /// Whether there are truth values among the members.
    has_truths: bool,
    /// The record of all defaults, as words.
    default: Vec<u64>,
}

impl Layout {
    /// The layout of a tuple.
    ///
    /// # Errors
    /// When a name is no identifier or used twice, a default is not of its type, or the record is larger than 16 MiB or
    /// nested deeper than 32 levels.
    pub fn new(tuple: Tuple) -> Result<Self> {
        let (size, _) = measure_tuple(&tuple, 0)?;
        let mut default = vec![0; size.div_ceil(8)];
        json::fill_defaults(&tuple, &mut bytemuck::cast_slice_mut(&mut default)[..size])?;
        let has_truths = tuple.members().iter().any(|member| has_truths(&member.ty));
        Ok(Self(Arc::new(Body { tuple, size, has_truths, default })))
    }

    /// The layout without members.
    pub fn empty() -> Self {
        Self(Arc::new(Body { tuple: Tuple::new(), size: 0, has_truths: false, default: Vec::new() }))
    }

    /// The members.
    pub fn tuple(&self) -> &Tuple {
        &self.0.tuple
    }

    /// How many bytes a record takes: what `sizeof` says in C, and nothing for no members.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// How many words of eight bytes a record takes.
    pub(crate) fn words(&self) -> usize {
        self.0.default.len()
    }

    /// The record of all defaults.
    pub fn default_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0.default)[..self.0.size]
    }

    /// Whether there are truth values among the members, so that some bytes are no record.
    pub(crate) fn has_truths(&self) -> bool {
        self.0.has_truths
    }

    /// Refuses bytes that are no record: too many, too few, or a truth value that is neither 0 nor 1.
    ///
    /// # Errors
    /// When they are none, with the path of the member.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.size() {
            let message = format!("a record of {} bytes was given {} bytes", self.size(), bytes.len());
            return Err(Error::new(ErrorKind::Value, message));
        }
        let wrong = if self.has_truths() { wrong_truth_of_tuple(self.tuple(), bytes) } else { None };
        match wrong {
            None => Ok(()),
            Some((path, byte)) => {
                let message = format!("member {:?} holds a bool of {byte}, and a bool is 0 or 1", &path[1..]);
                Err(Error::new(ErrorKind::Value, message))
            }
        }
    }

    /// A member, found once by its name and reached by number from then on. A path such as `points[3].x` names a member
    /// inside of others.
    ///
    /// # Errors
    /// When there is no such member, or it is not of the Rust type.
    pub fn field<T: Plain>(&self, path: &str) -> Result<Field<T>> {
        let (offset, ty) = self.find(path)?;
        if !T::is_of(ty) {
            let message = format!("the member {path:?} is no {}: it is declared as {ty:?}", std::any::type_name::<T>());
            return Err(Error::new(ErrorKind::Type, message));
        }
        Ok(Field::at(offset))
    }

    /// A member as any plain Rust type of the same size, such as a struct with `repr(C)`.
    ///
    /// # Errors
    /// When there is no such member, its size differs, or its place does not suit the alignment of the Rust type.
    pub fn field_as<T: bytemuck::Pod>(&self, path: &str) -> Result<Field<T>> {
        let (offset, ty) = self.find(path)?;
        let (size, _) = measure(ty, 0)?;
        if size != size_of::<T>() || offset % align_of::<T>() != 0 {
            let message = format!(
                "the member {path:?} takes {size} bytes at {offset}, which does not suit {}",
                std::any::type_name::<T>()
            );
            return Err(Error::new(ErrorKind::Type, message));
        }
        Ok(Field::at(offset))
    }

    /// Where a member is, by a path as for [`Layout::field`], whatever its type.
    ///
    /// # Errors
    /// When there is no such member.
    pub fn offset_of(&self, path: &str) -> Result<usize> {
        self.find(path).map(|(offset, _)| offset)
    }

    /// The offset and the type of a member.
    fn find(&self, path: &str) -> Result<(usize, &Type)> {
        let missing = || Error::new(ErrorKind::Type, format!("there is no member {path:?}"));
        let (mut offset, mut tuple, mut found) = (0, Some(&self.0.tuple), None);
        for part in path.split('.') {
            let mut indices = part.split('[');
            let name = indices.next().unwrap_or_default();
            let (at, member) = tuple.and_then(|tuple| offset_of(tuple, name)).ok_or_else(missing)?;
            offset += at;
            let mut ty = &member.ty;
            for index in indices {
                let index: usize = index.strip_suffix(']').and_then(|n| n.parse().ok()).ok_or_else(missing)?;
                let Type::Array(element, length) = ty else { return Err(missing()) };
                if index >= *length {
                    return Err(missing());
                }
                offset += index * measure(element, 0)?.0;
                ty = element;
            }
            tuple = if let Type::Tuple(inner) = ty { Some(inner) } else { None };
            found = Some(ty);
        }
        Ok((offset, found.ok_or_else(missing)?))
    }
}

impl Default for Layout {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout").field("size", &self.0.size).field("tuple", &self.0.tuple).finish()
    }
}

impl TryFrom<Tuple> for Layout {
    type Error = Error;

    fn try_from(tuple: Tuple) -> Result<Self> {
        Self::new(tuple)
    }
}

/// The offset of a member in its tuple. The tuple was measured before, so nothing overflows.
fn offset_of<'t>(tuple: &'t Tuple, name: &str) -> Option<(usize, &'t Member)> {
    placed(tuple).find(|(_, member)| member.name == name)
}

/// The members of a measured tuple with their offsets.
pub(crate) fn placed(tuple: &Tuple) -> impl Iterator<Item = (usize, &Member)> {
    let mut end = 0;
    tuple.members().iter().map(move |member| {
        let (size, align) = measure(&member.ty, 0).unwrap_or((0, 1));
        let offset = end_aligned(end, align);
        end = offset + size;
        (offset, member)
    })
}

fn has_truths(ty: &Type) -> bool {
    match ty {
        Type::Scalar(scalar) => *scalar == Scalar::Bool,
        Type::Array(element, _) => has_truths(element),
        Type::Tuple(tuple) => tuple.members().iter().any(|member| has_truths(&member.ty)),
    }
}

/// The first truth value in the bytes of a tuple that is neither 0 nor 1: the way to it, and its byte.
fn wrong_truth_of_tuple(tuple: &Tuple, bytes: &[u8]) -> Option<(String, u8)> {
    placed(tuple).find_map(|(offset, member)| {
        let (path, byte) = wrong_truth(&member.ty, &bytes[offset..])?;
        Some((format!(".{}{path}", member.name), byte))
    })
}

fn wrong_truth(ty: &Type, bytes: &[u8]) -> Option<(String, u8)> {
    match ty {
        Type::Scalar(Scalar::Bool) => (bytes[0] > 1).then(|| (String::new(), bytes[0])),
        Type::Array(element, length) if has_truths(element) => {
            let size = measure(element, 0).map_or(0, |(size, _)| size);
            (0..*length).find_map(|number| {
                let (path, byte) = wrong_truth(element, &bytes[number * size..])?;
                Some((format!("[{number}]{path}"), byte))
            })
        }
        Type::Tuple(tuple) => wrong_truth_of_tuple(tuple, bytes),
        Type::Scalar(_) | Type::Array(..) => None,
    }
}

fn end_aligned(end: usize, align: usize) -> usize {
    end.next_multiple_of(align)
}

/// Size and alignment of a type.
pub(crate) fn measure(ty: &Type, depth: usize) -> Result<(usize, usize)> {
    if depth > DEEPEST {
        return Err(Error::new(ErrorKind::Type, format!("types are nested deeper than {DEEPEST} levels")));
    }
    match ty {
        Type::Scalar(scalar) => Ok((scalar.size(), scalar.size())),
        Type::Array(element, length) => {
            let (size, align) = measure(element, depth + 1)?;
            let size = size
                .checked_mul(*length)
                .filter(|size| *size <= LARGEST && *length <= LARGEST)
                .ok_or_else(too_large)?;
            Ok((size, align))
        }
        Type::Tuple(tuple) => measure_tuple(tuple, depth + 1),
    }
}

fn measure_tuple(tuple: &Tuple, depth: usize) -> Result<(usize, usize)> {
    let (mut end, mut greatest) = (0, 1);
    let mut names = FxHashSet::default();
    for member in tuple.members() {
        check_name("a member", &member.name)?;
        if !names.insert(&member.name) {
            return Err(Error::new(ErrorKind::Type, format!("two members are called {:?}", member.name)));
        }
        let (size, align) =
            measure(&member.ty, depth).map_err(|e| e.within(format_args!("member {:?}", member.name)))?;
        end = end_aligned(end, align) + size;
        greatest = greatest.max(align);
        if end > LARGEST {
            return Err(too_large());
        }
    }
    Ok((end_aligned(end, greatest), greatest))
}

fn too_large() -> Error {
    Error::new(ErrorKind::Type, format!("the record is larger than {LARGEST} bytes"))
}
