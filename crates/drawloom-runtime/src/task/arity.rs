//! The numbers of accesses that a task can have: from none to twelve.
//!
//! The last step of a builder exists once for each of them. Here is the only list; what is to be done for each is a macro
//! of whoever needs it.

/// Calls a macro with the type parameters and the names of the accesses of each list, as `(A1 a, A2 b)`.
macro_rules! for_each_arity {
    ($do:ident) => {
        $do! {
            ()
            (A1 a)
            (A1 a, A2 b)
            (A1 a, A2 b, A3 c)
            (A1 a, A2 b, A3 c, A4 d)
            (A1 a, A2 b, A3 c, A4 d, A5 e)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i, A10 j)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i, A10 j, A11 k)
            (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i, A10 j, A11 k, A12 l)
        }
    };
}

pub(crate) use for_each_arity;
