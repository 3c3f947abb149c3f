//! Handles as C programs see them: they stand for objects, which the table finds.

/// A participant in a domain.
pub struct DomainHandle {
    _opaque: [u8; 0],
}

/// A publication.
pub struct PublicationHandle {
    _opaque: [u8; 0],
}

/// A subscription.
pub struct SubscriptionHandle {
    _opaque: [u8; 0],
}
