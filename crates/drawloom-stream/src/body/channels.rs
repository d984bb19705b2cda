//! The channels of a node, as a tuple of the types of their items.

use std::rc::Rc;

use super::push::{End, Excess, Push};
use super::{Fault, Wires};
use crate::build::handle::{Output, Tag};
use crate::build::stream::Stream;

/// The channels of a node: `()`, or a tuple of up to six types of items.
pub trait Channels: 'static {
    /// The ends of edges, as the machine keeps them.
    #[doc(hidden)]
    type Ends: 'static;
    /// What a body pushes to: a [`Push`], or a tuple of them.
    type Push<'a>: Raise;
    /// What the description of a node gives: an [`Output`], or a tuple of them.
    type Outputs;
    /// The channels with one more, where there may be one more: see [`Append`].
    type With<X: 'static>: Channels;

    #[doc(hidden)]
    fn outputs(stream: &Stream, channels: &[u32]) -> Self::Outputs;
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn connect(wires: &Wires) -> Self::Ends;
    /// Begins a run over so many inputs, or the handling of a signal.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn open<'a>(ends: &'a Self::Ends, bounds: &Bounds) -> Self::Push<'a>;
    /// Goes on with a run over so many inputs more, as if it began.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn renew(ends: &Self::Ends, push: &mut Self::Push<'_>, bounds: &Bounds);
    /// The code is of one item, and [`Channels::next_item`] is called before each.
    #[doc(hidden)]
    fn by_item(push: &mut Self::Push<'_>);
    #[doc(hidden)]
    fn next_item(push: &mut Self::Push<'_>);
    /// Whether something went wrong in a run, and how many items wait in each channel so far.
    #[doc(hidden)]
    fn look(push: &Self::Push<'_>, waiting: &mut [usize; 2]) -> bool;
    /// Ends a run, and says what went wrong in it.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn close(ends: &Self::Ends, push: Self::Push<'_>, bounds: &Bounds) -> Result<(), Fault>;
    /// Ends a run when nobody looks at its items any more.
    #[doc(hidden)]
    fn settle(ends: &Self::Ends);
}

/// What a run may do: so many inputs are at hand, none when a signal is handled; so many signals may be raised.
pub(crate) struct Bounds {
    pub(crate) inputs: Option<usize>,
    pub(crate) signals: usize,
    /// Of how many regions a parent is under way: what is pushed must not be deeper.
    pub(crate) depth: usize,
}

/// Channels to which one more can be added: a node has six at most.
///
/// What they become is said by all channels ([`Channels::With`]), and not here. So the compiler finds the method that adds one to the
/// longest tuple too, and says why it cannot be called.
#[diagnostic::on_unimplemented(
    message = "a node has at most six channels",
    label = "this would be the seventh",
    note = "let one channel carry an enum or a tuple, and take it apart in a node behind this one"
)]
pub trait Append: Channels {}

/// Raising a signal on all channels at once.
pub trait Raise {
    /// Raises a signal on every channel, behind everything that was pushed to it so far. On those that lead back it is not raised,
    /// as a signal that is forwarded is not: no signal goes around in a loop. If all of them do, it is an error.
    fn raise_on_all<V: 'static>(&mut self, tag: Tag<V>, value: V);
}

impl<T> Raise for Push<'_, T> {
    fn raise_on_all<V: 'static>(&mut self, tag: Tag<V>, value: V) {
        if self.leads_back() {
            self.raise_nowhere();
        } else {
            self.raise(tag, value);
        }
    }
}

impl Raise for () {
    fn raise_on_all<V: 'static>(&mut self, _: Tag<V>, _: V) {}
}

fn fault<T: 'static>(end: &End<T>, excess: Option<Excess>, channel: usize, bounds: &Bounds) -> Result<(), Fault> {
    match excess {
        None => Ok(()),
        Some(Excess::Items) if end.is_deeper(bounds) => Err(Fault::Orphan { channel }),
        Some(Excess::Items | Excess::Each) if end.is_loop_full() => Err(Fault::Loop { channel }),
        Some(Excess::Items) => Err(Fault::Items { channel, most: end.most(bounds) }),
        Some(Excess::Each) => Err(Fault::Each { channel, most: end.each() }),
        Some(Excess::Nowhere) => Err(Fault::Nowhere),
        Some(Excess::Signals) => Err(Fault::Signals { channel, most: bounds.signals }),
    }
}

impl Channels for () {
    type Ends = ();
    type Push<'a> = ();
    type Outputs = ();
    type With<X: 'static> = (X,);

    fn outputs(_: &Stream, _: &[u32]) {}
    #[allow(private_interfaces)]
    fn connect(_: &Wires) {}
    #[allow(private_interfaces)]
    fn open(_: &(), _: &Bounds) {}
    #[allow(private_interfaces)]
    fn renew((): &(), (): &mut (), _: &Bounds) {}
    fn by_item((): &mut ()) {}
    fn next_item((): &mut ()) {}
    fn look((): &(), _: &mut [usize; 2]) -> bool {
        false
    }
    #[allow(private_interfaces)]
    fn close((): &(), (): (), _: &Bounds) -> Result<(), Fault> {
        Ok(())
    }
    fn settle((): &()) {}
}

impl<A: 'static> Channels for (A,) {
    type Ends = End<A>;
    type Push<'a> = Push<'a, A>;
    type Outputs = Output<A>;
    type With<X: 'static> = (A, X);

    fn outputs(stream: &Stream, channels: &[u32]) -> Output<A> {
        Output::new(stream, channels[0])
    }

    #[allow(private_interfaces)]
    fn connect(wires: &Wires) -> End<A> {
        End::new(&wires.outputs[0], wires.parameters.stream)
    }

    #[allow(private_interfaces)]
    fn open<'a>(end: &'a End<A>, bounds: &Bounds) -> Push<'a, A> {
        end.open(bounds)
    }

    #[allow(private_interfaces)]
    #[inline]
    fn renew(end: &End<A>, push: &mut Push<'_, A>, bounds: &Bounds) {
        push.renew(end.most(bounds));
    }

    #[inline]
    fn by_item(push: &mut Push<'_, A>) {
        push.by_item();
    }

    #[inline]
    fn next_item(push: &mut Push<'_, A>) {
        push.next_item();
    }

    #[inline]
    fn look(push: &Push<'_, A>, waiting: &mut [usize; 2]) -> bool {
        waiting[0] = push.waiting();
        push.excess().is_some()
    }

    #[allow(private_interfaces)]
    fn close(end: &End<A>, push: Push<'_, A>, bounds: &Bounds) -> Result<(), Fault> {
        let excess = push.excess();
        drop(push);
        fault(end, excess, 0, bounds)
    }

    fn settle(end: &End<A>) {
        end.settle();
    }
}

macro_rules! channels {
    ($(($($t:ident $n:tt),*) with $longer:ty;)*) => { $(
        impl<$($t: 'static),*> Channels for ($($t,)*) {
            type Ends = ($(End<$t>,)*);
            type Push<'a> = ($(Push<'a, $t>,)*);
            type Outputs = ($(Output<$t>,)*);
            type With<X: 'static> = $longer;

            fn outputs(stream: &Stream, channels: &[u32]) -> Self::Outputs {
                ($(Output::new(stream, channels[$n]),)*)
            }

            #[allow(private_interfaces)]
            fn connect(wires: &Wires) -> Self::Ends {
                ($(End::new(&wires.outputs[$n], wires.parameters.stream),)*)
            }

            #[allow(private_interfaces)]
            fn open<'a>(ends: &'a Self::Ends, bounds: &Bounds) -> Self::Push<'a> {
                ($(ends.$n.open(bounds),)*)
            }

            #[allow(private_interfaces)]
            fn renew(ends: &Self::Ends, push: &mut Self::Push<'_>, bounds: &Bounds) {
                $(push.$n.renew(ends.$n.most(bounds));)*
            }

            #[inline]
            fn by_item(push: &mut Self::Push<'_>) {
                $(push.$n.by_item();)*
            }

            #[inline]
            fn next_item(push: &mut Self::Push<'_>) {
                $(push.$n.next_item();)*
            }

            fn look(push: &Self::Push<'_>, waiting: &mut [usize; 2]) -> bool {
                $(if let Some(waiting) = waiting.get_mut($n) {
                    *waiting = push.$n.waiting();
                })*
                false $(|| push.$n.excess().is_some())*
            }

            #[allow(private_interfaces)]
            fn close(ends: &Self::Ends, push: Self::Push<'_>, bounds: &Bounds) -> Result<(), Fault> {
                let excess = ($(push.$n.excess(),)*);
                drop(push);
                $(fault(&ends.$n, excess.$n, $n, bounds)?;)*
                Ok(())
            }

            fn settle(ends: &Self::Ends) {
                $(ends.$n.settle();)*
            }
        }

        impl<$($t),*> Raise for ($(Push<'_, $t>,)*) {
            fn raise_on_all<V: 'static>(&mut self, tag: Tag<V>, value: V) {
                if true $(&& self.$n.leads_back())* {
                    self.0.raise_nowhere();
                    return;
                }
                // One value for all: it need not be something that can be copied.
                let value = self.0.hold(tag, value);
                $(if !self.$n.leads_back() {
                    self.$n.raise_shared(tag, Rc::clone(&value));
                })*
            }
        }
    )* };
}
channels! {
    (A 0, B 1) with (A, B, X);
    (A 0, B 1, C 2) with (A, B, C, X);
    (A 0, B 1, C 2, D 3) with (A, B, C, D, X);
    (A 0, B 1, C 2, D 3, E 4) with (A, B, C, D, E, X);
    (A 0, B 1, C 2, D 3, E 4, F 5) with Self;
}

macro_rules! append {
    ($(($($t:ident),*))*) => { $(
        impl<$($t: 'static,)*> Append for ($($t,)*) {}
    )* };
}
append! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) }
