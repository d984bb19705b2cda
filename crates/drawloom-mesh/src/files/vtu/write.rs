//! Writing.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quick_xml::escape::escape;

use crate::error::Error;
use crate::raw::{Geometry, RawDat, RawMesh, Shape, Values};

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// As text: for people, and for comparing files.
    Ascii,
    /// As text of binary data inside the XML. Any XML parser can read it.
    #[default]
    Base64,
    /// As binary data after the XML: the smallest and fastest. VTK reads it; general XML parsers do not.
    Raw,
}

/// The bytes of a file for a mesh.
pub fn write(mesh: &RawMesh, encoding: Encoding) -> Result<Vec<u8>, Error> {
    mesh.check()?;
    let geometry = Geometry::of(mesh)?;
    let point_count = geometry.values.len() / geometry.dim;
    let count: usize = geometry.cells.iter().map(|cells| cells.map.table.len() / cells.map.arity).sum();
    let mut file = File { text: Vec::new(), appended: Vec::new(), encoding };
    file.line("<?xml version=\"1.0\"?>");
    file.line("<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">");
    file.line("<UnstructuredGrid>");
    if !mesh.constants.is_empty() {
        file.line("<FieldData>");
        for constant in &mesh.constants {
            let tuples = format!(" NumberOfTuples=\"{}\"", constant.values.len());
            file.array(&constant.name, &tuples, &constant.values);
        }
        file.line("</FieldData>");
    }
    file.line(&format!("<Piece NumberOfPoints=\"{point_count}\" NumberOfCells=\"{count}\">"));
    file.data(
        "PointData",
        mesh.dats.iter().filter(|dat| dat.set == geometry.points && dat.name != geometry.coordinates),
    );
    let cell_data = cell_data(mesh, &geometry, count);
    file.data("CellData", cell_data.iter());

    file.line("<Points>");
    let points = (0..point_count).flat_map(|point| geometry.point(point as u32)).collect();
    file.array("Points", " NumberOfComponents=\"3\"", &Values::F64(points));
    file.line("</Points>");

    file.line("<Cells>");
    let (mut connectivity, mut offsets, mut types) = (Vec::new(), Vec::with_capacity(count), Vec::with_capacity(count));
    let mut corners = Vec::new();
    for cells in &geometry.cells {
        for row in cells.map.rows() {
            cells.corners(row, &mut corners);
            connectivity.extend(corners.iter().map(|corner| i64::from(*corner)));
            offsets.push(connectivity.len() as i64);
            types.push(vtk_type(cells.shape));
        }
    }
    file.array("connectivity", "", &Values::I64(connectivity));
    file.array("offsets", "", &Values::I64(offsets));
    file.bytes_array(
        "types",
        "",
        "UInt8",
        types.len(),
        |text| types.iter().for_each(|t| push(text, t)),
        || types.clone(),
    );
    file.line("</Cells>");
    file.line("</Piece>");
    file.line("</UnstructuredGrid>");
    Ok(file.finish())
}

/// The sets of a mesh that are not in a file for it, nor what is on them: a file has points and cells.
pub fn left_out(mesh: &RawMesh) -> Result<Vec<&str>, Error> {
    let geometry = Geometry::of(mesh)?;
    let is_in = |set: &str| set == geometry.points || geometry.cells.iter().any(|cells| cells.map.from == set);
    Ok(mesh.sets.iter().map(|set| set.name.as_str()).filter(|set| !is_in(set)).collect())
}

/// The dats on sets of cells, each with a value for every cell.
fn cell_data(mesh: &RawMesh, geometry: &Geometry<'_>, count: usize) -> Vec<RawDat> {
    let mut data = Vec::new();
    let mut start = 0;
    for cells in &geometry.cells {
        let size = cells.map.table.len() / cells.map.arity;
        for dat in mesh.dats.iter().filter(|dat| dat.set == cells.map.from) {
            let (before, after) = (start * dat.dim, (count - start - size) * dat.dim);
            let values = if size == count { dat.values.clone() } else { padded(&dat.values, before, after) };
            data.push(RawDat { name: dat.name.clone(), set: dat.set.clone(), dim: dat.dim, values });
        }
        start += size;
    }
    data
}

/// The values with nothing on both sides of them.
fn padded(values: &Values, before: usize, after: usize) -> Values {
    fn pad<T: Copy>(values: &[T], nothing: T, before: usize, after: usize) -> Vec<T> {
        let mut padded = vec![nothing; before];
        padded.extend_from_slice(values);
        padded.resize(before + values.len() + after, nothing);
        padded
    }
    match values {
        Values::F32(values) => Values::F32(pad(values, f32::NAN, before, after)),
        Values::F64(values) => Values::F64(pad(values, f64::NAN, before, after)),
        Values::I32(values) => Values::I32(pad(values, 0, before, after)),
        Values::U32(values) => Values::U32(pad(values, 0, before, after)),
        Values::I64(values) => Values::I64(pad(values, 0, before, after)),
        Values::Bool(values) => Values::Bool(pad(values, false, before, after)),
    }
}

fn vtk_type(shape: Shape) -> u8 {
    match shape {
        Shape::Point => 1,
        Shape::Line => 3,
        Shape::Triangle => 5,
        Shape::Polygon => 7,
        Shape::Quadrangle => 9,
        Shape::Tetrahedron => 10,
        Shape::Hexahedron => 12,
        Shape::Prism => 13,
        Shape::Pyramid => 14,
    }
}

/// A file that is being written.
struct File {
    text: Vec<u8>,
    appended: Vec<u8>,
    encoding: Encoding,
}

impl File {
    fn line(&mut self, line: &str) {
        self.text.extend_from_slice(line.as_bytes());
        self.text.push(b'\n');
    }

    fn data<'a>(&mut self, element: &str, dats: impl Iterator<Item = &'a RawDat>) {
        self.line(&format!("<{element}>"));
        for dat in dats {
            self.array(&dat.name, &format!(" NumberOfComponents=\"{}\"", dat.dim), &dat.values);
        }
        self.line(&format!("</{element}>"));
    }

    fn array(&mut self, name: &str, attributes: &str, values: &Values) {
        fn bytes<T, const N: usize>(values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
            values.iter().flat_map(bytes).collect()
        }
        let count = values.len();
        match values {
            Values::F32(v) => {
                let ascii = |text: &mut String| v.iter().for_each(|value| push_float(text, f64::from(*value), value));
                self.bytes_array(name, attributes, "Float32", count, ascii, || bytes(v, |x| x.to_le_bytes()));
            }
            Values::F64(v) => {
                let ascii = |text: &mut String| v.iter().for_each(|value| push_float(text, *value, value));
                self.bytes_array(name, attributes, "Float64", count, ascii, || bytes(v, |x| x.to_le_bytes()));
            }
            Values::I32(v) => {
                let ascii = |text: &mut String| v.iter().for_each(|value| push(text, value));
                self.bytes_array(name, attributes, "Int32", count, ascii, || bytes(v, |x| x.to_le_bytes()));
            }
            Values::U32(v) => {
                let ascii = |text: &mut String| v.iter().for_each(|value| push(text, value));
                self.bytes_array(name, attributes, "UInt32", count, ascii, || bytes(v, |x| x.to_le_bytes()));
            }
            Values::I64(v) => {
                let ascii = |text: &mut String| v.iter().for_each(|value| push(text, value));
                self.bytes_array(name, attributes, "Int64", count, ascii, || bytes(v, |x| x.to_le_bytes()));
            }
            Values::Bool(v) => {
                let ascii = |text: &mut String| v.iter().for_each(|value| push(text, &u8::from(*value)));
                self.bytes_array(name, attributes, "UInt8", count, ascii, || bytes(v, |x| [u8::from(*x)]));
            }
        }
    }

    /// One array, from its text or its bytes, whichever the encoding asks for.
    fn bytes_array(
        &mut self,
        name: &str,
        attributes: &str,
        kind: &str,
        count: usize,
        ascii: impl FnOnce(&mut String),
        bytes: impl FnOnce() -> Vec<u8>,
    ) {
        let start = format!("<DataArray type=\"{kind}\" Name=\"{}\"{attributes}", escaped(name));
        match self.encoding {
            Encoding::Ascii => {
                let mut text = String::with_capacity(12 * count);
                ascii(&mut text);
                self.line(&format!("{start} format=\"ascii\">"));
                self.line(text.trim_end());
                self.line("</DataArray>");
            }
            Encoding::Base64 => {
                let bytes = bytes();
                self.line(&format!("{start} format=\"binary\">"));
                let with_length = [&(bytes.len() as u64).to_le_bytes()[..], &bytes].concat();
                self.text.extend_from_slice(STANDARD.encode(with_length).as_bytes());
                self.line("\n</DataArray>");
            }
            Encoding::Raw => {
                let bytes = bytes();
                self.line(&format!("{start} format=\"appended\" offset=\"{}\"/>", self.appended.len()));
                self.appended.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                self.appended.extend_from_slice(&bytes);
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.encoding == Encoding::Raw {
            self.text.extend_from_slice(b"<AppendedData encoding=\"raw\">\n_");
            self.text.append(&mut self.appended);
            self.line("\n</AppendedData>");
        }
        self.line("</VTKFile>");
        self.text
    }
}

/// Text as it can stand in XML. Characters that XML cannot hold become `?`.
fn escaped(text: &str) -> String {
    let allowed = |character| match character {
        '\t' | '\n' | '\r' => ' ',
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => '?',
        _ => character,
    };
    escape(text.chars().map(allowed).collect::<String>()).into_owned()
}

/// Appends a value, and a space or now and then a new line, because some readers dislike endless lines.
fn push(text: &mut String, value: &impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(text, "{value}");
    end(text);
}

fn push_float(text: &mut String, wide: f64, value: &impl std::fmt::LowerExp) {
    if wide.is_finite() {
        let _ = write!(text, "{value:e}");
    } else {
        text.push_str(if wide.is_nan() {
            "nan"
        } else if wide > 0.0 {
            "inf"
        } else {
            "-inf"
        });
    }
    end(text);
}

fn end(text: &mut String) {
    let line = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    text.push(if line > 100 { '\n' } else { ' ' });
}

#[cfg(test)]
mod tests {
    use super::{Encoding, escaped, write};
    use crate::raw::{RawMesh, Values};

    fn two_cells() -> RawMesh {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 5).add_set("triangles", 1).add_set("quads", 1);
        mesh.add_map("t", "triangles", "nodes", 3, vec![1, 4, 2]).add_map("q", "quads", "nodes", 4, vec![0, 1, 2, 3]);
        mesh.add_dat("p_x", "nodes", 2, Values::F64(vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 2.0, 0.5]));
        mesh.add_dat("p<q", "quads", 2, Values::F32(vec![0.5, f32::INFINITY])).add_dat(
            "n",
            "nodes",
            1,
            Values::Bool(vec![true; 5]),
        );
        mesh.add_constant("gam", Values::F64(vec![1.4]));
        mesh
    }

    #[test]
    fn a_small_mesh_is_written_as_text_that_does_not_change() {
        let text = String::from_utf8(write(&two_cells(), Encoding::Ascii).expect("written")).expect("text");
        let expected = "\
<?xml version=\"1.0\"?>
<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">
<UnstructuredGrid>
<FieldData>
<DataArray type=\"Float64\" Name=\"gam\" NumberOfTuples=\"1\" format=\"ascii\">
1.4e0
</DataArray>
</FieldData>
<Piece NumberOfPoints=\"5\" NumberOfCells=\"2\">
<PointData>
<DataArray type=\"UInt8\" Name=\"n\" NumberOfComponents=\"1\" format=\"ascii\">
1 1 1 1 1
</DataArray>
</PointData>
<CellData>
<DataArray type=\"Float32\" Name=\"p&lt;q\" NumberOfComponents=\"2\" format=\"ascii\">
nan nan 5e-1 inf
</DataArray>
</CellData>
<Points>
<DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" format=\"ascii\">
0e0 0e0 0e0 1e0 0e0 0e0 1e0 1e0 0e0 0e0 1e0 0e0 2e0 5e-1 0e0
</DataArray>
</Points>
<Cells>
<DataArray type=\"Int64\" Name=\"connectivity\" format=\"ascii\">
1 4 2 0 1 2 3
</DataArray>
<DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">
3 7
</DataArray>
<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">
5 9
</DataArray>
</Cells>
</Piece>
</UnstructuredGrid>
</VTKFile>
";
        assert_eq!(text, expected);
    }

    #[test]
    fn binary_data_carries_its_length() {
        let text = String::from_utf8(write(&two_cells(), Encoding::Base64).expect("written")).expect("text");
        // Eight bytes, and 1.4 as IEEE 754 has it, all with the lowest byte first.
        assert!(
            text.contains("NumberOfTuples=\"1\" format=\"binary\">\nCAAAAAAAAABmZmZmZmb2Pw==\n</DataArray>"),
            "{text}"
        );
    }

    #[test]
    fn appended_data_starts_after_the_underscore() {
        let bytes = write(&two_cells(), Encoding::Raw).expect("written");
        let start = bytes.windows(2).position(|two| two == b"\n_").expect("an underscore") + 2;
        assert_eq!(bytes[start..start + 16], [8, 0, 0, 0, 0, 0, 0, 0, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0xf6, 0x3f]);
        let xml = String::from_utf8_lossy(&bytes[..start]);
        assert!(xml.contains("Name=\"n\" NumberOfComponents=\"1\" format=\"appended\" offset=\"16\"/>"), "{xml}");
        assert_eq!(bytes[start + 16..start + 29], [5, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn nothing_that_xml_gives_a_meaning_to_is_left() {
        assert_eq!(escaped("a<b & \"c\"\n'\u{7}ü"), "a&lt;b &amp; &quot;c&quot; &apos;?ü");
    }
}
