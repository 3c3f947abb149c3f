//! Names of what an application has made. They are all that keeps it: once one is dropped, what it names
//! is removed with the next call of the engine.

use alloc::sync::Arc;
use core::marker::PhantomData;

/// What a handle and its slot share; a slot that has it alone is removed.
pub(super) type Token = Arc<()>;

/// Names a publication of values of one type.
#[derive(Debug)]
#[must_use = "a publication is removed when its handle is dropped"]
pub struct PublicationHandle<T> {
    pub(super) number: u32,
    _token: Token,
    of: PhantomData<fn(&T)>,
}

/// Names a subscription to values of one type.
#[derive(Debug)]
#[must_use = "a subscription is removed when its handle is dropped"]
pub struct SubscriptionHandle<T> {
    pub(super) number: u32,
    _token: Token,
    of: PhantomData<fn() -> T>,
}

impl<T> PublicationHandle<T> {
    pub(super) fn new(number: u32, token: Token) -> Self {
        Self {
            number,
            _token: token,
            of: PhantomData,
        }
    }
}

impl<T> SubscriptionHandle<T> {
    pub(super) fn new(number: u32, token: Token) -> Self {
        Self {
            number,
            _token: token,
            of: PhantomData,
        }
    }
}

/// What [`super::Context::keep`] takes.
pub trait Handle: sealed::Sealed {}

impl<T> Handle for PublicationHandle<T> {}
impl<T> Handle for SubscriptionHandle<T> {}

pub(super) mod sealed {
    use super::{PublicationHandle, SubscriptionHandle};

    /// What a handle names.
    #[derive(Clone, Copy, Debug)]
    pub enum Named {
        Publication(u32),
        Subscription(u32),
    }

    pub trait Sealed {
        fn named(&self) -> Named;
    }

    impl<T> Sealed for PublicationHandle<T> {
        fn named(&self) -> Named {
            Named::Publication(self.number)
        }
    }

    impl<T> Sealed for SubscriptionHandle<T> {
        fn named(&self) -> Named {
            Named::Subscription(self.number)
        }
    }
}
