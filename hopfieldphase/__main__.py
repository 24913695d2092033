"""`python -m hopfieldphase` is the command `hopfieldphase`."""

from hopfieldphase.cli import main

if __name__ == "__main__":
    main()
