// The page: its toolbar, what is folded up, light and dark, the start.
// ---- toolbar
function legend(m) {
  const which = m.view === "class" ? "class" : m.view === "all" && !m.safe ? "all" : "one";
  for (const box of document.querySelectorAll(".legend")) box.hidden = box.dataset.for !== which;
  if (which !== "one") return;
  const top = { r: 0, g: 1, b: 2 }[m.view], full = (k, b) => { // value at which a channel is full
    const steps = m.steps[k], code = m.codes[k];
    return num(code.low * Math.pow(10, (steps[b] - 2) / code.per_decade));
  };
  const words = {
    all: "Light is fast, dark is slow; yellow is throughput, blue is queue depth, grey is both or neither.",
    r: "0 to " + full(0, 254) + " IOPS and more", g: "slow (" + full(1, 254) + " ms and more) to fast (0 ms)", b: "0 to " + full(2, 254) + " in flight and more",
    change: "Grey is as usual for the device (its median healthy window); more red, green, blue: more throughput, faster, deeper. Less of a colour: less of it.",
    severity: "Grey is healthy; severity 1 (at the gate) to 10",
  };
  const from = [0, 0, 0], to = [0, 0, 0];
  if (top !== undefined) to[top] = 255;
  const stops = m.view === "severity" ? [0, 0.25, 0.5, 0.75, 1].map(m.safe ? safeRamp : sickRamp)
    : top !== undefined ? (m.safe ? [0, 0.25, 0.5, 0.75, 1].map(safeRamp) : [from, to])
      : m.safe ? [[0, 0, 0], [0, 0, 102], [153, 153, 153], [255, 255, 153]] : [[64, 128, 128], [128, 128, 128], [192, 128, 128]];
  $("ramp").style.background = "linear-gradient(90deg," + stops.map((s) => "rgb(" + s.join() + ")").join() + ")";
  $("ramp-words").textContent = words[m.view];
}
function choose(button) {
  for (const b of button.parentNode.children) b.setAttribute("aria-checked", String(b === button));
}
function toolbar(m) {
  for (const b of document.querySelectorAll("[data-view]")) b.addEventListener("click", () => { m.view = b.dataset.view; choose(b); redraw("fleet"); legend(m); });
  for (const b of document.querySelectorAll("[data-order]")) b.addEventListener("click", () => {
    choose(b);
    m.order = Array.from({ length: m.rows }, (_, i) => i);
    if (b.dataset.order === "name") {
      const cmp = new Intl.Collator("en", { numeric: true }).compare;
      m.order.sort((x, y) => cmp(m.devices[x].name, m.devices[y].name) || x - y);
    }
    redraw("fleet");
  });
  for (const b of document.querySelectorAll("[data-zoom]")) b.addEventListener("click", () => zoom(m, b.dataset.zoom));
  $("safe").addEventListener("click", () => {
    for (const id in maps) { maps[id].safe = !maps[id].safe; redraw(id); }
    $("safe").setAttribute("aria-pressed", String(m.safe));
    legend(m);
  });
}

// ---- what is folded up: its markup is packed, and set in when it is opened
// or printed. The template has made it, so texts from logs are escaped there.
const parts = [];
let packed;
function fill(details) {
  if (!details.dataset.part || !$("parts-bytes")) return; // nothing packed, or not yet here
  const [part, at] = details.dataset.part.split(".");
  delete details.dataset.part;
  packed = packed || $("parts-bytes").textContent.split(" ");
  parts[part] = parts[part] || new TextDecoder().decode(unpack.inflate(unpack.bytes(packed[part]))).split("\0");
  details.insertAdjacentHTML("beforeend", parts[part][at]);
}

// ---- theme, start
function colours() {
  const text = css("--muted"), line = css("--line"), grid = css("--grid");
  const axis = { axisLabel: { color: text, fontSize: 11 }, axisLine: { lineStyle: { color: line } }, axisTick: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: grid } }, nameTextStyle: { color: text, fontSize: 11 } };
  return { textStyle: { color: text }, xAxis: [axis], yAxis: [axis] };
}
function theme() {
  const now = colours();
  for (const id in charts) {
    charts[id].setOption(now);
    if (maps[id]) redraw(id);
  }
}
function open(hash) {
  const at = hash.length > 1 && $(hash.slice(1));
  if (at && at.tagName === "DETAILS") { fill(at); at.open = true; at.scrollIntoView(); }
}
// draw makes a chart, once.
function draw(id, bytes) {
  if (charts[id] || !queue.has(id)) return;
  const o = queue.get(id)(), place = $(id);
  for (const z of o.dataZoom || []) { z.zoomOnMouseWheel = "ctrl"; z.moveOnMouseWheel = false; }
  if (id === "fleet") {
    o.xAxis[0].minInterval = 1;
    o.yAxis[0].axisTick = { show: false };
    if (place.clientWidth < 520) { const g = [].concat(o.grid)[0]; g.left = 96; g.right = 14; }
    o.xAxis[0].splitNumber = Math.max(2, Math.floor(place.clientWidth / 110));
  }
  if (id === "joint") for (const a of [o.xAxis[0], o.yAxis[0]]) a.interval = data.maps.joint.perDecade;
  if (data.maps[id]) {
    maps[id] = makeMap(id, bytes);
    maps[id].safe = !!maps.fleet && maps.fleet.safe;
    paint(maps[id]);
  }
  o.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily };
  charts[id] = echarts.init(place, null, { renderer: "canvas" });
  charts[id].setOption(o);
  charts[id].setOption(colours());
  if (maps[id]) { listen(maps[id]); crisp(id); }
  if (id === "fleet") toolbar(maps.fleet);
}
// rest draws what stands below the first screen.
function rest() {
  for (const id of queue.keys()) draw(id);
}
async function start() {
  if (data.maps.fleet) {
    let bytes;
    try { bytes = await unpack.quick(carried("fleet"), sizeOf(data.maps.fleet)); } catch (e) { bytes = undefined; }
    draw("fleet", bytes);
  }
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", theme);
  let wait;
  addEventListener("resize", () => {
    clearTimeout(wait);
    wait = setTimeout(() => { for (const id in charts) { charts[id].resize(); if (maps[id]) crisp(id); } }, 120);
  });
  document.addEventListener("toggle", (e) => { if (e.target.open) fill(e.target); }, true);
  addEventListener("hashchange", () => open(location.hash));
  addEventListener("beforeprint", () => {
    rest();
    for (const d of document.querySelectorAll("details.device")) { fill(d); d.open = true; }
    theme();
  });
  addEventListener("afterprint", theme);
  // Ready is what a reader sees first: the words, and the fleet map on the
  // screen with its tooltip and toolbar.
  const ready = () => {
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
    const complete = () => { rest(); document.documentElement.dataset.complete = String(Math.round(performance.now())); };
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", complete); else setTimeout(complete, 0);
  };
  if (document.hidden) ready(); else requestAnimationFrame(() => setTimeout(ready, 0));
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", () => open(location.hash)); else open(location.hash);
}

globalThis.iopathy = {
  add: (id, option) => queue.set(id, option), start, fill, item, timeLabel, decade, stackTip,
  // cell tells where a cell is on the page, for tests and tools.
  cell: (id, col, row) => {
    const box = $(id).getBoundingClientRect(), p = pixelOf(maps[id], col, row);
    return [box.left + scrollX + p[0], box.top + scrollY + p[1]];
  },
};
