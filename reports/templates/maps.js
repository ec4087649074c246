// A map under go-echarts' axes: drawing, reading a cell, zoom, click and keys.
// ---- drawing under the axes
function hatch() {
  const c = document.createElement("canvas"); c.width = c.height = 6;
  const g = c.getContext("2d");
  for (const [colour, shift] of [["#000", 0], ["#fff", 1.5]]) {
    g.strokeStyle = colour; g.lineWidth = 1.2; g.beginPath();
    for (const k of [-6, 0, 6]) { g.moveTo(k + shift, 6); g.lineTo(k + shift + 6, 0); }
    g.stroke();
  }
  return c;
}
let hatching;
// lossyRuns are the first lossy cells of the rows as they stand, for an order once.
function lossyRuns(m) {
  if (!m.lossy) return [];
  if (m.runsOf === m.order) return m.runs;
  m.runs = []; m.runsOf = m.order;
  for (let row = 0; row < m.rows && m.runs.length < 3000; row++) {
    const from = m.order[row] * m.cols;
    for (let col = 0; col < m.cols; col++) {
      if (m.state[from + col] !== 3) continue;
      let end = col; while (end < m.cols && m.state[from + end] === 3) end++;
      m.runs.push([row, col, end]);
      col = end;
    }
  }
  return m.runs;
}
// item is the map's only element: the painted canvas, cropped to the plot
// (old versions of echarts don't clip), with hatches above lossy cells.
function item(id, params, api) {
  const m = maps[id];
  if (!m) return { type: "group", children: [] };
  const a = api.coord([0, 0]), b = api.coord([m.cols, m.rows]), box = params.coordSys;
  const x0 = Math.max(a[0], box.x), y0 = Math.max(a[1], box.y);
  const x1 = Math.min(b[0], box.x + box.width), y1 = Math.min(b[1], box.y + box.height);
  const sx = m.cols / (b[0] - a[0]), sy = m.rows / (b[1] - a[1]);
  m.smooth = sx > 1.01 || sy > 1.01; // more cells than pixels: average, don't skip
  if (x1 <= x0 || y1 <= y0) return { type: "group", children: [] };
  const children = [{
    type: "image",
    style: { image: m.canvas, x: x0, y: y0, width: x1 - x0, height: y1 - y0, sx: (x0 - a[0]) * sx, sy: (y0 - a[1]) * sy, sWidth: (x1 - x0) * sx, sHeight: (y1 - y0) * sy },
  }];
  for (const [row, col, end] of lossyRuns(m)) {
    hatching = hatching || hatch();
    const left = Math.max(a[0] + col / sx, x0), right = Math.min(a[0] + end / sx, x1);
    const top = Math.max(a[1] + row / sy, y0), bottom = Math.min(a[1] + (row + 1) / sy, y1);
    if (right > left && bottom > top) children.push({ type: "rect", shape: { x: left, y: top, width: right - left, height: bottom - top }, style: { fill: { image: hatching, repeat: "repeat" } } });
  }
  if (m.devices) { // names of rows in the margin, as many as fit
    const high = 1 / sy, font = clamp(Math.round(high), 9, 11), every = Math.max(1, Math.ceil((font - 0.5) / high)), fill = css("--muted");
    for (let row = 0; row < m.rows; row += every) {
      const y = a[1] + (row + 0.5) / sy;
      if (y < box.y || y > box.y + box.height) continue;
      children.push({
        type: "text", silent: true,
        style: { text: short(m.devices[m.order[row]].name, Math.floor(box.x / 6.9)), x: box.x - 7, y, textAlign: "right", textVerticalAlign: "middle", align: "right", verticalAlign: "middle", fill, textFill: fill, font: font + "px " + m.family, textFont: font + "px " + m.family },
      });
    }
  }
  return { type: "group", children };
}
function crisp(id) {
  const painter = charts[id].getZr().painter;
  if (!painter.getLayers) return;
  const layers = painter.getLayers();
  for (const k in layers) if (layers[k].ctx) layers[k].ctx.imageSmoothingEnabled = !!(maps[id] && maps[id].smooth);
  painter.refresh(true);
}
function redraw(id) {
  paint(maps[id]);
  charts[id].setOption({ series: [{ data: [[0, 0, maps[id].version]] }] });
  crisp(id);
}

// ---- reading a cell
function describe(m, col, row) {
  const i = m.order[row] * m.cols + col, lines = [];
  if (m.id === "joint") {
    const lo = (k) => num(Math.pow(10, k));
    const x = m.xDecade + col / m.perDecade, y = m.yDecade + (m.rows - 1 - row) / m.perDecade, w = 1 / m.perDecade;
    if (m.state[i] === 0) return null;
    return { title: lo(x) + " to " + lo(x + w) + " IOPS", lines: [lo(y) + " to " + lo(y + w) + " ms", "mean depth " + num(valueAt(m, 2, i))] };
  }
  const d = m.devices[m.order[row]], at = d.origin + col * m.stepMS;
  lines.push(clock(at, true) + (m.aligned ? " (+" + span(col * m.stepMS / 1000) + ")" : ""));
  const state = m.state[i];
  if (state === 0) lines.push("gap: no window");
  else {
    if (state === 2) lines.push("idle, or too little to judge");
    if (state === 3) lines.push("artefact: loss or impossible numbers");
    lines.push(num(valueAt(m, 0, i)) + " IOPS", "latency " + num(valueAt(m, 1, i)) + " ms", "depth " + num(valueAt(m, 2, i)));
    if (state === 1) lines.push(m.klass[i] ? m.classes[m.klass[i] - 1].name + ", severity " + severityAt(m, i).toFixed(1) : "healthy");
  }
  return { title: d.name, lines };
}
function showTip(m, col, row, x, y) {
  const tip = m.plot.querySelector(".tip"), text = describe(m, col, row);
  if (!text) { tip.hidden = true; return; }
  tip.textContent = "";
  const head = document.createElement("b");
  head.textContent = text.title;
  tip.append(head, text.lines.join("\n"));
  tip.hidden = false;
  const wide = m.plot.clientWidth, w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = (x + 16 + w > wide ? Math.max(0, x - w - 12) : x + 16) + "px";
  tip.style.top = Math.max(0, Math.min(y + 14, m.plot.clientHeight - h)) + "px";
}
function cellAt(m, px) {
  const chart = charts[m.id];
  if (!chart.containPixel("grid", px)) return null;
  const p = chart.convertFromPixel("grid", px);
  const col = Math.floor(p[0]), row = Math.floor(p[1]);
  return col < 0 || row < 0 || col >= m.cols || row >= m.rows ? null : [col, row];
}
// pixelOf is the middle of a cell in page pixels of its plot.
const pixelOf = (m, col, row) => charts[m.id].convertToPixel("grid", [col + 0.5, row + 0.5]);
function openDevice(m, row, col) {
  if (m.id !== "fleet") return;
  if (data.drill) { // a served page: on to the window and its events
    const d = m.devices[m.order[row]];
    location.href = "/window?host=" + encodeURIComponent(d.host) + "&device=" + encodeURIComponent(d.device) + "&near=" + Math.round((d.origin + col * m.stepMS) * 1e3) + "000";
    return;
  }
  const anchor = m.devices[m.order[row]].anchor, at = anchor && $(anchor);
  if (at) { fill(at); at.open = true; location.hash = anchor; }
}
function zoom(m, how) {
  const chart = charts[m.id], now = chart.getOption().dataZoom;
  for (let k = 0; k < 2; k++) {
    let { start, end } = now[k];
    const mid = (start + end) / 2, half = (end - start) / 2 * (how === "in" ? 0.5 : 2);
    start = how === "reset" ? 0 : clamp(mid - half, 0, 100 - Math.min(100, 2 * half));
    end = how === "reset" ? 100 : Math.min(100, start + 2 * half);
    chart.dispatchAction({ type: "dataZoom", dataZoomIndex: k, start, end });
  }
  crisp(m.id);
}
function listen(m) {
  const zr = charts[m.id].getZr(), tip = m.plot.querySelector(".tip");
  zr.on("mousemove", (e) => {
    const cell = cellAt(m, [e.offsetX, e.offsetY]);
    if (cell) showTip(m, cell[0], cell[1], e.offsetX, e.offsetY); else tip.hidden = true;
  });
  zr.on("globalout", () => { tip.hidden = true; });
  zr.on("click", (e) => { const cell = cellAt(m, [e.offsetX, e.offsetY]); if (cell) openDevice(m, cell[1], cell[0]); });
  charts[m.id].on("datazoom", () => requestAnimationFrame(() => crisp(m.id)));
  m.plot.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (step) {
      m.at = m.at || [0, 0];
      m.at = [clamp(m.at[0] + step[0], 0, m.cols - 1), clamp(m.at[1] + step[1], 0, m.rows - 1)];
      const p = pixelOf(m, m.at[0], m.at[1]);
      showTip(m, m.at[0], m.at[1], p[0], p[1]);
      e.preventDefault();
    } else if (e.key === "Enter" && m.at) openDevice(m, m.at[1], m.at[0]);
    else if (e.key === "Escape") tip.hidden = true;
    else if (e.key === "+" || e.key === "-") zoom(m, e.key === "+" ? "in" : "out");
  });
  m.plot.addEventListener("blur", () => { tip.hidden = true; });
}
