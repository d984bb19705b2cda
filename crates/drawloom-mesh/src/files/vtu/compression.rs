//! Compressed data: a table of sizes, and blocks that are compressed each for itself.

use std::io::Read;

/// How data are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zlib,
    Lz4,
    /// In the container of `.xz` files.
    Lzma,
}

/// VTK's names.
const NAMES: [(Compression, &str); 3] = [
    (Compression::Zlib, "vtkZLibDataCompressor"),
    (Compression::Lz4, "vtkLZ4DataCompressor"),
    (Compression::Lzma, "vtkLZMADataCompressor"),
];

impl Compression {
    /// The compression of VTK's name.
    pub(super) fn of(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(compression, _)| *compression)
    }

    /// The names that are known.
    pub(super) fn known() -> String {
        NAMES.map(|(_, name)| format!("`{name}`")).join(", ")
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::Zlib => "zlib",
            Compression::Lz4 => "lz4",
            Compression::Lzma => "lzma",
        }
    }

    /// How many times larger data can be than what they are compressed to: in LZ4 a byte adds up to 255 to a length, in
    /// zlib two bits stand for up to 258 bytes, in LZMA less than a third of a bit for up to 273.
    pub(super) fn greatest_ratio(self) -> u64 {
        match self {
            Compression::Lz4 => 256,
            Compression::Zlib => 1040,
            Compression::Lzma => 7200,
        }
    }

    /// Appends what a block holds, which is as long as it should be; else says what is wrong.
    pub(super) fn append(self, block: &[u8], length: usize, bytes: &mut Vec<u8>) -> Result<(), String> {
        let start = bytes.len();
        // One more than expected, so that too much is seen.
        let limit = length as u64 + 1;
        let read = match self {
            Compression::Zlib => flate2::read::ZlibDecoder::new(block).take(limit).read_to_end(bytes),
            Compression::Lzma => lzma_rust2::XzReader::new(block, false).take(limit).read_to_end(bytes),
            Compression::Lz4 => {
                bytes.resize(start + length, 0);
                lz4_flex::block::decompress_into(block, &mut bytes[start..]).map_err(std::io::Error::other)
            }
        };
        match read {
            Ok(found) if found == length => Ok(()),
            Ok(found) => Err(format!("expected a block of {length} bytes, found one of {found}")),
            Err(error) => Err(format!("expected a block of {length} bytes in {}: {error}", self.name())),
        }
    }
}
