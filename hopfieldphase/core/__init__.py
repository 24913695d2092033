"""Physics as plain functions of arrays: no state, no files, any array namespace."""
