"""Grids of sweeps: the values of plain sweeps, kept batch by batch, whole or open to be continued."""

import errno
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

import hopfieldphase as hp
from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.data import grid_store
from hopfieldphase.data.citations import ENTRIES, bibtex, citations
from hopfieldphase.data.files import OutputError
from hopfieldphase.data.grid import grid_lines, grid_summary
from hopfieldphase.plotting.grid import plot_grid
from hopfieldphase.runs import ledger as ledgers
from hopfieldphase.runs.executors import Serial, make_executor
from hopfieldphase.runs.folder import DATA, MARKER, RUN, check_free, claim_folder, read_marker
from hopfieldphase.runs.grid import compute_grid, grid
from hopfieldphase.runs.grid_plan import resolve_grid
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.kappa import sweep_kappa
from hopfieldphase.runs.ledger import Ledger
from hopfieldphase.runs.progress import run_progress
from hopfieldphase.runs.sweeps import sweep_beta

BASE = {"betas": "60:300:60", "patterns": {"d": 8, "clusters": 2}}
SPEC = GridSpec(base=BASE, grid={"alpha": [1.5, 2], "M": [6, 12]}, realizations=3)


class Stopped(Exception):
    """Stands for whatever ends a run."""


class Stopping(Serial):
    """Ends the run after so many batches."""

    def __init__(self, after):
        self.after = after

    def run(self, job, batches, news):
        for batch in batches[: self.after]:
            news(job.run(batch))
        raise Stopped


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of an undisturbed run."""
    path = tmp_path_factory.mktemp("whole")
    compute_grid(SPEC, path)
    return path


def content(path):
    """Every file of a store; the revision of a checkout in which somebody works may change meanwhile."""
    files = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    metadata = json.loads(files.pop("zarr.json"))
    del metadata["attributes"]["git_revision"]
    return files | {"zarr.json": json.dumps(metadata)}


def content_names(path):
    return sorted(str(file.relative_to(path)) for file in path.rglob("*"))


def stopped_run(path, after, spec=SPEC):
    with pytest.raises(Stopped):
        compute_grid(spec, path, executor=Stopping(after))


def test_each_sweep_is_that_of_its_own_study_bit_for_bit(whole):
    data = hp.open(whole / DATA)
    for number in range(SPEC.cells):
        at = SPEC.combination(number)
        plain, found = sweep_beta(SPEC.cell(number)), data.to_dataset().sel(at)
        for name in plain.data_vars:
            np.testing.assert_array_equal(found[name].values, plain[name].values, err_msg=name)
        edges = [loop.edges or (math.nan, math.nan) for loop in plain.hp.hysteresis()]
        np.testing.assert_array_equal(found["lower_edge"], [lower for lower, _ in edges])
        np.testing.assert_array_equal(found["loop_area"], [loop.area for loop in plain.hp.hysteresis()])


def test_sweeps_in_the_load_and_of_attention_maps():
    spec = GridSpec(
        base={"study": "sweep-kappa", "kappas": "0.2:0.6:0.2", "patterns": {"clusters": 2}},
        grid={"d": [6, 8]}, realizations=2,
    )  # fmt: skip
    found = grid(spec).to_dataset()
    for number in range(2):
        plain = sweep_kappa(spec.cell(number))
        part = found.isel(d=number)
        for name in plain.data_vars:
            np.testing.assert_array_equal(part[name].values, plain[name].values, err_msg=name)
        np.testing.assert_array_equal(part["M"], plain["M"])
    spec = GridSpec(
        base={**BASE, "keep_states": True}, grid={"attention": "exponential,linear-elu"}, realizations=1
    )
    found = grid(spec).to_dataset()
    for number in range(2):
        plain = sweep_beta(spec.cell(number))
        for name in plain.data_vars:
            np.testing.assert_array_equal(found[name].values[number], plain[name].values, err_msg=name)
        if "free_energy" not in plain:
            assert found["free_energy"][number].isnull().all()


def test_an_interrupted_run_goes_on_and_ends_with_the_same_files(whole, tmp_path):
    for after in (0, 3, 1):
        stopped_run(tmp_path, after)
    assert run_progress(tmp_path)["done"] == 4
    computed = []
    summary = compute_grid(SPEC, tmp_path, progress=lambda done, total: computed.append((done, total)))
    assert computed == [(done, 12) for done in range(4, 13)]
    assert content(tmp_path / DATA) == content(whole / DATA)
    assert summary == json.loads((whole / "summary.json").read_text())
    assert not (tmp_path / RUN).exists()
    record = json.loads((tmp_path / MARKER).read_text())
    assert [session["sweeps"] for session in record["sessions"]] == [0, 3, 1, 8]
    assert len(record["sweeps"]["seconds"]) == 12
    assert record["sweeps"]["hosts"] == {record["host"]: 12}


def test_an_unfinished_store_opens_plainly_and_says_what_is_missing(tmp_path):
    stopped_run(tmp_path, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = xr.open_zarr(tmp_path / DATA, chunks=None)
    assert data["overlap_max"].dims == ("alpha", "M", "realization", "direction", "beta")
    there = (data["status"] != -1).all(("direction", "beta")).values
    assert there.ravel().tolist() == [True, True] + [False] * 10
    assert np.isfinite(data["free_energy"].values[there]).all()
    assert np.isnan(data["free_energy"].values[~there]).all()
    assert data["status"].attrs["flag_meanings"].split()[0] == "not_computed"
    with pytest.raises(InputError, match="incomplete"):
        hp.open(tmp_path / DATA)


def test_what_was_torn_or_lost_is_computed_again(whole, tmp_path):
    stopped_run(tmp_path, 6)
    store = tmp_path / DATA
    chunk = store / "ipr" / "c.0.0.0.0.0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    (store / "ipr" / "c.0.0.1.0.0").unlink()
    (tmp_path / RUN / "done" / "2.json").write_text("{")
    (store / "ipr" / "c.0.1.0.abc.partial").write_bytes(b"half")
    (store / "jumped" / "c.1.1.2.0.0").write_bytes(b"of a batch that was never marked")
    done = []
    compute_grid(SPEC, tmp_path, progress=lambda *news: done.append(news))
    assert done[0] == (3, 12)
    assert content(store) == content(whole / DATA)


def test_what_a_lost_worker_has_half_written_is_cleared_away(whole, tmp_path):
    class Losing(Serial):
        """A worker dies with a file of its region open; another one computes the region."""

        def run(self, job, batches, news):
            (job.folder / DATA / "ipr" / "c.0.0.0.67c2.partial").touch()
            super().run(job, batches, news)

    compute_grid(SPEC, tmp_path, executor=Losing())
    assert content(tmp_path / DATA) == content(whole / DATA)


@pytest.mark.parametrize("inside", [False, True])
def test_nothing_is_written_through_a_link(tmp_path, inside):
    stopped_run(tmp_path, 3)
    moved = tmp_path / DATA / "ipr" if inside else tmp_path / DATA
    elsewhere = tmp_path / "elsewhere"
    moved.rename(elsewhere)
    moved.symlink_to(elsewhere)
    before = content_names(elsewhere)
    with pytest.raises(OutputError, match=r"cannot go on in .* link"):
        compute_grid(SPEC, tmp_path)
    assert content_names(elsewhere) == before


def test_a_store_that_claims_too_much_is_refused_before_it_is_read(tmp_path):
    stopped_run(tmp_path, 3)
    file = tmp_path / DATA / "beta" / "zarr.json"
    metadata = json.loads(file.read_text())
    metadata["shape"] = [10**14]
    file.write_text(json.dumps(metadata))
    with pytest.raises(InputError, match="coordinate beta declares"), grid_store.reading(tmp_path / DATA):
        pass


def test_a_full_disk_ends_the_run_and_keeps_what_is_finished(whole, tmp_path, monkeypatch):
    left = [5 * 18 + 7]  # in the middle of a batch
    real = grid_store.zarr.storage.LocalStore.set

    async def limited(self, key, value):
        if "/c." in key:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        await real(self, key, value)

    monkeypatch.setattr(grid_store.zarr.storage.LocalStore, "set", limited)
    with pytest.raises(OutputError, match=f"cannot write to {tmp_path}: No space left on device.*is kept"):
        compute_grid(SPEC, tmp_path)
    assert run_progress(tmp_path)["done"] == 5
    left[0] = 10**6
    compute_grid(SPEC, tmp_path)
    assert content(tmp_path / DATA) == content(whole / DATA)


def test_another_spec_or_version_does_not_go_on(tmp_path, monkeypatch):
    stopped_run(tmp_path, 1)
    check_free(tmp_path, SPEC.fingerprint)
    with pytest.raises(OutputError, match="unfinished run of another spec"):
        check_free(tmp_path, "other")
    versions = ledgers.made_by() | {"numpy": "1.0"}
    monkeypatch.setattr(ledgers, "made_by", lambda: versions)
    with pytest.raises(OutputError, match=r"unfinished run of numpy 2.*but this is 1\.0.*--force"):
        compute_grid(SPEC, tmp_path)
    monkeypatch.undo()
    Ledger(tmp_path).discard()

    class Old(Serial):
        def run(self, job, batches, news):
            replace(job, versions={"numpy": "1.0"}).run(0)

    with pytest.raises(InputError, match=r"a worker has .* install the same versions"):
        compute_grid(SPEC, tmp_path, executor=Old())


def test_a_finished_result_is_read_and_its_figure_drawn_later(whole, tmp_path):
    compute_grid(SPEC, tmp_path)
    before = json.loads((tmp_path / MARKER).read_text())
    compute_grid(SPEC, tmp_path, draw=lambda data, file: file.write_text("figure"))
    after = json.loads((tmp_path / MARKER).read_text())
    assert read_marker(tmp_path).files == ("data.zarr", "figure.png", "spec.toml", "summary.json", MARKER)
    assert {**before, "files": 0} == {**after, "files": 0}


def test_patterns_of_a_file_are_read_once_and_must_not_change(tmp_path):
    file = tmp_path / "keys.npy"
    np.save(file, hp.patterns.spherical(7, 5, seed=3))
    given = GridSpec(base={"betas": "5,9", "patterns": {"path": str(file)}}, grid={"alpha": [1, 2]})
    spec = resolve_grid(given)
    assert not given.is_resolved
    assert spec.is_resolved
    found = grid(spec).to_dataset()
    model = hp.HopfieldModel(np.load(file), alpha=2)
    np.testing.assert_array_equal(found["ipr"].sel(alpha=2).values[0], hp.sweep_beta(model, "5,9")["ipr"])
    (tmp_path / "run").mkdir()
    stopped_run(tmp_path / "run", 1, spec)
    np.save(file, hp.patterns.spherical(7, 5, seed=4))
    with pytest.raises(InputError, match="has changed"):
        compute_grid(spec, tmp_path / "run")
    with pytest.raises(InputError, match=r"start_up = pattern:7, but there are 7"):
        grid(GridSpec(base={"betas": "5", "start_up": "pattern:7", "patterns": {"path": str(file)}}))


def test_a_generator_that_refuses_is_told_before_anything_runs(tmp_path):
    spec = GridSpec(
        base={"betas": "5,9", "patterns": {"generator": "equicorrelated", "M": 9, "cosine": 0.5}},
        grid={"d": [9, 4]},
    )  # fmt: skip
    with pytest.raises(InputError, match="d = 4 is too small"):
        compute_grid(spec, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_summary_words_and_figure(whole):
    data = hp.open(whole / DATA)
    summary = grid_summary(data)
    assert data.hp.summary() == summary
    assert (summary["tasks"], summary["computed"], summary["unconverged"]) == (12, 12, [])
    assert [cell["at"] for cell in summary["cells"]] == [SPEC.combination(i) for i in range(4)]
    part = data.to_dataset().isel(alpha=1, M=0)
    cell = summary["cells"][2]
    assert cell["area"]["mean"] == pytest.approx(float(part["loop_area"].mean()), rel=1e-15)
    assert cell["loops"] == int(part["lower_edge"].notnull().sum())
    lines = grid_lines(summary)
    assert max(map(len, lines)) <= 80
    assert len(lines) == 9
    first, second = plot_grid(data)
    assert first.get_xlabel() == r"Tsallis index $\alpha$"
    assert len(second.lines) >= 2
    assert [text.get_text() for text in first.figure.legends[0].get_texts()] == ["$M$ = 6", "$M$ = 12"]


def test_citations_are_those_of_the_methods():
    keys = citations({"study": "grid", "sweep": "sweep-beta", "axes": {"alpha": [1.0, 2.0]}}, ["dask"])
    assert {"hopfieldphase", "ramsauer2021hopfield", "martins2016softmax", "rocklin2015dask"} <= set(keys)
    assert "keller1977numerical" in citations({"study": "branches", "alpha": 2.0})
    assert "blondel2020learning" in citations({"study": "sweep-beta", "attention": {"name": "normmax"}})
    assert set(citations({})) < set(ENTRIES)
    for key, entry in ENTRIES.items():
        assert entry.startswith("@")
        assert entry.count("{") == entry.count("}")
        assert f"{{{key}," in entry
    assert bibtex(["tsallis1988possible"]).endswith("}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("threads",), "executor = threads is unknown"),
        (("serial", 2), "the serial executor has one"),
        (("processes", 0), "workers = 0"),
        (("processes", None, "tcp://x"), "the executor is processes"),
        (("dask", 2, "tcp://x"), "has its own"),
    ],
)
def test_executors_that_make_no_sense(options, words):
    with pytest.raises(HopfieldPhaseError, match=words):
        make_executor(*options)


def test_a_second_run_on_one_folder_is_refused(tmp_path):
    refused = pytest.raises(OutputError, match=r"being written by process \d+ on")
    with claim_folder(tmp_path), refused, claim_folder(tmp_path):
        pass


def test_the_own_entry_is_that_of_the_citation_file():
    own = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8"))
    assert own["title"] in ENTRIES["hopfieldphase"]
    assert f"version = {{{own['version']}}}" in ENTRIES["hopfieldphase"]
    assert own["authors"][0]["name"] in ENTRIES["hopfieldphase"]
    (paper,) = own["references"]
    assert paper["title"] in ENTRIES["hu2026statistical"]
    assert paper["identifiers"][0]["value"].removeprefix("arXiv:") in ENTRIES["hu2026statistical"]
    names = (f"{author['family-names']}, {author['given-names']}" for author in paper["authors"])
    assert " and ".join(names) in ENTRIES["hu2026statistical"]
