"""Fuzz the readers of pattern and result files with atheris: `make fuzz`, or with any option of libFuzzer.

The first byte of an input says which kind of file the others are. A reader gives numbers or an `InputError`
of one line; anything else ends the run, and leaves the input in a file `crash-…` in the working folder.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

KINDS = ("npy", "npz", "csv", "nc", "results.nc", "npz of a header", "zarr")
INSTRUMENTED = ["hopfieldphase.data.patterns_io", "hopfieldphase.data.limits", "numpy.lib", "zipfile"]


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        import zipfile

        import numpy as np

        from hopfieldphase.core.errors import InputError
        from hopfieldphase.data import hdf5_probe, limits, store
        from hopfieldphase.data.patterns_io import load, save

    hdf5_probe.SECONDS = 5.0  # libFuzzer has a clock of its own
    limits.memory = lambda: 2**28  # of what a file may claim; libFuzzer ends a process of 2 GiB

    def write(kind: str, content: bytes, folder: Path) -> Path:
        """Put the bytes into a file of a kind, or into a part of one that its format protects."""
        if kind == "zarr":
            path = folder / "keys.zarr"
            path.mkdir(exist_ok=True)
            (path / "zarr.json").write_bytes(content)
            return path
        path = folder / f"keys.{kind[-3:].strip('.') if kind.endswith('.nc') else kind[:3].strip()}"
        if kind == "npz of a header":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("keys.npy", content)
        else:
            path.write_bytes(content)
        return path

    def read(kind: str, path: Path) -> None:
        reader = store.open if kind == "results.nc" else load
        try:
            found = reader(path)
            if reader is load:
                assert np.all(np.isfinite(found[:]))
        except InputError as error:
            if not str(error).isprintable():
                raise AssertionError(f"no line: {error}") from error

    def corpus(folder: Path) -> None:
        """One sound file of every kind to begin with."""
        rows = np.arange(1.0, 13.0).reshape(4, 3)
        for number, kind in enumerate(KINDS):
            if kind == "zarr":
                import zarr

                zarr.create_array(folder / "keys.zarr", shape=(4, 3), dtype="f8")
                content = (folder / "keys.zarr" / "zarr.json").read_bytes()
            else:
                ending = "npy" if kind == "npz of a header" else kind.rpartition(".")[2]
                content = save(folder / f"keys.{ending}", rows).read_bytes()
            (folder / f"seed-{number}").write_bytes(bytes([number]) + content)

    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as seeds:
        corpus(Path(seeds))
        options = [f"-artifact_prefix={Path.cwd()}/", "-max_len=16384", *sys.argv[1:]]
        os.chdir(work)
        folder = Path(work, "file")
        folder.mkdir()

        def one(data: bytes) -> None:
            kind = KINDS[data[0] % len(KINDS)] if data else KINDS[0]
            path = write(kind, data[1:], folder)
            read(kind, path)
            assert [entry.name for entry in folder.iterdir()] == [path.name]
            with contextlib.suppress(OSError):
                path.unlink() if path.is_file() else [(path / "zarr.json").unlink(), path.rmdir()]

        atheris.Setup([sys.argv[0], *options, seeds], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
