//! Kinds of regions are those of this crate, whose views were looked at one by one.
#![allow(unused)]

use drawloom_runtime::*;

fn main() {
    let loom = Loom::serial();
    #[derive(Clone)]
    struct Own(Vector<u8>);
    impl Region for Own {
        type Ref<'v> = ();
        type Mut<'v> = ();
        fn handle(&self) -> &drawloom_runtime::data::region::Handle {
            self.0.handle()
        }
        unsafe fn from_handle(handle: drawloom_runtime::data::region::Handle) -> Self {
            todo!()
        }
        unsafe fn view<'v>(place: drawloom_runtime::data::region::Place<'v>) {}
        unsafe fn view_mut<'v>(place: drawloom_runtime::data::region::Place<'v>) {}
    }
}
