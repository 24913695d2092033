"""The app: fields on the left, the sweep over its exact branches, and the landscape, all solved live.

Solving runs in threads of its own, so that the page always answers; the last wish of a person wins.
"""

import errno
import io
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import panel as pn
from bokeh.events import Tap

import hopfieldphase
from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.explore import app_model as model
from hopfieldphase.explore.app_diagram import (
    branch_colours,
    diagram,
    fill_branches,
    fill_sweep,
    mark_beta,
    set_heights,
    set_range,
)
from hopfieldphase.explore.app_landscape import fill_landscape, landscape_figure, minimum_colours
from hopfieldphase.explore.figures import is_geometric
from hopfieldphase.explore.view import View
from hopfieldphase.runs.specs import GENERATORS

ADDRESS = "127.0.0.1"

_NAMES = {
    "path": "file (.npy, .npz, .csv, .nc, .zarr)", "M": "M, number of patterns", "d": "d, dimension",
    "seed": "seed", "clusters": "clusters", "delta": "δ, noise strength", "noise": "noise",
    "cosine": "common cosine", "epsilon": "ε, cosine of the keys", "degrees_of_freedom": "tail exponent",
}  # fmt: skip
_FIRST = ("overlap_max", "excess")


@dataclass(frozen=True)
class _Wish:
    """What the fields ask for."""

    source: str
    fields: tuple[tuple[str, str], ...]
    alpha: str
    betas: str
    index: int
    patterns: str
    own: tuple[tuple[float, float], ...]

    @property
    def of_sweep(self) -> tuple[Any, ...]:
        return self.source, self.fields, self.alpha, self.betas


class _Latest:
    """Does the last thing that was asked for, in a thread of its own, once the one before is done."""

    def __init__(self) -> None:
        self._next: Callable[[], None] | None = None
        self._running = False
        self._lock = threading.Lock()

    def ask(self, task: Callable[[], None]) -> None:
        with self._lock:
            self._next = task
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, daemon=True).start()  # none is waited for when the server ends

    def _run(self) -> None:
        while True:
            with self._lock:
                task, self._next = self._next, None
                self._running = task is not None
            if task is None:
                return
            task()


class App:
    """One page of the app, for one person."""

    def __init__(self) -> None:
        self._document: Any = pn.state.curdoc
        self._to_show: deque[Callable[[], None]] = deque()
        self._fast, self._slow = _Latest(), _Latest()
        self._solved: model.Solved | None = None
        self._sweep: View | None = None
        self._branches: View | None = None
        self._wished: tuple[Any, ...] = ()
        self._own: tuple[tuple[float, float], ...] = ()
        self._diagrams: dict[tuple[int, bool], Any] = {}
        self._silent = False
        self._make_widgets()
        self._land = landscape_figure()
        self._land.on_event(Tap, self._tapped_landscape)
        self._land_pane = pn.pane.Bokeh(sizing_mode="scale_width", aspect_ratio=0.86)
        self._panes = [pn.pane.Bokeh(sizing_mode="stretch_width") for _ in _FIRST]
        self.page = self._layout()
        self._changed()

    def _make_widgets(self) -> None:
        w = pn.widgets
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (3, 0)}
        sources = {name.replace("_", " "): name for name in GENERATORS if name != "digits"}
        self.source = w.Select(name="patterns", options=sources | {"from a file": model.FILE}, **wide)
        self.fields: dict[str, Any] = {
            name: w.TextInput(name=_NAMES[name], value=value, **wide)
            for name, value in model.DEFAULTS.items()
            if name != "noise"
        }
        self.fields["noise"] = w.Select(name=_NAMES["noise"], options=["gaussian", "unit"], **wide)
        for name, field in self.fields.items():
            field.styles = {"flex": "1 1 100%" if name == "path" else "1 1 9rem", "min-width": "0"}
        self.alpha = w.TextInput(name="α (1 softmax, 2 sparsemax, inf hardmax)", value="2", **wide)
        self.alpha_slider = w.FloatSlider(name="α", start=0.5, end=3.0, step=0.05, value=2.0, **wide)
        self.betas = w.TextInput(
            name="β, from:to:step or from:to:xfactor", placeholder="suggested from the patterns", **wide
        )
        self.chosen = w.TextInput(name="two or three patterns that span the plane", **wide)
        self.beta = w.IntSlider(name="β of the landscape", start=0, end=1, show_value=False, **wide)
        self.quantities = [w.Select(name="shown", options={name: name}, **wide) for name in _FIRST]
        self.forget = w.Button(name="forget my paths", visible=False, **wide)
        self.export = w.FileDownload(
            callback=self._export, filename="sweep.toml", label="save the sweep as sweep.toml",
            disabled=True, **wide,
        )  # fmt: skip
        self.message = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        self.status = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        self.notes = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        self.minima = pn.pane.HTML("", sizing_mode="stretch_width", margin=0)
        for widget in (self.source, *self.fields.values(), self.alpha, self.betas):
            widget.param.watch(self._changed, "value")
        self.chosen.param.watch(self._forget, "value")  # a place on another plane means nothing
        self.beta.param.watch(self._changed, "value_throttled")
        self.alpha_slider.param.watch(self._slid, "value_throttled")
        for place, widget in enumerate(self.quantities):
            widget.param.watch(partial(self._redraw, place), "value")
        self.forget.on_click(self._forget)

    def _layout(self) -> Any:
        fields = pn.FlexBox(*self.fields.values(), gap="0 8px", sizing_mode="stretch_width")
        side = pn.Column(
            _heading("hopfieldphase"), self.status, self.message, self.source, fields, self.alpha,
            self.alpha_slider, self.betas, self.export,
            pn.pane.HTML("<code>hopfieldphase run sweep.toml</code>", margin=(0, 0, 8, 0)),
            styles={"flex": "1 1 17rem", "max-width": "26rem", "min-width": "0"}, margin=8,
        )  # fmt: skip
        panes = [part for pair in zip(self.quantities, self._panes, strict=True) for part in pair]
        diagrams = pn.Column(
            _heading("Sweeps and exact branches"), *panes, self.notes,
            styles={"flex": "3 1 24rem", "min-width": "0"}, margin=8,
        )  # fmt: skip
        land = pn.Column(
            _heading("Landscape Γ and retrieval paths"), self.beta, self.chosen,
            self._land_pane, self.minima, self.forget,
            styles={"flex": "3 1 24rem", "min-width": "0"}, margin=8,
        )  # fmt: skip
        return pn.FlexBox(
            side, diagrams, land, flex_wrap="wrap", align_items="flex-start", sizing_mode="stretch_width",
            styles={"font": "15px/1.4 system-ui, sans-serif"},
        )  # fmt: skip

    # What a person does.

    def _changed(self, *_: Any) -> None:
        for name, field in self.fields.items():
            field.visible = name in model.taken(self.source.value)
        if self._silent:
            return
        wish = _Wish(
            self.source.value, tuple((name, field.value) for name, field in self.fields.items()),
            self.alpha.value, self.betas.value, self.beta.value, self.chosen.value, self._own,
        )  # fmt: skip
        with suppress(ValueError), self._quietly():
            slider = self.alpha_slider
            if slider.start <= float(wish.alpha) <= slider.end:
                slider.value = float(wish.alpha)
        self._say("solving …")
        self._fast.ask(partial(self._answer, wish))

    def _slid(self, event: Any) -> None:
        if not self._silent:
            self.alpha.value = f"{event.new:g}"

    def _tapped_landscape(self, event: Any) -> None:
        self._own = (*self._own, (event.x, event.y))
        self._changed()

    def _tapped_diagram(self, event: Any) -> None:
        if self._solved is not None:
            grid = self._solved.spec.grid
            self.beta.value = min(range(len(grid)), key=lambda i: abs(grid[i] - event.x))
            self._changed()

    def _forget(self, _: Any) -> None:
        if not self._silent:
            self._own = ()
            self._changed()

    def _redraw(self, place: int, *_: Any) -> None:
        if self._sweep is not None and not self._silent:
            plot, quantity = self._panes[place].object, self.quantities[place].value
            fill_branches(plot, self._branches, quantity)
            fill_sweep(plot, self._sweep, quantity)
            set_heights(plot, quantity, [self._sweep, *([self._branches] if self._branches else [])])

    def _export(self) -> io.BytesIO:
        assert self._solved is not None  # the button is disabled before
        return io.BytesIO(model.export(self._solved).encode())

    # What the threads do.

    def _answer(self, wish: _Wish) -> None:
        try:
            solved, patterns, index, own = self._solved, wish.patterns, wish.index, wish.own
            if solved is None or wish.of_sweep != self._wished:
                spec = model.sweep_spec(wish.source, dict(wish.fields), wish.alpha, wish.betas)
                before, solved = solved, model.solve_sweep(spec)
                if before is None or before.spec.patterns != spec.patterns:
                    patterns, own = model.default_patterns(solved), ()
                index = solved.widest
                self._solved, self._wished = solved, wish.of_sweep
                self._later(self._show_sweep, solved, patterns, own)
                self._slow.ask(partial(self._follow, solved))
            index = min(index, len(solved.spec.grid) - 1)
            scene = model.scene(solved, index, patterns, own)
            self._later(self._show_scene, solved, scene, len(own))
        except Exception as error:  # a page has no terminal: every error is said on it
            self._later(self._fail, error)

    def _follow(self, solved: model.Solved) -> None:
        if solved is not self._solved:
            return
        self._later(self._say, "following the branches …")
        try:
            branches, sweep = model.solve_branches(solved)
        except Exception as error:
            self._later(self._no_branches, solved, error)
        else:
            self._later(self._show_branches, solved, branches, sweep)

    # What is shown, in the thread of the page.

    def _later(self, show: Callable[..., None], *what: Any) -> None:
        self._to_show.append(partial(show, *what))
        self._document.add_next_tick_callback(self._show_all)

    def _show_all(self) -> None:
        while self._to_show:  # in the order in which it came, which that of the callbacks need not be
            self._to_show.popleft()()

    def _show_sweep(self, solved: model.Solved, patterns: str, own: tuple[tuple[float, float], ...]) -> None:
        self._sweep, self._branches, self._own = solved.view, None, own
        with self._quietly():
            self.chosen.value = patterns
            self.beta.param.update(end=len(solved.spec.grid) - 1, value=solved.widest)
        self._offer(solved.view)
        for place, pane in enumerate(self._panes):
            plot = self._diagram(place, is_geometric(solved.view.grid))
            set_range(plot, solved.view)
            quantity = self.quantities[place].value
            fill_branches(plot, None, quantity)
            fill_sweep(plot, solved.view, quantity)
            set_heights(plot, quantity, [solved.view])
            mark_beta(plot, solved.spec.grid[solved.widest])
            pane.object = plot
        self.export.disabled = False
        self._tell()

    def _diagram(self, place: int, geometric: bool) -> Any:
        """The diagram of a place; there are two, as the kind of an axis cannot change."""
        if (place, geometric) not in self._diagrams:
            plot = diagram(("diagram", "energy")[place], geometric)
            plot.on_event(Tap, self._tapped_diagram)
            self._diagrams[place, geometric] = plot
        return self._diagrams[place, geometric]

    def _offer(self, view: View) -> None:
        """The quantities of a view, of which each diagram keeps the one that it shows."""
        with self._quietly():
            for place, widget in enumerate(self.quantities):
                kept = widget.value if widget.value in view.labels else _FIRST[place]
                widget.options = {text: name for name, text in view.labels.items()}
                widget.value = kept

    def _show_scene(self, solved: model.Solved, scene: model.Scene, own: int) -> None:
        fill_landscape(self._land, solved, scene, own)
        self._land_pane.object = self._land  # not before: an empty figure has no ranges
        self.forget.visible = own > 0
        for pane in self._panes:
            mark_beta(pane.object, scene.beta)
        self.beta.name = f"landscape at β = {scene.beta:.6g}"
        self.message.object = ""
        self._say("")
        colours = minimum_colours(len(scene.paths.minima))
        rows = "".join(
            f'<li><span style="color:{colour}">●</span> {escape(words)}</li>'
            for colour, words in zip(colours, model.minima_words(solved, scene), strict=True)
        )
        self.minima.object = (
            f"<p>β = {scene.beta:.6g}. Minima that the updates x ← s Ξᵀ p reach from the plane (paths are "
            f"projected on it; click to start one of your own), the lowest first:</p><ul>{rows}</ul>"
        )

    def _show_branches(self, solved: model.Solved, branches: View, sweep: View) -> None:
        if solved is not self._solved:
            return
        self._branches, self._sweep = branches, sweep
        self._offer(sweep)
        for place in range(len(self._panes)):
            self._redraw(place)
        self._say("")
        self._tell()

    def _no_branches(self, solved: model.Solved, error: Exception) -> None:
        if solved is self._solved:
            self._say("")
            self._tell(f"no branches: {_line(error)}")

    def _tell(self, *more: str) -> None:
        """Legend and notes of the diagrams."""
        assert self._solved is not None
        facts = " · ".join((*self._solved.view.facts, f"{len(self._solved.spec.grid)} values of β"))
        lines = [
            "▲ sweep up (blue), ▼ sweep down (orange), dotted: jumps; dashed vertical: β of the landscape"
        ]
        if self._branches is not None:
            view = self._branches
            named = " ".join(
                f'<span style="white-space:nowrap;margin-right:.8em"><span style="color:{colour}">━━</span> '
                f"branch {escape(words)}</span>"
                for colour, words in zip(branch_colours(view), view.curves.words, strict=True)
            )
            lines.append(
                f"Branches: thick {escape(view.phases[1])}, thin {escape(view.phases[2])}, dashed unstable; "
                f"● spinodal, ◆ coexistence, □ pitchfork, ▲ onset of exact storage.<br>{named}"
            )
            more = (*more, *view.notes)
        lines += [f"<b>Note:</b> {escape(text)}" for text in more]
        self.notes.object = f"<p>{escape(facts)}</p>" + "".join(f"<p>{line}</p>" for line in lines)

    def _fail(self, error: Exception) -> None:
        self._say("")
        kept = "<br>The pictures show the last settings that could be solved." if self._solved else ""
        self.message.object = (
            f'<div role="alert" style="border-left:4px solid #d55e00;padding-left:.6rem">'
            f"{escape(_line(error))}{kept}</div>"
        )

    def _say(self, text: str) -> None:
        self.status.object = f'<div role="status" style="min-height:1.5em">{text or "ready"}</div>'

    @contextmanager
    def _quietly(self) -> Any:
        """Set fields without asking for what they already show."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before


def server(port: int) -> Any:
    """A server of the app on this machine alone, which has not begun to serve.

    Parameters
    ----------
    port : int
        0 for one that is free.

    Raises
    ------
    InputError
        If the port is in use or cannot be had.
    """
    logging.getLogger("bokeh").setLevel(logging.ERROR)  # that a page was closed is no news
    try:
        return pn.serve(
            lambda: App().page, port=port, address=ADDRESS, show=False, start=False, verbose=False,
            title=f"hopfieldphase {hopfieldphase.__version__}",
        )  # fmt: skip
    except OSError as error:
        reason = "in use" if error.errno == errno.EADDRINUSE else f"refused ({error.strerror})"
        raise InputError(
            f"port {port} is {reason}: choose another one with --port, or 0 for a free one"
        ) from error


def _heading(text: str) -> Any:
    return pn.pane.HTML(f'<h2 style="font-size:1.1rem;margin:0">{text}</h2>', margin=(0, 0, 4, 0))


def _line(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, HopfieldPhaseError):
        return text
    if isinstance(error, MemoryError):
        return "not enough memory: use smaller M or d"
    return f"unexpected {type(error).__name__}: {text[:300]}"
