//! Generated meshes, compared with the files that the published generator writes.

use drawloom_apps::naca::{naca0012, naca0012_fe};
use drawloom_mesh::files::{fe_grid, new_grid};

/// FNV-1a with 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The length and the hash of a file.
type Printed = (usize, u64);

/// The size, and the length and hash of the file for finite volumes and of that for finite elements.
const FILES: &[(usize, usize, Printed, Printed)] = &[
    (1, 1, (298, 0xc001_1537_ed4d_385d), (184, 0xf33f_df4e_a936_cdb7)),
    (2, 3, (1_354, 0x169b_b0c1_634a_8a93), (812, 0xe738_bfd6_9fb5_6383)),
    (3, 5, (3_226, 0xcfea_3d04_1198_e54c), (1_888, 0xdf77_5649_a9bf_73cb)),
    (6, 9, (11_881, 0x3e49_b655_f999_b8f7), (6_598, 0xf410_bee7_e800_4a2c)),
    (20, 30, (147_130, 0x9bd4_5170_e319_a97d), (75_632, 0x8443_eac3_23c0_c784)),
    (50, 75, (991_605, 0x3412_b758_763f_28aa), (492_243, 0xba26_a7c5_82c3_dbc3)),
    (200, 300, (18_709_759, 0xf63a_4cd7_95ce_71c7), (8_784_947, 0xda85_7cad_09e0_efca)),
    (400, 600, (78_754_013, 0xaa6f_690a_d3ac_32e4), (36_417_773, 0x71e0_1306_66bb_cd70)),
];

#[test]
fn files_are_byte_for_byte_those_of_the_published_generator() {
    for (i, j, volume, element) in FILES {
        let text = new_grid::write(&naca0012(*i, *j).expect("a mesh")).expect("it can be written");
        assert_eq!((text.len(), hash(&text)), *volume, "new_grid.dat of {i} x {j}");
        let text = fe_grid::write(&naca0012_fe(*i, *j).expect("a mesh")).expect("it can be written");
        assert_eq!((text.len(), hash(&text)), *element, "FE_grid.dat of {i} x {j}");
    }
}

#[test]
fn what_is_written_is_what_is_in_memory() {
    for (i, j) in [(1, 1), (2, 3), (6, 9), (50, 75)] {
        let mesh = naca0012(i, j).expect("a mesh");
        mesh.check().expect("its parts fit");
        assert_eq!(new_grid::read(&new_grid::write(&mesh).expect("written")).expect("read"), mesh);
        let mesh = naca0012_fe(i, j).expect("a mesh");
        mesh.check().expect("its parts fit");
        assert_eq!(fe_grid::read(&fe_grid::write(&mesh).expect("written")).expect("read"), mesh);
    }
}
