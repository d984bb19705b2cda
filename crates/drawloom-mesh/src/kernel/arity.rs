//! The numbers of arguments that a kernel can have: from one to sixteen.

/// Calls a macro with the type parameters, the names and the numbers of the arguments of each list.
macro_rules! for_each_arity {
    ($do:ident) => {
        $do! {
            (A1 a 0)
            (A1 a 0, A2 b 1)
            (A1 a 0, A2 b 1, A3 c 2)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9, A11 k 10)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9, A11 k 10, A12 l 11)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9, A11 k 10, A12 l 11, A13 m 12)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9, A11 k 10, A12 l 11, A13 m 12,
             A14 n 13)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9, A11 k 10, A12 l 11, A13 m 12,
             A14 n 13, A15 o 14)
            (A1 a 0, A2 b 1, A3 c 2, A4 d 3, A5 e 4, A6 f 5, A7 g 6, A8 h 7, A9 i 8, A10 j 9, A11 k 10, A12 l 11, A13 m 12,
             A14 n 13, A15 o 14, A16 p 15)
        }
    };
}

pub(crate) use for_each_arity;
