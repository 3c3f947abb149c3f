//! What C cannot make happen from outside.
