//! Panics of user code, as text.

use std::panic::panic_any;

use drawloom_runtime::panic::{catch, message};

/// Panics when it is dropped, with a payload that does the same.
struct PanicsInDrop(u32);
impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic_any(PanicsInDrop(self.0 + 1));
    }
}

#[test]
fn messages_of_every_kind_of_payload_are_found() {
    assert_eq!(catch(|| 7), Ok(7));
    assert_eq!(catch(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
    let number = 3;
    assert_eq!(catch(|| panic!("formatted {number}")), Err::<(), _>("formatted 3".to_owned()));
    assert_eq!(catch(|| panic_any(7_u32)), Err::<(), _>("something that is not text".to_owned()));
}

#[test]
fn a_payload_whose_destructor_panics_again_and_again_is_harmless() {
    let caught = catch(|| panic_any(PanicsInDrop(0)));
    assert_eq!(caught, Err::<(), _>("something that is not text".to_owned()));
    assert_eq!(message(Box::new(PanicsInDrop(0))), "something that is not text");
}
