"use strict";

// The functions down to "the page" know nothing of the page, so that a test can call them.

const digits = (text, at) => parseInt(text.slice(at, at + 3), 36);

// nodesOf are the nodes of a panel, in the order of the rows. Their changes are pairs of an instant and the index of a state, and what
// was said of them pairs of an instant and the index of a text.
function nodesOf(data, panel) {
  const nodes = [];
  for (const [zone, count] of panel.zones) {
    for (let k = 0; k < count; k++) {
      const i = nodes.length, pattern = panel.patterns[panel.of[i]], times = panel.times[i], states = pattern.states;
      nodes.push({
        name: data.names[panel.nodes[i]], zone: data.zones[zone],
        changes: [...states].map((letter, j) => [digits(times, j * 3), letter.charCodeAt(0) - 97]),
        said: pattern.said.map((text, j) => [digits(times, (states.length + j) * 3), text]),
      });
    }
  }
  return nodes;
}

// last is the index of the last pair that is not later than the instant; -1: all are later.
function last(list, tick) {
  let i = list.length - 1;
  while (i >= 0 && list[i][0] > tick) i--;
  return i;
}

// spans calls use with each state of a node that lasts into the time from..to, and with the ends of its time within it.
function spans(node, from, to, ticks, use) {
  for (let i = 0; i < node.changes.length; i++) {
    const begin = Math.max(node.changes[i][0], from);
    const end = Math.min(i + 1 < node.changes.length ? node.changes[i + 1][0] : ticks, to);
    if (begin < end) use(node.changes[i][1], begin, end);
  }
}

// matching are the nodes that the filter lets through: part of a name, a zone, and a state that they are in between two instants, or
// "down" for any in which no pod serves.
function matching(data, nodes, filter, from, to, ticks) {
  const name = filter.name.trim().toLowerCase();
  return nodes.filter(node => {
    if (name && !node.name.toLowerCase().includes(name) || filter.zone && node.zone !== filter.zone) return false;
    let was = filter.state === "";
    if (!was) spans(node, from, to, ticks, state => {
      was = was || String(state) === filter.state || filter.state === "down" && data.states[state].down;
    });
    return was;
  });
}

// rowsOf arranges nodes: a row for each if there are at most so many, else one for each zone, else parts of the zone.
function rowsOf(nodes, most) {
  if (nodes.length <= most) return nodes.map(node => ({ label: node.name, nodes: [node] }));
  const zones = new Map();
  for (const node of nodes) {
    if (!zones.has(node.zone)) zones.set(node.zone, []);
    zones.get(node.zone).push(node);
  }
  if (zones.size > 1) return [...zones].map(([label, list]) => ({ label, nodes: list }));
  const rows = [], size = Math.ceil(nodes.length / Math.min(24, Math.max(2, Math.ceil(nodes.length / most))));
  for (let i = 0; i < nodes.length; i += size) {
    const list = nodes.slice(i, i + size);
    const first = count(i + 1), end = count(i + list.length);
    rows.push({ label: "nodes " + first + " to " + end, short: first + "–" + end, nodes: list });
  }
  return rows;
}

// sharesOf are the shares of the nodes in each state, by state and column. The states of a column add up to 1, less the time during
// which nodes did not exist yet.
function sharesOf(nodes, from, to, ticks, columns, states) {
  const zeros = () => Array.from({ length: states }, () => new Float64Array(columns));
  const shares = zeros(), rise = zeros(), width = (to - from) / columns; // rise: by how many whole nodes more than in the column before
  for (const node of nodes) {
    spans(node, from, to, ticks, (state, begin, end) => {
      const a = (begin - from) / width, b = (end - from) / width;
      const first = Math.min(Math.floor(a), columns - 1), final = Math.min(Math.floor(b), columns - 1);
      if (first === final) {
        shares[state][first] += b - a;
        return;
      }
      shares[state][first] += first + 1 - a;
      rise[state][first + 1]++;
      rise[state][final]--;
      shares[state][final] += b - final;
    });
  }
  shares.forEach((list, state) => {
    for (let c = 0, whole = 0; c < columns; c++) {
      whole += rise[state][c];
      list[c] = (list[c] + whole) / nodes.length;
    }
  });
  return shares;
}

// countsAt are how many of the nodes are in each state at an instant.
function countsAt(nodes, tick, states) {
  const counts = new Array(states).fill(0);
  for (const node of nodes) {
    const i = last(node.changes, tick);
    if (i >= 0) counts[node.changes[i][1]]++;
  }
  return counts;
}

// count is a number with groups of digits.
const count = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

// time is a duration in the words of the tables.
function time(s) {
  const two = n => String(n).padStart(2, "0");
  if (s < 10) {
    const hundredths = Math.round(s * 100);
    return hundredths > 0 && hundredths < 100 ? hundredths * 10 + "ms" : +(hundredths / 100).toFixed(2) + "s";
  }
  if (s < 3600) {
    s = Math.round(s);
    if (s === 3600) return "1h0m";
    return s < 60 ? s + "s" : Math.floor(s / 60) + "m" + (s % 60 ? s % 60 + "s" : "");
  }
  if (s >= 172800) {
    const hours = Math.round(s / 3600);
    return Math.floor(hours / 24) + "d" + two(hours % 24) + "h";
  }
  const minutes = Math.round(s / 60);
  return Math.floor(minutes / 60) + "h" + two(minutes % 60) + "m";
}

// alike is how many characters at the beginning and at the end are common to all names that are longer than a number of characters,
// as far as whole parts of the names are. Of one name nothing is.
function alike(names, most) {
  const long = [...new Set(names)].filter(name => name.length > most), one = long[0];
  if (long.length < 2) return [0, 0];
  const ends = name => "-._/: ".includes(name);
  let begin = 0, end = 0;
  while (begin < one.length && long.every(name => name[begin] === one[begin])) begin++;
  while (begin > 0 && !ends(one[begin - 1])) begin--;
  while (long.every(name => begin + end < name.length && name[name.length - 1 - end] === one[one.length - 1 - end])) end++;
  while (end > 0 && !ends(one[one.length - end])) end--;
  return [begin, end];
}

// shortened is a name in so many characters. What it has in common with other names goes first: its end, then its beginning.
function shortened(name, most, [begin, end] = [0, 0]) {
  if (name.length <= most) return name;
  const mark = end > 0 ? "…" : "", rest = name.slice(0, name.length - end), core = rest.slice(begin);
  if (rest.length + mark.length <= most) return rest + mark;
  const room = most - mark.length - 1; // beside the ellipses
  if (core.length <= room) return rest.slice(0, room - core.length) + "…" + core + mark;
  const first = Math.floor(Math.max(room, 1) / 3);
  return core.slice(0, first) + "…" + core.slice(core.length - (Math.max(room, 1) - first)) + mark;
}

// found says how many nodes each panel shows; nothing if that is all of them.
function found(panels) {
  if (panels.every(p => p.found === p.all)) return "";
  return panels.map(p => (panels.length > 1 ? p.label + ": " : "") + count(p.found) + " of " + count(p.all)).join(", ") + " nodes match";
}

// ticksOf are at most about six labels at round times between two instants in seconds, with their places from 0 to 1.
function ticksOf(from, to) {
  const [unit, name] = to <= 180 ? [1, " s"] : to <= 21600 ? [60, " min"] : to <= 345600 ? [3600, " h"] : [86400, " days"];
  let step = Math.pow(10, Math.floor(Math.log10((to - from) / unit / 6)));
  step *= [1, 2, 5, 10].find(factor => (to - from) / unit <= 6 * step * factor);
  const list = [];
  for (let k = Math.ceil(from / unit / step); k * step * unit <= to; k++) {
    list.push([+(k * step).toPrecision(6) + name, (k * step * unit - from) / (to - from)]);
  }
  return list;
}

// describe is what the page says of a row at an instant: the first line is the title.
function describe(data, panel, row, tick) {
  const seconds = t => t / panel.ticks * panel.span, lines = [];
  if (row.nodes.length > 1) {
    lines.push(row.label + ", at " + time(seconds(tick)));
    countsAt(row.nodes, tick, data.states.length).forEach((n, state) => {
      if (n) lines.push(count(n) + " of " + count(row.nodes.length) + " nodes: " + data.states[state].text);
    });
    return lines;
  }
  const node = row.nodes[0], i = last(node.changes, tick);
  lines.push(node.name + ", " + node.zone + ", at " + time(seconds(tick)));
  if (i < 0) return lines.concat("not there yet");
  const since = node.changes[i][0], until = i + 1 < node.changes.length ? node.changes[i + 1][0] : -1;
  lines.push(data.states[node.changes[i][1]].text + " since " + time(seconds(since)) +
    (until < 0 ? ", until the end" : ", for " + time(seconds(until - since))));
  const k = last(node.said, tick);
  for (let j = Math.max(0, k - 2); j <= k; j++) lines.push(time(seconds(node.said[j][0])) + ": " + panel.texts[node.said[j][1]]);
  return lines;
}

// The page.

if (typeof document !== "undefined") {
  const read = id => JSON.parse(document.getElementById(id).textContent);
  drawCharts(read("chart-data"));
  drawNodes(read("node-data"));
  // On paper nothing can be opened.
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
}

function add(parent, tag, className, text) {
  const element = parent.appendChild(document.createElement(tag));
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function placeTip(tip, box, x, y) {
  tip.style.display = "block";
  tip.style.top = y + 14 + "px";
  tip.style.left = Math.max(0, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 6)) + "px";
}

function drawCharts(charts) {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const cross = add(figure, "div", "cross"), tip = add(figure, "div", "tip"), chart = charts[figure.dataset.chart];
    const hide = () => { cross.style.display = tip.style.display = "none"; };
    const show = event => {
      const svg = [...figure.querySelectorAll("svg")].find(s => s.getBoundingClientRect().width > 0);
      const box = svg.getBoundingClientRect(), own = figure.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width, a = svg.parentNode.className === "phone" ? chart.phone : chart.area;
      const share = ((event.clientX - box.left) / scale - a.X0) / (a.X1 - a.X0);
      if (share < 0 || share >= 1) return hide();
      cross.style.cssText = "display:block;left:" + (event.clientX - own.left) + "px;top:" +
        (box.top - own.top + a.Y0 * scale) + "px;height:" + (a.Y1 - a.Y0) * scale + "px";
      tip.replaceChildren(time(chart.log ? chart.from * Math.pow(chart.to / chart.from, share) : share * chart.to));
      for (const line of chart.lines) {
        const row = add(tip, "div");
        add(row, "b").style.background = "var(--line-" + line.color + ")";
        row.append(line.label + ": " + line.texts[line.index[Math.floor(share * line.index.length)]]);
      }
      placeTip(tip, figure, event.clientX - own.left, event.clientY - own.top);
    };
    figure.addEventListener("pointermove", show);
    figure.addEventListener("pointerdown", show);
    figure.addEventListener("pointerleave", hide);
  }
}

function drawNodes(data) {
  const form = document.getElementById("filter");
  for (const zone of data.zones) form.zone.append(new Option(zone, zone));
  form.state.append(new Option("down in any way", "down"));
  data.states.forEach((state, i) => form.state.append(new Option(state.text, i)));
  const panels = [...document.querySelectorAll("[data-panel]")].map(box => nodePanel(data, data.panels[box.dataset.panel], box));
  const filter = () => {
    const filtered = panels.map(panel => panel.filter({ name: form.node.value, zone: form.zone.value, state: form.state.value }));
    form.found.value = found(filtered);
  };
  const whole = () => {
    for (const panel of panels) panel.whole();
    filter();
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(whole));
  form.addEventListener("submit", event => event.preventDefault());
  for (const button of document.querySelectorAll("button[data-node]")) {
    button.addEventListener("click", () => {
      for (const control of [form.zone, form.state]) control.value = "";
      form.node.value = button.dataset.node;
      whole(); // the outage may be outside of the time shown
      form.scrollIntoView();
      form.node.focus({ preventScroll: true });
    });
  }
  filter();
}

// nodePanel shows the nodes of one candidate.
function nodePanel(data, panel, box) {
  const nodes = nodesOf(data, panel), height = [640, 420, 300][Math.min(data.panels.length, 3) - 1], order = [2, 1, 0];
  for (let state = 3; state < data.states.length; state++) order.push(state);
  let filter = { name: "", zone: "", state: "" }, shown = nodes, opened = [], rows = [], rowHeight = 1;
  let from = 0, to = panel.ticks, cursor = null, drag = null;

  if (panel.own) add(box.querySelector("h3"), "small", "", ", on a time axis of its own");
  const bar = add(box, "div", "bar");
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Time shown of " + panel.label);
  const button = (text, does) => { add(bar, "button", "", text).addEventListener("click", () => { does(); draw(); }); };
  const zoom = (a, b) => {
    [from, to] = [Math.max(0, a), Math.min(panel.ticks, b)];
    if (to - from < 20) to = Math.min(panel.ticks, from + 20);
    if (filter.state !== "") shown = matching(data, nodes, filter, from, to, panel.ticks); // the state is one within the time shown
  };
  const scale = by => {
    const at = cursor ? cursor.tick : (from + to) / 2;
    zoom(at - (at - from) * by, at + (to - at) * by);
  };
  button("zoom in", () => scale(0.5));
  button("zoom out", () => scale(2));
  button("all the time", () => zoom(0, panel.ticks));
  const up = add(bar, "button", "", "back");
  up.addEventListener("click", () => { opened.pop(); draw(); });
  const where = add(bar, "span", "where"), hint = add(bar, "span", "where screen");
  const grid = add(box, "div", "grid"), names = add(grid, "div", "names"), field = add(grid, "div", "field");
  const canvas = add(field, "canvas"), mark = add(field, "div", "mark"), tip = add(field, "div", "tip");
  const scaleLine = add(field, "div", "ticks");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", "Nodes of " + panel.label + " over time. Arrow keys move, Enter opens a row, Escape goes back, " +
    "plus and minus zoom.");
  tip.setAttribute("role", "status");

  function draw() {
    const kept = new Set(shown), list = opened.length ? opened[opened.length - 1].nodes.filter(n => kept.has(n)) : shown;
    rows = rowsOf(list, height / 2);
    const single = rows.every(row => row.nodes.length === 1);
    rowHeight = Math.max(single ? 2 : 22, Math.min(single ? 18 : 110, Math.floor(height / Math.max(rows.length, 1))));
    const columns = 1200, dots = 2, c = canvas.getContext("2d");
    canvas.width = columns;
    canvas.height = Math.max(rows.length, 1) * rowHeight * dots;
    canvas.style.height = canvas.height / dots + "px";
    grid.hidden = rows.length === 0;
    rows.forEach((row, i) => {
      c.fillStyle = data.states[data.states.length - 1].color; // before a node is there
      c.fillRect(0, i * rowHeight * dots, columns, rowHeight * dots - (single ? (rowHeight > 4 ? 1 : 0) : 3));
      if (row.nodes.length === 1) drawNode(row.nodes[0], i); else drawShares(row.nodes, i);
    });
    function drawNode(node, i) {
      const gap = rowHeight > 4 ? 1 : 0;
      for (const down of [false, true]) { // a short outage is at least as wide as can be seen
        spans(node, from, to, panel.ticks, (state, begin, end) => {
          if (data.states[state].down !== down) return;
          const x = (begin - from) / (to - from) * columns;
          c.fillStyle = data.states[state].color;
          c.fillRect(x, i * rowHeight * dots, Math.max((end - begin) / (to - from) * columns, down ? dots : 0), rowHeight * dots - gap);
        });
      }
    }
    function drawShares(list, i) {
      const shares = sharesOf(list, from, to, panel.ticks, columns, data.states.length), all = rowHeight * dots - 3;
      for (let x = 0; x < columns; x++) {
        const heights = order.map(state => shares[state][x] * all);
        let more = 0; // a few nodes that are down are at least as high as can be seen
        order.forEach((state, k) => {
          if (data.states[state].down && heights[k] > 0 && heights[k] < dots) { more += dots - heights[k]; heights[k] = dots; }
        });
        const rest = order.reduce((sum, state, k) => sum + (data.states[state].down ? 0 : heights[k]), 0);
        if (rest > 0) order.forEach((state, k) => { if (!data.states[state].down) heights[k] *= Math.max(0, 1 - more / rest); });
        let y = i * rowHeight * dots + all;
        order.forEach((state, k) => {
          if (heights[k] <= 0) return;
          c.fillStyle = data.states[state].color;
          c.fillRect(x, y - heights[k], 1, heights[k]);
          y -= heights[k];
        });
      }
    }
    names.replaceChildren();
    names.style.height = canvas.style.height;
    let lowest = -99, zone = null;
    const own = !single || rowHeight >= 13, room = Math.floor(names.clientWidth / 7);
    const common = alike(rows.map(row => own ? row.label : row.nodes[0].zone), room);
    rows.forEach((row, i) => {
      if (!own && row.nodes[0].zone === zone) return;
      zone = row.nodes[0].zone;
      if (i * rowHeight - lowest < 13) return;
      lowest = i * rowHeight;
      const name = own ? row.label : zone;
      const text = row.short || shortened(name, room, common);
      const label = add(names, single ? "span" : "button", "", text);
      label.title = name;
      label.style.top = lowest + (own ? rowHeight / 2 - 8 : 0) + "px";
      if (single) return;
      label.setAttribute("aria-label", name);
      label.addEventListener("click", () => open(row));
    });
    up.hidden = opened.length === 0;
    where.textContent = ["all"].concat(opened.map(o => o.label)).join(" › ") + ": " + count(list.length) +
      (list.length === 1 ? " node, " : " nodes, ") + time(seconds(from)) + " to " + time(seconds(to)) +
      (rows.length === 0 ? "; no node matches" : single ? "" : "; shares of nodes by state.");
    hint.textContent = single ? "" : "A row opens on click.";
    scaleLine.replaceChildren();
    for (const [text, share] of ticksOf(seconds(from), seconds(to))) {
      const label = add(scaleLine, "span", "", text);
      label.style.left = share * 100 + "%";
      label.style.transform = "translateX(-" + share * 100 + "%)";
    }
    hide();
  }
  const seconds = tick => tick / panel.ticks * panel.span;
  const hide = () => { cursor = null; tip.style.display = mark.style.display = "none"; };
  function open(row) {
    if (row.nodes.length < 2) return;
    opened.push(row);
    draw();
  }
  function show() {
    const row = rows[cursor.row], lines = describe(data, panel, row, cursor.tick);
    tip.replaceChildren();
    lines.forEach((line, i) => add(tip, i ? "div" : "strong", "", line));
    if (row.nodes.length > 1) add(tip, "em", "", "click to open");
    const x = (cursor.tick - from) / (to - from) * canvas.clientWidth, y = cursor.row * rowHeight;
    mark.style.cssText = "display:block;left:" + x + "px;top:" + y + "px;height:" + rowHeight + "px";
    placeTip(tip, field, x, y + rowHeight);
  }
  function point(event) {
    const own = canvas.getBoundingClientRect(), row = Math.floor((event.clientY - own.top) / rowHeight);
    if (row < 0 || row >= rows.length) return hide();
    cursor = { row, tick: Math.min(to - 1, Math.max(from, from + (event.clientX - own.left) / own.width * (to - from))) };
    if (drag && Math.abs(event.clientX - drag.x) > 8) {
      drag.moved = true;
      tip.style.display = "none";
      mark.style.cssText = "display:block;top:0;height:" + canvas.style.height + ";left:" + (Math.min(event.clientX, drag.x) - own.left) +
        "px;width:" + Math.abs(event.clientX - drag.x) + "px";
      return;
    }
    show();
  }
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", event => { point(event); drag = cursor && { x: event.clientX, tick: cursor.tick }; });
  canvas.addEventListener("pointerup", event => {
    const begun = drag;
    drag = null;
    if (!begun || !cursor) return;
    if (begun.moved) {
      zoom(Math.min(begun.tick, cursor.tick), Math.max(begun.tick, cursor.tick));
      draw();
    } else if (rows[cursor.row].nodes.length > 1) {
      open(rows[cursor.row]);
    }
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { drag = null; hide(); });
  canvas.addEventListener("blur", hide);
  canvas.addEventListener("focus", () => { if (rows.length && !cursor) { cursor = { row: 0, tick: from }; show(); } });
  canvas.addEventListener("keydown", event => {
    if (!rows.length) return;
    cursor = cursor || { row: 0, tick: from };
    const step = (to - from) / 50;
    switch (event.key) {
    case "ArrowDown": cursor.row = Math.min(rows.length - 1, cursor.row + 1); break;
    case "ArrowUp": cursor.row = Math.max(0, cursor.row - 1); break;
    case "ArrowRight": cursor.tick = Math.min(to - 1, cursor.tick + step); break;
    case "ArrowLeft": cursor.tick = Math.max(from, cursor.tick - step); break;
    case "Enter": open(rows[cursor.row]); cursor = { row: 0, tick: from }; break;
    case "Escape": opened.pop(); draw(); cursor = { row: 0, tick: from }; break;
    case "+": case "-": {
      const kept = cursor;
      scale(event.key === "+" ? 0.5 : 2);
      draw();
      cursor = { row: Math.min(kept.row, rows.length - 1), tick: Math.min(Math.max(kept.tick, from), to - 1) };
      break;
    }
    default: return;
    }
    event.preventDefault();
    if (rows.length) show(); // a filter by state may leave none in the time shown
  });
  return {
    whole: () => { [from, to] = [0, panel.ticks]; },
    filter: f => {
      filter = f;
      shown = matching(data, nodes, f, from, to, panel.ticks);
      opened = [];
      draw();
      return { label: panel.label, found: shown.length, all: nodes.length };
    },
  };
}
