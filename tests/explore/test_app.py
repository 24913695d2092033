"""The app: what it solves, its figures, its command; and all of it in a real browser."""

import re
import signal
import socket
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from playwright.sync_api import expect

import hopfieldphase as hp
from hopfieldphase.core.errors import InputError
from hopfieldphase.explore import app_model as model
from hopfieldphase.explore.app_diagram import (
    branch_lines,
    diagram,
    fill_branches,
    fill_sweep,
    set_heights,
    set_range,
)
from hopfieldphase.explore.app_landscape import fill_landscape, landscape_figure, minimum_colours
from hopfieldphase.explore.view import Phase
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.studies import read_spec, study

ROUNDING = 1e-12
SLOW_MACHINE = 120_000  # ms, one that is busy with other tests


def fields(**given):
    return model.DEFAULTS | {name: str(value) for name, value in given.items()}


@pytest.fixture(scope="module")
def solved():
    return model.solve_sweep(model.sweep_spec("clustered", fields(M=6, d=8, clusters=2), "2", "20:140:10"))


@pytest.fixture(scope="module")
def branches(solved):
    return model.solve_branches(solved)


def table(plot, name):
    return plot.select_one({"name": name}).data


def test_the_sweep_is_the_one_of_the_library(solved):
    keys = hp.patterns.clustered(6, 8, clusters=2, delta=0.04, seed=0)
    data = hp.sweep_beta(hp.HopfieldModel(keys, 2.0), "20:140:10")
    for name in ("overlap_max", "free_energy"):
        stored = data[name].transpose("direction", "beta").values.ravel()
        assert solved.view.nodes[name] == pytest.approx(stored, rel=ROUNDING)
    for column, beta in enumerate(solved.spec.grid):
        assert (solved.model.gradient_residual(solved.states[:, column], beta) < 1e-11).all()


def test_the_exported_file_runs_as_the_same_sweep(solved, tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(model.export(solved), encoding="utf-8")
    spec = read_spec(file)
    assert isinstance(spec, SweepSpec)
    assert spec == solved.spec
    assert not spec.keep_states
    again = study(file)["overlap_max"].transpose("realization", "direction", "beta").values.ravel()
    assert np.array_equal(again, solved.view.nodes["overlap_max"])


def test_patterns_of_a_file_are_exported_with_their_absolute_path_and_digest(tmp_path, monkeypatch):
    hp.patterns.save(tmp_path / "keys.npy", hp.patterns.spherical(5, 6, seed=0))
    monkeypatch.chdir(tmp_path)
    spec = model.sweep_spec(model.FILE, fields(path="keys.npy"), "1.5", "")
    assert spec.patterns.path == str(tmp_path / "keys.npy")
    assert len(spec.patterns.sha256) == 64
    assert spec.grid[0] < spec.grid[-1]


@pytest.mark.parametrize("source", ["clustered", "spherical", "gaussian", "heavy_tailed", "equicorrelated",
                                    "two_keys", "circulant"])  # fmt: skip
def test_what_stands_in_the_fields_at_first_is_a_spec_for_every_generator(source):
    spec = model.sweep_spec(source, model.DEFAULTS, "2", "")
    assert spec.patterns.generator == source
    assert (spec.realizations, len(spec.grid) > 50) == (1, True)


@pytest.mark.parametrize(
    ("source", "given", "alpha", "betas", "words"),
    [
        ("clustered", {"M": "many"}, "2", "", "M = 'many' is not a whole number"),
        ("clustered", {"delta": 2}, "2", "", "delta = 2 is outside its domain"),
        ("clustered", {}, "-1", "", "alpha = -1"),
        ("clustered", {}, "two", "", "alpha = '?two"),
        ("clustered", {}, "inf", "", "give the betas"),
        ("clustered", {}, "2", "1:x:2", "betas"),
        ("clustered", {}, "2", "30", "betas has one value, 30: give a range"),
        ("clustered", {"M": 5000}, "2", "", "5000 patterns: the app solves live up to 200"),
        ("spherical", {"d": 5000}, "2", "", "5000 dimensions"),
        ("clustered", {}, "2", "1:1000:1", "1000 values of beta"),
        ("equicorrelated", {"M": 40}, "2", "", "too small"),
        (model.FILE, {}, "2", "", "no pattern file is named"),
        (model.FILE, {"path": "none.npy"}, "2", "", "none.npy"),
    ],
)
def test_wrong_fields_are_refused_in_one_line(source, given, alpha, betas, words):
    with pytest.raises(InputError, match=words) as refused:
        model.sweep_spec(source, fields(**given), alpha, betas)
    assert "\n" not in str(refused.value)


def test_free_energies_are_measured_from_the_lowest_branch(solved, branches):
    view, sweep = branches
    own = sweep.nodes["free_energy"].reshape(2, -1)
    exact = hp.branches(solved.model, at=float(solved.spec.grid[solved.widest]), betas=solved.spec.grid)
    curves = exact.to_datatree()["curves"]["free_energy"].transpose("branch", "beta").values
    lowest = np.nanmin(np.vstack([curves, own]), axis=0)
    assert sweep.nodes["excess"].reshape(2, -1) == pytest.approx(own - lowest, abs=ROUNDING)
    assert sweep.nodes["excess"].min() >= 0
    assert view.weights is None


def test_hardmax_has_a_sweep_and_says_why_it_has_no_branches():
    found = model.solve_sweep(model.sweep_spec("spherical", fields(M=4, d=4), "inf", "1:20:1"))
    with pytest.raises(InputError, match="there is no branch to follow"):
        model.solve_branches(found)


def test_the_scene_opens_where_the_sweeps_differ_most(solved):
    gaps = np.abs(np.diff(solved.view.nodes["overlap_max"].reshape(2, -1), axis=0))[0]
    assert gaps[solved.widest] == gaps.max() > 0
    patterns = model.default_patterns(solved)
    found = model.scene(solved, solved.widest, patterns, own=((0.1, 0.2),))
    assert found.beta == solved.spec.grid[solved.widest]
    assert len(found.paths.paths) == model.SIDE**2 + 1
    assert found.plane.coordinates(found.paths.paths[0][0]) == pytest.approx([0.1, 0.2])
    assert (found.states == solved.states[:, solved.widest]).all()
    energies = solved.model.free_energy(found.states, found.beta)
    reached = [one.free_energy for one in found.paths.minima]
    assert all(np.isclose(energy, reached, rtol=1e-9).any() for energy in energies)
    told = model.minima_words(solved, found)
    assert sum(int(re.search(r"(\d+) of 37 paths", text)[1]) for text in told) == 37


def test_a_wrong_choice_of_patterns_is_one_line(solved):
    for text, words in (("a, b", "two or three numbers"), ("0", "no plane"), ("0, 77", "pattern 77")):
        with pytest.raises(InputError, match=words):
            model.scene(solved, 0, text)


def test_the_diagram_holds_the_sweep_and_the_branches(solved, branches):
    view, sweep = branches
    plot = diagram("diagram", geometric=False)
    set_range(plot, sweep)
    fill_sweep(plot, sweep, "overlap_max")
    fill_branches(plot, view, "overlap_max")
    assert (plot.x_range.start, plot.x_range.end) == (20, 140)
    for curve in (0, 1):
        drawn = table(plot, f"diagram-states-{curve}")
        assert (drawn["x"] == solved.view.grid).all()
        assert (drawn["y"] == solved.view.nodes["overlap_max"].reshape(2, -1)[curve]).all()
        pieces = table(plot, f"diagram-sweep-{curve}")["xs"]
        jumps = table(plot, f"diagram-jumps-{curve}")["xs"]
        assert len(pieces) == len(jumps) + 1
        assert sum(map(len, pieces)) == 13
    lines = branch_lines(view, "overlap_max", ["#000000"] * len(view.curves.values))
    points = {(x, y) for line in lines.values() for xs, ys in zip(line["xs"], line["ys"], strict=True)
              for x, y in zip(xs, ys, strict=True)}  # fmt: skip
    there = view.nodes["phase"] != Phase.ABSENT
    assert points == set(
        zip(view.nodes["parameter"][there], view.nodes["overlap_max"][there].astype(float), strict=True)
    )
    marks = sum(len(table(plot, f"diagram-marks-{kind}")["x"]) for kind in range(5))
    assert marks == len(view.marks["kind"]) > 0
    fill_branches(plot, None, "overlap_max")
    set_heights(plot, "excess", [sweep, view])
    stable = view.nodes["excess"][view.nodes["phase"] != Phase.UNSTABLE]
    highest = max(np.nanmax(stable), sweep.nodes["excess"].max())
    assert highest < plot.y_range.end < 1.1 * highest
    assert table(plot, "diagram-branch-equilibrium")["xs"] == []


def test_the_landscape_figure_holds_the_scene(solved):
    scene = model.scene(solved, solved.widest, "0, 1, 2", own=((0.0, 0.0),))
    plot = landscape_figure()
    fill_landscape(plot, solved, scene, own=1)
    image = table(plot, "landscape-image")
    height = image["image"][0]
    lowest = min(scene.land.free_energy.min(), scene.paths.minima[0].free_energy)
    assert height == pytest.approx(scene.land.free_energy - lowest, abs=ROUNDING)
    assert image["x"][0] + image["w"][0] / 2 == pytest.approx((scene.land.u[0] + scene.land.u[-1]) / 2)
    paths = table(plot, "landscape-paths")
    assert paths["width"][0] > paths["width"][1]
    colours = minimum_colours(len(scene.paths.minima))
    assert paths["colour"] == [colours[which] for which in scene.paths.basin]
    ends = [(xs[-1], ys[-1]) for xs, ys in zip(paths["xs"], paths["ys"], strict=True)]
    minima = table(plot, "landscape-minima")
    for (x, y), which in zip(ends, scene.paths.basin, strict=True):
        assert (x, y) == pytest.approx((minima["x"][which], minima["y"][which]), abs=1e-6)


@pytest.fixture
def running():
    """The app on a free port: its address, and its process."""
    command = [sys.executable, "-m", "hopfieldphase", "app", "--port", "0", "--no-open"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    yield re.search(r"http://127\.0\.0\.1:\d+/", line)[0], process
    process.kill()
    process.wait()
    process.stderr.close()


@pytest.mark.slow
def test_the_app_in_the_browser(browser, running, pytestconfig, tmp_path):
    address, process = running
    complaints = []
    expect.set_options(timeout=SLOW_MACHINE)
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.set_default_timeout(SLOW_MACHINE)
    local = (address, "blob:" + address, address.replace("http", "ws", 1))
    page.on("request", lambda one: one.url.startswith(local) or complaints.append(f"asked for {one.url}"))
    page.on("websocket", lambda one: one.url.startswith(local) or complaints.append(f"asked for {one.url}"))
    page.on("requestfailed", lambda one: complaints.append(f"failed {one.url}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: line.type in ("error", "warning") and complaints.append(line.text))
    page.goto(address)
    expect(page.get_by_text("branch 0")).to_be_visible()
    expect(page.get_by_text("Minima that the updates")).to_be_visible()
    shot(page, pytestconfig, "app-1600.png")

    def drawn():
        return page.evaluate(
            """() => { const d = Bokeh.documents.find(d => d.get_model_by_name("diagram-states-0"));
                if (d._all_models.size > 1200) throw new Error("models of earlier figures are kept");
                return Array.from(d.get_model_by_name("diagram-states-0").get_column("y")); }"""
        )

    before = drawn()
    page.get_by_label("α (1 softmax").fill("1.5")
    page.get_by_label("α (1 softmax").press("Enter")
    expect(page.get_by_text("α = 1.5 ·")).to_be_visible()
    expect(page.get_by_text("branch 0")).to_be_visible()
    spec = model.sweep_spec("clustered", model.DEFAULTS, "1.5", "")
    stored = model.solve_sweep(spec)
    assert drawn() != before
    assert drawn() == pytest.approx(stored.view.nodes["overlap_max"][: len(spec.grid)], rel=1e-9)

    with page.expect_download() as saved:
        page.get_by_text("save the sweep as sweep.toml").click()
    saved.value.save_as(tmp_path / "sweep.toml")
    assert read_spec(tmp_path / "sweep.toml") == spec
    assert tomllib.loads((tmp_path / "sweep.toml").read_text())["alpha"] == 1.5

    expect(page.get_by_text("of 36 paths").first).to_be_visible()
    place = page.locator(".bk-Figure").last.bounding_box()
    page.mouse.click(place["x"] + 0.4 * place["width"], place["y"] + 0.5 * place["height"])
    expect(page.get_by_text("of 37 paths").first).to_be_visible()
    page.get_by_text("forget my paths").click()
    expect(page.get_by_text("of 36 paths").first).to_be_visible()
    place = page.locator(".bk-Figure").first.bounding_box()
    chosen = page.get_by_text("Minima that the updates").inner_text()
    page.mouse.click(place["x"] + 0.5 * place["width"], place["y"] + 0.5 * place["height"])
    expect(page.get_by_text("Minima that the updates")).not_to_have_text(chosen)

    page.get_by_label("two or three patterns").fill("0, 99")
    page.get_by_label("two or three patterns").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("pattern 99 is not there")
    page.get_by_label("two or three patterns").fill("0, 1")
    page.get_by_label("two or three patterns").press("Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_label("M, number").fill("none")
    page.get_by_label("M, number").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("M = 'none' is not a whole number")
    assert "Traceback" not in page.content()

    page.set_viewport_size({"width": 400, "height": 900})
    page.reload()
    expect(page.get_by_text("branch 0")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    shot(page, pytestconfig, "app-400.png")
    page.close()
    assert complaints == []
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert process.stderr.read().strip() == ""


def shot(page, pytestconfig, name):
    page.wait_for_timeout(1500)  # for the last figure to be painted
    folder = pytestconfig.rootpath / "build" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    assert len(page.screenshot(path=folder / name, full_page=True)) > 50_000  # a blank page has less


@pytest.mark.slow
def test_a_port_in_use_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "hopfieldphase", "app", "--port", str(port), "--no-open"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    expected = f"error: port {port} is in use: choose another one with --port, or 0 for a free one\n"
    assert (done.stdout, done.stderr) == ("", expected)
