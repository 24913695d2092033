// Runs once when the document is there: selects in the page what the sliders say, and moves nothing over a network.
// Arguments: the column data sources nodes, marks, rules, table and weights (or null), a figure (anchor), and meta,
// which is JSON text.
const m = JSON.parse(meta);
const page = (id) => document.getElementById(id);
const model = (name) => anchor.document.get_model_by_name(name);
const column = (source, name) => source.get_column(name);
const column_of = {}; // typed arrays, read once
for (const name of nodes.columns()) column_of[name] = column(nodes, name);
const t = column_of.parameter, phase = column_of.phase, link = column_of.link, status = column_of.status;
const state = { at: m.position.slice(0, -2), curve: m.position.at(-2), node: m.position.at(-1) };
const sizes = m.outer.map((axis) => axis.texts.length);
const curves = m.curves.texts.length;
const ABSENT = 4, UNKNOWN = 0, UNSTABLE = 3, LINE = 1, JUMP = 2;

const place = (at = state.at) => at.reduce((sum, k, axis) => sum * sizes[axis] + k, 0);
const range = (curve, where = place()) => [m.starts[where * curves + curve], m.starts[where * curves + curve + 1]];
const here = () => range(state.curve)[0] + state.node;
const text = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "not there");
const title = (curve) => m.colours.length && m.branches ? "branch " + m.curves.texts[curve] : m.curves.texts[curve];
const fill = (name, data) => { const source = model(name); if (source) source.data = data; };
const escaped = (words) => words.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

function limits(values, share = 0.06) {
  let low = Infinity, high = -Infinity;
  for (const value of values) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  if (low > high) return [0, 1];
  const room = share * (high - low) || share * Math.abs(high) || 1;
  return [low - room, high + room];
}

function nearest(curve, value, where = place()) {
  const [start, stop] = range(curve, where);
  let best = 0, distance = Infinity;
  for (let i = start; i < stop; i++) {
    // Of several states at one value the most stable.
    const far = Math.abs(t[i] - value) + (phase[i] === UNSTABLE ? 1e-9 * Math.abs(value) : 0);
    if (far < distance && phase[i] !== ABSENT) { distance = far; best = i - start; }
  }
  return best;
}

// The lines of one figure: consecutive nodes with one stroke, joined across changes of phase.
function strokes(quantity) {
  const found = m.strokes.map(() => ({ xs: [], ys: [], colour: [] }));
  for (let curve = 0; curve < curves; curve++) {
    const [start, stop] = range(curve);
    let last = -1, xs, ys;
    for (let i = start; i + 1 < stop; i++) {
      const a = phase[i], b = phase[i + 1];
      let stroke = a === ABSENT || b === ABSENT || link[i] === 0 ? -1 : a === 0 || b === 0 ? 0 : Math.max(a, b);
      // Branches hold a point of change once for each phase.
      if (stroke >= 0 && m.branches && a !== b) stroke = t[i] === t[i + 1] ? -1 : a;
      if (stroke >= 0 && link[i] === JUMP) stroke = 4;
      if (stroke < 0) { last = -1; continue; }
      if (stroke !== last) {
        xs = [t[i]]; ys = [quantity[i]];
        found[stroke].xs.push(xs); found[stroke].ys.push(ys); found[stroke].colour.push(m.colours[curve]);
      }
      xs.push(t[i + 1]); ys.push(quantity[i + 1]);
      last = stroke;
    }
  }
  return found;
}

// A few markers along each curve that has a colour of its own, at other places for each.
function signs(quantity) {
  const data = { x: [], y: [], colour: [], marker: [] };
  const shown = m.signs.length;
  const low = Math.min(m.grid[0], m.grid.at(-1)), width = Math.abs(m.grid.at(-1) - m.grid[0]);
  m.signs.forEach(([curve, marker], k) => {
    for (let part = 0; part < 6; part++) {
      const wanted = low + width * (part + (k + 0.5) / shown) / 6;
      const [start, stop] = range(curve);
      const i = start + nearest(curve, m.geometric ? m.grid[Math.round((m.grid.length - 1) * (part + (k + 0.5) / shown) / 6)] : wanted);
      if (i < stop && Math.abs(t[i] - wanted) < width / 12 || (m.geometric && i < stop)) {
        data.x.push(t[i]); data.y.push(quantity[i]); data.colour.push(m.colours[curve]); data.marker.push(marker);
      }
    }
  });
  return data;
}

function words(i, curve, name) {
  return `${escaped(title(curve))}<br>${m.symbol} = ${text(t[i])}<br>${escaped(m.labels[name])}: ${text(column_of[name][i])}` +
    `<br>${m.phases[phase[i]]}; ${m.statuses[status[i]]}`;
}

const choice = (figure) => (page(figure + "-choice") || { value: "overlap_max" }).value;
const hidden = {}; // what each figure shows, so that sliders along a curve redraw no lines

function draw(figure) {
  const name = choice(figure), quantity = column_of[name], where = place();
  const key = name + " " + where;
  if (hidden[figure] !== key) {
    hidden[figure] = key;
    strokes(quantity).forEach((data, k) => fill(`${figure}-${m.strokes[k]}`, data));
    fill(figure + "-signs", signs(quantity));
    const states = { x: [], y: [], words: [] };
    for (let curve = 0; curve < curves; curve++) {
      const [start, stop] = range(curve);
      for (let i = start; i < stop; i++) if (phase[i] !== ABSENT) {
        states.x.push(t[i]); states.y.push(quantity[i]); states.words.push(words(i, curve, name));
      }
    }
    fill(figure + "-states", states);
    const points = m.kinds.map(() => ({ x: [], y: [], words: [], colour: [] }));
    const kind = column(marks, "kind");
    for (let i = 0; i < kind.length; i++) {
      const value = column(marks, name)[i], curve = column(marks, "curve")[i];
      if (column(marks, "place")[i] !== where || !Number.isFinite(value)) continue;
      const into = points[kind[i]];
      into.x.push(column(marks, "parameter")[i]); into.y.push(value);
      into.colour.push(kind[i] === 1 ? "#000000" : m.colours[curve]);
      into.words.push(`${escaped(title(curve))}: ${escaped(column(marks, "text")[i])}<br>${m.symbol} = ` +
        `${text(column(marks, "parameter")[i])}<br>${escaped(m.labels[name])}: ${text(value)}`);
    }
    points.forEach((data, k) => fill(`${figure}-marks-${k}`, data));
    const crossed = [], told = [];
    if (rules.columns().length) column(rules, "place").forEach((one, i) => {
      if (one === where % m.rows) { crossed.push(column(rules, "parameter")[i]); told.push(column(rules, "text")[i]); }
    });
    fill(figure + "-rules", { x: crossed });
    if (figure === "diagram") page("diagram-text").textContent =
      told.length ? ` Dashed verticals: the lines of the map at this value (${told.join("; ")}).` : "";
    const level = m.levels[name];
    fill(figure + "-level", { y: level ? [level[where]] : [] });
    fit(figure, name, states, level ? level[where] : NaN);
    model(figure + "-axis").axis_label = m.labels[name];
  }
  const [start, stop] = range(state.curve);
  fill(figure + "-curve", { xs: [Array.from(t.slice(start, stop))], ys: [Array.from(quantity.slice(start, stop))] });
  fill(figure + "-chosen", { x: [t[here()]], y: [quantity[here()]] });
}

// Unstable arms reach far above the minima: these decide how far a figure of energies reaches.
function fit(figure, name, states, level) {
  let shown = states.y;
  if (name === "excess") {
    shown = [0];
    for (let curve = 0; curve < curves; curve++) {
      const [start, stop] = range(curve);
      for (let i = start; i < stop; i++) if (phase[i] !== UNSTABLE && phase[i] !== ABSENT) shown.push(1.5 * column_of.excess[i]);
    }
  }
  const inside = [...shown, ...(Number.isFinite(level) ? [level] : [])];
  const [low, high] = limits(inside), axis = model(figure + "-y");
  axis.start = low; axis.end = high; axis.reset_start = low; axis.reset_end = high;
}

// Edges of cells around their centres.
function edges(centres, geometric) {
  const c = geometric ? centres.map(Math.log) : centres;
  if (c.length === 1) return [centres[0] - 0.5, centres[0] + 0.5];
  const inner = c.slice(1).map((value, i) => (value + c[i]) / 2);
  const all = [2 * c[0] - inner[0], ...inner, 2 * c.at(-1) - inner.at(-1)];
  return geometric ? all.map(Math.exp) : all;
}

const rows = { edges: [], axis: -1 }; // of the map
function vertical() {
  const wanted = page("map-vertical");
  return wanted ? Number(wanted.value) : m.vertical;
}

function drawMap() {
  if (!model("cells")) return;
  if (m.branches) drawBars(); else drawCells();
}

function drawCells() {
  const axis = vertical(), name = choice("map"), values = m.outer[axis].values;
  const others = state.at.filter((_, k) => k !== axis).join();
  const key = [axis, name, others, name === "quantity" ? choice("diagram") + state.curve : ""].join();
  if (hidden.map !== key) {
    hidden.map = key;
    const numeric = values.every((v, i) => typeof v === "number" && (i === 0 || v > values[i - 1]));
    const centres = numeric ? values : values.map((_, i) => i);
    rows.edges = edges(centres, false); rows.axis = axis; rows.centres = centres;
    const x = edges(m.grid, m.geometric), n = m.grid.length;
    const data = { left: [], right: [], bottom: [], top: [], value: [], words: [] };
    const stored = name === "quantity" ? column_of[choice("diagram")] : column(table, name);
    const label = name === "quantity" ? `${m.labels[choice("diagram")]}, ${title(state.curve)}` : m.cells[name].label;
    for (let row = 0; row < values.length; row++) {
      const at = state.at.slice(); at[axis] = row;
      const first = name === "quantity" ? range(state.curve, place(at))[0] : place(at) * n;
      for (let i = 0; i < n; i++) {
        data.left.push(x[i]); data.right.push(x[i + 1]);
        data.bottom.push(rows.edges[row]); data.top.push(rows.edges[row + 1]);
        data.value.push(stored[first + i]);
        data.words.push(`${m.symbol} = ${text(m.grid[i])}<br>${escaped(m.outer[axis].label)}: ${escaped(m.outer[axis].texts[row])}` +
          `<br>${escaped(label)}: ${text(stored[first + i])}`);
      }
    }
    const mapper = model("mapper"), known = m.cells[name];
    const [low, high] = known ? known.limits : limits(stored, 1e-9);
    mapper.palette = known && known.differences ? m.palettes.diverging : m.palettes.sequential;
    mapper.low = low; mapper.high = high;
    fill("cells", data);
    bounds(x[0], x.at(-1), rows.edges[0], rows.edges.at(-1), m.outer[axis].label);
    model("map-axis").major_label_overrides = new Map(numeric ? [] : m.outer[axis].texts.map((words, i) => [i, words]));
  }
  fill("map-chosen", { x: [t[here()]], y: [rows.centres[state.at[axis]]] });
}

function bounds(left, right, bottom, top, label) {
  const set = (range, start, end) => Object.assign(range, { start, end, reset_start: start, reset_end: end });
  set(model("map-x"), left, right); set(model("map-y"), bottom, top);
  model("map-axis").axis_label = label;
}

// Where each branch exists, and in which phase.
function drawBars() {
  if (hidden.map === undefined) {
    hidden.map = "bars";
    const data = { left: [], right: [], bottom: [], top: [], value: [], words: [] };
    for (let curve = 0; curve < curves; curve++) {
      const [start, stop] = range(curve);
      for (let i = start; i < stop; ) {
        let j = i, low = t[i], high = t[i];
        while (j < stop && phase[j] === phase[i]) { low = Math.min(low, t[j]); high = Math.max(high, t[j]); j++; }
        if (phase[i] !== ABSENT) {
          const half = phase[i] === UNSTABLE ? 0.15 : 0.42;
          data.left.push(low); data.right.push(high); data.bottom.push(curve - half); data.top.push(curve + half);
          data.value.push(phase[i]);
          data.words.push(`${escaped(title(curve))}<br>${m.phases[phase[i]]}<br>${m.symbol} = ${text(low)} to ${text(high)}`);
        }
        i = j;
      }
    }
    Object.assign(model("mapper"), { palette: m.palettes.phases, low: 0.5, high: 3.5 });
    fill("cells", data);
    bounds(m.grid[0], m.grid.at(-1), -0.6 - 0.03 * curves, curves - 0.4 + 0.03 * curves, m.curves.label);
  }
  fill("map-chosen", { x: [t[here()]], y: [state.curve] });
}

function drawWeights() {
  if (!weights) return;
  const kept = column(weights, "weight").length / t.length, first = here() * kept;
  const data = { x: [], p: [], words: [] }, names = new Map();
  let sum = 0;
  for (let k = 0; k < kept; k++) {
    const pattern = column(weights, "pattern")[first + k], p = column(weights, "weight")[first + k];
    names.set(k, pattern < 0 ? "" : String(pattern));
    if (pattern < 0) continue;
    data.x.push(k); data.p.push(p); data.words.push(`pattern ${pattern}<br>weight ${Number(p.toPrecision(6))}`);
    sum += p;
  }
  fill("bars", data);
  model("weights-axis").major_label_overrides = names;
  const axis = model("weights-y"); axis.start = 0; axis.end = 1.08 * Math.max(1e-12, ...data.p);
  const list = data.x.slice(0, 5).map((k) => `${names.get(k)}: ${Number(data.p[k].toPrecision(6))}`).join(", ");
  page("weights-text").textContent = data.x.length === 0 ? "No weights at this state." :
    `Patterns with the largest weights: ${list}${data.x.length > 5 ? ", …" : ""}.` +
    ` All that are shown sum to ${Number(sum.toPrecision(6))}.`;
}

function describe() {
  const i = here(), list = page("state");
  const lines = [["phase", m.phases[phase[i]]], ["status", m.statuses[status[i]]]];
  for (const name of m.quantities) lines.push([m.labels[name], text(column_of[name][i])]);
  list.replaceChildren(...lines.flatMap(([term, value]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = term; dd.textContent = value;
    return [dt, dd];
  }));
  const quoted = (words) => (/^[\w.+=:-]+$/.test(words) ? words : `'${words.replace(/'/g, "'\\''")}'`);
  const chosen = m.outer.map((axis, k) => [axis.name, axis.values[state.at[k]]]);
  chosen.push([m.curves.name, m.curves.values[state.curve]], [m.parameter, t[i]]);
  page("command").textContent = [m.command, ...chosen.map(([name, value]) => "--at " + quoted(`${name}=${value}`))].join(" ");
  page("copied").textContent = "";
}

const sliders = [];
function slider(id, label, count, get, set, shown) {
  const box = document.createElement("div");
  box.className = "slider";
  box.innerHTML = `<label for="${id}"><span></span><output for="${id}"></output></label><input type="range" id="${id}" min="0" step="1">`;
  box.querySelector("span").textContent = label;
  const input = box.querySelector("input"), output = box.querySelector("output");
  page("sliders").append(box);
  input.addEventListener("input", () => { set(Number(input.value)); render(); });
  sliders.push(() => {
    input.max = count() - 1; input.value = get(); input.disabled = count() < 2;
    output.textContent = shown(); input.setAttribute("aria-valuetext", shown());
  });
}

function move(change) { // to another curve: as near as possible to the value of the parameter
  const value = t[here()];
  change();
  state.node = Number.isFinite(value) ? nearest(state.curve, value) : 0;
}

m.outer.forEach((axis, k) => slider("slider-" + axis.name, axis.label, () => sizes[k], () => state.at[k],
  (value) => move(() => { state.at[k] = value; }), () => axis.texts[state.at[k]]));
slider("slider-" + m.curves.name, m.curves.label, () => curves, () => state.curve,
  (value) => move(() => { state.curve = value; }), () => m.curves.texts[state.curve]);
slider("slider-" + m.parameter, m.parameter_label, () => range(state.curve)[1] - range(state.curve)[0], () => state.node,
  (value) => { state.node = value; }, () => text(t[here()]));

function render() {
  for (const refresh of sliders) refresh();
  drawMap(); draw("diagram"); draw("energy"); drawWeights(); describe();
  document.documentElement.dataset.node = here();
}

function tapped(figure, x, y) {
  if (figure === "weights") return;
  if (figure === "map") {
    if (m.branches) {
      state.curve = Math.min(curves - 1, Math.max(0, Math.round(y)));
    } else {
      const row = rows.edges.findIndex((edge) => edge > y) - 1;
      if (row < 0) return;
      state.at[rows.axis] = row;
    }
    state.node = nearest(state.curve, x);
  } else {
    const quantity = column_of[choice(figure)], axis = model(figure + "-y"), across = model("x-range");
    const scale = m.geometric ? Math.log : (value) => value;
    let best = Infinity;
    for (let curve = 0; curve < curves; curve++) {
      const [start, stop] = range(curve);
      for (let i = start; i < stop; i++) {
        const dx = (scale(t[i]) - scale(x)) / (scale(across.end) - scale(across.start));
        const dy = (quantity[i] - y) / (axis.end - axis.start);
        const far = dx * dx + dy * dy;
        if (far < best) { best = far; state.curve = curve; state.node = i - start; }
      }
    }
  }
  render();
}
window.hopfieldphase = { tapped, state };

async function copy() {
  const command = page("command");
  try {
    await navigator.clipboard.writeText(command.textContent);
    page("copied").textContent = "copied";
  } catch {
    getSelection().selectAllChildren(command);
    page("copied").textContent = document.execCommand("copy") ? "copied" : "selected: copy it with the keyboard";
  }
}
page("copy").addEventListener("click", copy);
for (const id of ["map-choice", "map-vertical", "diagram-choice", "energy-choice"])
  if (page(id)) page(id).addEventListener("change", render);
render();
document.documentElement.dataset.ready = "true";
