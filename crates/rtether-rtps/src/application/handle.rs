//! Handles of publications and subscriptions. A publication or subscription lives as long as its
//! handle: after the handle is dropped, it is removed at the next dispatch.

use alloc::sync::Arc;
use core::marker::PhantomData;

/// Shared by a handle and its slot; a slot with the last reference is removed.
pub(super) type Token = Arc<()>;

/// Handle of a publication of values of one type.
#[derive(Debug)]
#[must_use = "a publication is removed when its handle is dropped"]
pub struct PublicationHandle<T> {
    pub(super) number: u32,
    _token: Token,
    of: PhantomData<fn(&T)>,
}

/// Handle of a subscription to values of one type.
#[derive(Debug)]
#[must_use = "a subscription is removed when its handle is dropped"]
pub struct SubscriptionHandle<T> {
    pub(super) number: u32,
    _token: Token,
    of: PhantomData<fn() -> T>,
}

impl<T> PublicationHandle<T> {
    pub(super) fn new(number: u32, token: Token) -> Self {
        Self { number, _token: token, of: PhantomData }
    }
}

impl<T> SubscriptionHandle<T> {
    pub(super) fn new(number: u32, token: Token) -> Self {
        Self { number, _token: token, of: PhantomData }
    }
}

/// Argument of [`super::Context::keep`].
pub trait Handle: sealed::Sealed {}

impl<T> Handle for PublicationHandle<T> {}
impl<T> Handle for SubscriptionHandle<T> {}

pub(super) mod sealed {
    use super::{PublicationHandle, SubscriptionHandle};

    /// Publication or subscription of a handle.
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
