//! Repeats the experiments of the five papers.
