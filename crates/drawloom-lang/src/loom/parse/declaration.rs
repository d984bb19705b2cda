//! Spaces, fields, regions, maps and partitions.

use super::super::error::nearest;
use super::super::span::Spanned;
use super::super::syntax::{COMBINATIONS, Cut, Entry, Literal, Name, Statement, THROUGH};
use super::super::token::Token;
use super::cursor::{Cursor, Parsed};

const CUTS: [&str; 10] =
    ["equal", "colours", "lists", "image", "preimage", "union", "intersection", "difference", "halo", "declared"];

impl Cursor<'_> {
    /// A declaration after its first word.
    pub(super) fn declaration(&mut self, word: &str) -> Parsed<Statement> {
        match word {
            "let" => {
                let name = self.variable()?;
                self.expect(Token::Equals, "`=`")?;
                Ok(Statement::Let { name, value: self.expression()? })
            }
            "space" => {
                let name = self.name("the name of a space")?;
                Ok(Statement::Space { name, length: self.expression()? })
            }
            "field" => {
                let names = self.names("the name of a field")?;
                self.expect_keyword("on")?;
                Ok(Statement::Field { names, space: self.name("the name of a space")? })
            }
            "region" => {
                let names = self.names("the name of a region")?;
                let inside = if self.accept_keyword("in") { Some(self.path("a region")?) } else { None };
                Ok(Statement::Region { names, inside })
            }
            "disjoint" => self.disjoint(),
            "map" => self.map(),
            _ => {
                let name = self.name("the name of a partition")?;
                self.expect_keyword("of")?;
                let of = self.path("a space")?;
                self.expect(Token::Equals, "`=`")?;
                let start = self.span();
                let pieces = self.cut()?;
                Ok(Statement::Partition { name, of, pieces: Spanned::new(pieces, start.to(self.last_span())) })
            }
        }
    }

    fn names(&mut self, what: &str) -> Parsed<Vec<Name>> {
        let mut names = vec![self.name(what)?];
        while self.accept(Token::Comma) {
            self.skip_newlines();
            names.push(self.name(what)?);
        }
        Ok(names)
    }

    /// `disjoint A, B, C`; the commas may be left out.
    fn disjoint(&mut self) -> Parsed<Statement> {
        let mut regions = vec![self.path("a region")?];
        loop {
            if self.accept(Token::Comma) {
                self.skip_newlines();
            } else if !matches!(self.peek(), Token::Name | Token::Text) {
                break;
            }
            regions.push(self.path("a region")?);
        }
        if regions.len() < 2 {
            return self.fail_expected("another region");
        }
        Ok(Statement::Disjoint(regions))
    }

    fn map(&mut self) -> Parsed<Statement> {
        let name = self.name("the name of a map")?;
        self.expect_keyword("from")?;
        let from = self.name("the name of a space")?;
        self.expect_keyword("to")?;
        let to = self.name("the name of a space")?;
        self.expect_keyword("arity")?;
        let arity = self.literal("how many targets each index has")?;
        self.expect(Token::Equals, "`=`")?;
        Ok(Statement::Map { name, from, to, arity, targets: self.list(Self::number)? })
    }

    fn cut(&mut self) -> Parsed<Cut> {
        let word = self.text();
        if self.peek() != Token::Name || !CUTS.contains(&word) {
            if self.peek() == Token::Name && nearest(word, CUTS).is_some() {
                return self.fail_word(format!("`{word}` is no way to cut a space"), "unknown", CUTS);
            }
            return self.fail_expected(&format!("one of {}", CUTS.join(", ")));
        }
        self.bump();
        Ok(match word {
            "equal" => Cut::Equal(self.expression()?),
            "colours" => Cut::Colours(self.list(Self::number)?),
            "lists" => {
                let mut lists = Vec::new();
                while self.continue_at(Token::LeftBracket, None) {
                    lists.push(self.list(Self::entry)?);
                }
                Cut::Lists(lists)
            }
            "declared" => {
                let count = self.expression()?;
                let disjoint = self.accept_keyword("disjoint");
                let complete = self.accept_keyword("complete");
                Cut::Declared { count, disjoint, complete }
            }
            _ => {
                let of = self.partition_path()?;
                if let Some((_, how)) = COMBINATIONS.into_iter().find(|entry| entry.0 == word) {
                    return Ok(Cut::Combine(how, of, self.partition_path()?));
                }
                // `through` may also be a variable that tells the width of a halo.
                let is_map = matches!(self.peek_second(), Token::Name | Token::Text);
                if word == "halo" && !(self.at_keyword("through") && is_map) {
                    return Ok(Cut::Halo(of, self.expression()?));
                }
                self.expect_keyword("through")?;
                let (_, how) = THROUGH.into_iter().find(|entry| entry.0 == word).expect("the words of cuts are known");
                Cut::Through(how, of, self.name("the name of a map")?)
            }
        })
    }

    /// `[ a, b, … ]`, over several lines if need be.
    fn list<T>(&mut self, element: fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(Token::LeftBracket, "`[`")?;
        let mut list = Vec::new();
        loop {
            self.skip_newlines();
            if self.accept(Token::RightBracket) {
                return Ok(list);
            }
            list.push(element(self)?);
            self.skip_newlines();
            if !self.accept(Token::Comma) {
                self.expect(Token::RightBracket, "`,` or `]`")?;
                return Ok(list);
            }
        }
    }

    fn number(&mut self) -> Parsed<Literal> {
        Ok(self.literal("an integer")?.value)
    }

    fn entry(&mut self) -> Parsed<Entry> {
        let start = self.number()?;
        let end = if self.accept(Token::Dots) { Some(self.number()?) } else { None };
        Ok(Entry { start, end })
    }
}
