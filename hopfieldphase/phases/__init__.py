"""Physics read off sweeps and branches: plain functions of arrays, no files and no labels."""
