//! Hash tables over remote memory.
