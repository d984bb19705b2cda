//! XML as a stream of elements, each with the line it is on.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::rc::Rc;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use crate::error::{Error, ErrorKind, Result};

/// Elements inside of elements are followed so deep.
const DEEPEST: usize = 64;

/// A piece of a file.
#[derive(Debug)]
pub(crate) enum Item {
    /// An element begins.
    Open(Open),
    /// The element that began last and has not ended does so.
    Close,
    /// Text inside of an element.
    Text(String),
    /// The file ends.
    End,
}

/// The beginning of an element.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    pub(crate) line: u64,
}

impl Open {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The values of all attributes.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|(_, value)| value.as_str())
    }

    pub(crate) fn require(&self, name: &str) -> Result<&str> {
        let missing = || malformed(format!("element {:?} has no attribute {name:?}", self.name), self.line);
        self.get(name).ok_or_else(missing)
    }

    /// Whether an attribute says yes.
    pub(crate) fn is_true(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(malformed(format!("{other:?} is neither true nor false"), self.line)),
        }
    }
}

/// An element with everything in it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) open: Open,
    pub(crate) children: Vec<Node>,
    pub(crate) text: String,
}

impl Node {
    /// The first element inside with a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.open.name == name)
    }

    /// The elements inside with a name.
    pub(crate) fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node> {
        self.children.iter().filter(move |child| child.open.name == name)
    }

    pub(crate) fn wrong(&self, message: impl Into<String>) -> Error {
        malformed(message, self.open.line)
    }
}

/// A file being read.
pub(crate) struct Stream<R: Read> {
    reader: Reader<Counted<R>>,
    line: Rc<Cell<u64>>,
    buffer: Vec<u8>,
    depth: usize,
}

impl<R: Read> Stream<R> {
    pub(crate) fn new(input: R) -> Self {
        let line = Rc::new(Cell::new(1));
        let mut reader =
            Reader::from_reader(Counted { inner: BufReader::with_capacity(1 << 16, input), line: Rc::clone(&line) });
        reader.config_mut().expand_empty_elements = true;
        Self { reader, line, buffer: Vec::new(), depth: 0 }
    }

    /// The line that was read last.
    pub(crate) fn line(&self) -> u64 {
        self.line.get()
    }

    /// Whether nothing was in the file so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.reader.buffer_position() == 0
    }

    /// The next piece of the file. White space between elements is left out.
    pub(crate) fn next(&mut self) -> Result<Item> {
        loop {
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer);
            let line = self.line.get();
            let wrong = |e: quick_xml::Error| match e {
                quick_xml::Error::Io(e) => Error::new(ErrorKind::Io, format!("cannot read: {e}")),
                e => malformed(format!("not well-formed: {e}"), line),
            };
            return Ok(match event.map_err(wrong)? {
                Event::Start(start) => {
                    let mut attributes = Vec::new();
                    for attribute in start.attributes() {
                        let attribute = attribute.map_err(|e| wrong(e.into()))?;
                        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(wrong)?;
                        attributes.push((attribute.key.local_name().as_ref().to_owned(), value.into_owned()));
                    }
                    self.depth += 1;
                    if self.depth > DEEPEST {
                        return Err(malformed("elements are nested too deep", line));
                    }
                    Item::Open(Open { name: start.local_name().as_ref().to_owned(), attributes, line })
                }
                Event::End(_) => {
                    self.depth -= 1;
                    Item::Close
                }
                Event::Text(text) if text.chars().all(char::is_whitespace) => continue,
                Event::Text(text) => Item::Text(text.xml10_content().into_owned()),
                Event::CData(text) => Item::Text(text.into_inner().into_owned()),
                Event::GeneralRef(entity) => match entity.resolve_char_ref().map_err(wrong)? {
                    Some(letter) => Item::Text(letter.to_string()),
                    None => match resolve_predefined_entity(&entity) {
                        Some(text) => Item::Text(text.to_owned()),
                        None => return Err(malformed(format!("there is no entity {:?}", &*entity), line)),
                    },
                },
                Event::Eof if self.depth > 0 => {
                    return Err(malformed("the file ends inside of an element", line));
                }
                Event::Eof => Item::End,
                _ => continue,
            });
        }
    }

    /// The rest of an element that has begun.
    pub(crate) fn node(&mut self, open: Open) -> Result<Node> {
        let mut node = Node { open, children: Vec::new(), text: String::new() };
        loop {
            match self.next()? {
                // As deep as elements may be nested at most.
                Item::Open(open) => node.children.push(self.node(open)?),
                Item::Text(text) => node.text.push_str(&text),
                Item::Close => return Ok(node),
                Item::End => return Err(malformed("the file ends inside of an element", self.line())),
            }
        }
    }
}

pub(crate) fn malformed(message: impl Into<String>, line: u64) -> Error {
    Error::new(ErrorKind::Format, message).at_line(line)
}

/// Counts lines as they are read.
struct Counted<R> {
    inner: BufReader<R>,
    line: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.line.set(self.line.get() + newlines(&buffer[..read]));
        Ok(read)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.line.set(self.line.get() + newlines(&self.inner.buffer()[..amount]));
        self.inner.consume(amount);
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
