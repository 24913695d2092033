"""The checks of `hopfieldphase validate`: closed forms against numerics that do not know them."""
