//! Numbers whose types differ between C libraries: glibc and musl.

/// Returns a number in the type that the C library of the target gives it; zero if it does not fit,
/// which no length or request of ours does.
pub(crate) fn fit<N, T: TryFrom<N> + Default>(number: N) -> T {
    T::try_from(number).unwrap_or_default()
}
