//! Directories on the path to an output file: held open where the system can do that.

#[cfg(not(target_os = "linux"))]
mod by_name;
#[cfg(target_os = "linux")]
mod held;

#[cfg(not(target_os = "linux"))]
pub(crate) use by_name::{Folder, Made, Resolved, make, resolve};
#[cfg(target_os = "linux")]
pub(crate) use held::{Folder, Made, Resolved, make, resolve};

/// What has a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// A pipe or device.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// As shards of a study do that begin together.
    #[test]
    fn many_make_one_directory_at_once() {
        const MAKERS: usize = 4;
        let folder = rtether_testkit::Folder::new("make-at-once");
        for round in 0..200 {
            let path = folder.path().join(format!("{round}/results/points"));
            let barrier = Barrier::new(MAKERS);
            let make_it = || {
                barrier.wait();
                make(&path).map(Made::keep)
            };
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..MAKERS).map(|_| scope.spawn(make_it)).collect();
                for one in all {
                    one.join().expect("no panic").expect("it is there");
                }
            });
            assert!(path.is_dir());
        }
    }
}
