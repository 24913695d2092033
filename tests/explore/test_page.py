"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import json

import numpy as np
import pytest
from playwright.sync_api import expect

from hopfieldphase.explore.page import write_page
from hopfieldphase.explore.reading import view_of

pytestmark = pytest.mark.slow

WIDTHS = (400, 1600)
SHOWN = 1e-6

expect.set_options(timeout=30_000)  # of a machine that is busy with other tests


@pytest.fixture
def opened(browser, result, tmp_path):
    """Open the page of a kind of result; at the end nothing was asked of a host and nothing complained."""
    complaints, pages = [], []

    def open_page(kind, width=1600, at=None):
        file = tmp_path / f"{kind}.html"
        write_page(view_of(result(kind)), file, at or {}, "runs/it")
        page = browser.new_page(viewport={"width": width, "height": 900})
        pages.append(page)

        def judge(route):
            local = route.request.url == file.as_uri()
            if not local:
                complaints.append(f"asked for {route.request.url}")
            route.continue_() if local else route.abort()

        page.route("**/*", judge)
        page.on("requestfailed", lambda request: complaints.append(f"aborted {request.url}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: line.type in ("error", "warning") and complaints.append(line.text))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=true]")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []


def source(page, name):
    """The columns of a data source as they are in the browser."""
    columns = page.evaluate(
        """name => {
            const source = Bokeh.documents[0].get_model_by_name(name);
            const many = (value) => ArrayBuffer.isView(value) || Array.isArray(value);
            const plain = (value) => (Number.isNaN(value) ? null : value);
            const read = (value) => (many(value) ? Array.from(value, read) : plain(value));
            const columns = source.columns().map((name) => [name, read(source.get_column(name))]);
            return JSON.stringify(Object.fromEntries(columns));
        }""",
        name,
    )
    return json.loads(columns)


def node(page):
    return int(page.locator("html").get_attribute("data-node"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["sweep", "load_sweep", "branches", "load_branches", "phase_diagram"])
def test_every_kind_is_drawn_at_any_width_without_asking_any_host(opened, pytestconfig, kind, width):
    page = opened(kind, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    plots = page.locator("section.figure")
    assert plots.count() >= 3
    for box in (plots.nth(i).locator(".canvas").bounding_box() for i in range(plots.count())):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] > 250
    folder = pytestconfig.rootpath / "build" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    shot = page.screenshot(path=folder / f"{kind}-{width}.png", full_page=True)
    assert len(shot) > 20_000  # a blank page of this size has less


@pytest.mark.parametrize("kind", ["sweep", "phase_diagram"])
def test_what_is_drawn_equals_the_dataset(opened, result, kind):
    page, data = opened(kind), result(kind)
    view = view_of(data)
    places = [len(axis.values) for axis in (*view.outer, view.curves)]
    start = int(view.starts[np.ravel_multi_index((*view.position[:-2], 0), places)])
    n = view.grid.size
    for figure, name in (("diagram", "overlap_max"), ("energy", "excess")):
        states = source(page, f"{figure}-states")
        assert states["x"] == pytest.approx(np.tile(view.grid, 2), rel=SHOWN)
        assert states["y"] == pytest.approx(view.nodes[name][start : start + 2 * n], rel=SHOWN, abs=1e-12)
    if kind == "sweep":
        here = data.isel(realization=view.position[0])
        drawn = source(page, "diagram-states")["y"]
        assert drawn == pytest.approx(here["overlap_max"].values.ravel(), rel=SHOWN)
    else:
        cells = source(page, "cells")
        shown = np.array(cells["value"], dtype=float).reshape(data.sizes["epsilon"], -1)
        stored = data["overlap_max"].isel(realization=0).values
        assert shown == pytest.approx(stored, rel=SHOWN, nan_ok=True)


def test_lines_of_branches_end_at_their_special_points_and_are_dashed_where_unstable(opened, result):
    page, tree = opened("branches"), result("branches")
    arcs = tree["arcs"].to_dataset()
    drawn = {
        name: source(page, f"diagram-{name}") for name in ("equilibrium", "metastable", "unstable", "unknown")
    }
    assert drawn["unknown"]["xs"] == []
    words = str(arcs["phase"].attrs["flag_meanings"]).split()
    for name in ("equilibrium", "metastable", "unstable"):
        points = {
            (x, y)
            for xs, ys in zip(drawn[name]["xs"], drawn[name]["ys"], strict=True)
            for x, y in zip(xs, ys, strict=True)
        }
        rows = arcs["phase"].values == words.index(name)
        assert points == set(
            zip(arcs["beta"].values[rows].tolist(), arcs["overlap_max"].values[rows].tolist(), strict=True)
        )
    ends = {x for line in drawn.values() for xs in line["xs"] for x in (xs[0], xs[-1])}
    lost = [found.point.parameter for branch in tree.hp.spinodals() for found in branch]
    assert set(lost) <= ends


def test_sliders_move_with_the_keyboard_and_the_chosen_state_with_them(opened, result):
    page, data = opened("sweep"), result("sweep")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "slider-beta":
            break
    assert page.evaluate("document.activeElement.id") == "slider-beta"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline not in ("none", "")
    before = node(page)
    page.keyboard.press("ArrowRight")
    assert node(page) == before + 1
    page.keyboard.press("Home")
    first = source(page, "diagram-chosen")
    assert first["x"] == [float(data["beta"][0])]
    page.keyboard.press("End")
    place = {"realization": view_of(data).position[0], "direction": 1, "beta": -1}
    here = data.isel(place)
    last = source(page, "diagram-chosen")
    assert (last["x"][0], last["y"][0]) == pytest.approx(
        (float(here["beta"]), float(here["overlap_max"])), rel=SHOWN
    )
    assert page.locator("#slider-beta").get_attribute("aria-valuetext") == f"{float(here['beta']):g}"
    page.locator("#slider-direction").focus()
    page.keyboard.press("ArrowLeft")
    up = data.isel(place | {"direction": 0})
    numbers = dict(
        zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True)
    )
    assert float(numbers["free energy Γ"]) == pytest.approx(float(up["free_energy"]), rel=SHOWN)
    assert float(numbers["maximal overlap z_max"]) == pytest.approx(float(up["overlap_max"]), rel=SHOWN)


def test_the_command_on_the_page_opens_the_same_view(opened, result):
    page = opened("phase_diagram", at={"epsilon": "0.3", "direction": "up", "beta": "20"})
    page.locator("#slider-epsilon").focus()
    page.keyboard.press("ArrowLeft")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#copied")).to_have_text("copied")
    command = page.locator("#command").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == command
    words = command.split()
    assert words[:3] == ["hopfieldphase", "explore", "runs/it"]
    wanted = dict(word.split("=") for word in words if "=" in word)
    assert wanted == {"realization": "0", "epsilon": "0.2", "direction": "up", "beta": "20"}
    view = view_of(result("phase_diagram"))
    at = view.at(wanted)
    sizes = [len(axis.values) for axis in (*view.outer, view.curves)]
    assert view.starts[np.ravel_multi_index(at[:-1], sizes)] + at[-1] == node(page)


def test_a_click_on_the_map_chooses_the_state_and_the_weights(opened, result):
    page = opened("phase_diagram")
    frame = page.evaluate(
        """() => { const view = Bokeh.index.get_by_id(Bokeh.documents[0].get_model_by_name("map").id);
            const box = view.frame.bbox, at = view.el.getBoundingClientRect();
            return [at.x + box.left, at.y + box.top, box.width, box.height]; }"""
    )
    x, y, width, height = frame
    page.mouse.click(x + 0.92 * width, y + 0.9 * height)
    page.wait_for_function("document.getElementById('slider-epsilon').value === '0'")
    view = view_of(result("phase_diagram"))
    here = node(page)
    assert view.nodes["parameter"][here] == pytest.approx(4 + 0.92 * 36, abs=4)
    bars = source(page, "bars")
    kept = view.weights[0][here] >= 0
    assert bars["p"] == pytest.approx(view.weights[1][here][kept], abs=SHOWN)


def test_hover_gives_value_and_status(opened, result):
    page = opened("sweep")
    chosen = source(page, "diagram-chosen")
    place = page.evaluate(
        """([x, y]) => { const model = Bokeh.documents[0].get_model_by_name("diagram");
            const view = Bokeh.index.get_by_id(model.id);
            const at = view.el.getBoundingClientRect(), frame = view.frame;
            return [at.x + frame.x_scale.compute(x), at.y + frame.y_scale.compute(y)]; }""",
        [chosen["x"][0], chosen["y"][0]],
    )
    page.mouse.move(place[0] - 20, place[1] - 20)
    page.mouse.move(*place)
    tip = page.locator(".bk-Tooltip").filter(has_text="converged").first
    expect(tip).to_contain_text("maximal overlap z_max")
