//! B+-trees over remote memory.
