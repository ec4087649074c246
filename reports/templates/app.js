"use strict";
// The page's own script: it paints the maps under
// go-echarts' axes and answers the toolbar. Texts from logs go in as
// textContent or into canvas labels, never as markup.
var iopathy = (function () {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("iopathy-data").textContent);
  const queue = new Map(), charts = {}, maps = {};
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const clamp = (v, lo, hi) => Math.max(lo, Math.min(hi, v));

  // ---- words
  function num(v) {
    if (v !== v) return "unknown";
    const a = Math.abs(v);
    if (a >= 1e6) return (v / 1e6).toPrecision(3) + " M";
    if (a >= 999.5) return Math.round(v).toLocaleString("en-US");
    if (a === 0) return "0";
    if (a >= 0.01) return String(+v.toPrecision(3));
    return v.toPrecision(2);
  }
  function span(s) {
    if (s < 60) return +s.toFixed(1) + " s";
    if (s < 3600) return Math.floor(s / 60) + " min" + (s % 60 ? " " + Math.round(s % 60) + " s" : "");
    return Math.floor(s / 3600) + " h " + String(Math.round((s % 3600) / 60)).padStart(2, "0") + " min";
  }
  function clock(ms, long) {
    if (data.relative) return (ms < 0 ? "−" : "+") + Math.abs(ms / 1000).toFixed(1) + " s";
    const iso = new Date(ms).toISOString();
    if (long) return iso.slice(0, 10) + " " + iso.slice(11, 19) + " UTC";
    return data.day ? iso.slice(5, 10) + " " + iso.slice(11, 16) : iso.slice(11, 19);
  }
  function timeLabel(v) {
    const m = data.maps.fleet;
    if (m.aligned) return "+" + span(v * m.stepMS / 1000);
    return clock(m.startMS + v * m.stepMS, false);
  }
  // short fits a name into the margin.
  function short(name) {
    const runes = Array.from(name);
    return runes.length > 21 ? runes.slice(0, 20).join("") + "…" : name;
  }
  function decade(id, axis, v) {
    const m = data.maps[id];
    if (v % m.perDecade) return "";
    const e = axis === 0 ? m.xDecade + v / m.perDecade : m.yDecade + (m.rows - v) / m.perDecade;
    const text = num(Math.pow(10, e));
    return axis === 0 ? text : text + " ms";
  }
  const esc = (s) => String(s).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");
  function stackTip(points) {
    const rows = points.filter((p) => p.value > 0).map((p) => esc(data.course[+p.seriesName]) + ": " + Number(p.value));
    return esc(points[0].name) + "<br>" + (rows.length ? rows.join("<br>") : "no sick window");
  }

  // ---- cells
  // lut gives the colour byte of every code of a channel.
  function lut(code, steps) {
    const out = new Uint8Array(code.top);
    let b = 0;
    for (let c = 1; c < code.top; c++) {
      while (b < 255 && steps[b] <= c) b++;
      out[c] = b;
    }
    return out;
  }
  // codesOf adds up the steps from cell to cell, which stand in zigzag.
  function codesOf(high, low, mask) {
    const out = new Uint16Array(high.length);
    for (let i = 0, c = 0; i < out.length; i++) {
      const z = high[i] << 8 | low[i];
      c = (c + (z >> 1 ^ -(z & 1))) & mask;
      out[i] = c;
    }
    return out;
  }
  const carried = (id) => unpack.bytes($(id + "-bytes").textContent), sizeOf = (d) => 9 * d.cols * d.rows;
  function makeMap(id, given) {
    const d = data.maps[id], n = d.cols * d.rows, bytes = given || unpack.inflate(carried(id), sizeOf(d));
    const plane = (k) => bytes.subarray(k * n, (k + 1) * n);
    const m = Object.assign({}, d, {
      id, n, view: "all", safe: false, canvas: document.createElement("canvas"), version: 0, plot: $(id).closest(".plot"),
      value: [0, 1, 2].map((k) => ({ code: codesOf(plane(2 * k), plane(2 * k + 1), d.codes[k].top - 1), lut: lut(d.codes[k], d.steps[k]) })),
      state: plane(6), family: getComputedStyle(document.body).fontFamily, order: Array.from({ length: d.rows }, (_, i) => i),
    });
    if (id === "fleet") { m.klass = plane(7); m.severity = plane(8); } else { m.alpha = plane(7); }
    m.lossy = m.state.includes(3);
    m.canvas.width = d.cols; m.canvas.height = d.rows;
    return m;
  }
  const codeAt = (m, k, i) => m.value[k].code[i];
  function valueAt(m, k, i) {
    const c = codeAt(m, k, i), code = m.codes[k];
    if (c === 0) return NaN;
    return c === 1 ? 0 : code.low * Math.pow(10, (c - 2) / code.per_decade);
  }
  const severityAt = (m, i) => (m.severity[i] < 10 ? m.severity[i] / 10 : 1 + (m.severity[i] - 10) / 24);
  function channels(m, i, out) {
    const r = codeAt(m, 0, i), g = codeAt(m, 1, i), b = codeAt(m, 2, i);
    out[0] = m.value[0].lut[r];
    out[2] = m.value[2].lut[b];
    out[1] = g === 0 ? (r === 1 && b > 1 ? 0 : 127) : 255 - m.value[1].lut[g];
  }
  function ramp(stops) {
    return (t) => {
      const x = clamp(t, 0, 1) * (stops.length - 1), i = Math.min(Math.floor(x), stops.length - 2), f = x - i;
      return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * f));
    };
  }
  // Blue to yellow by lightness: told apart with any kind of colour vision.
  const [sickRamp, safeRamp] = data.ramps.map((r) => ramp(r.map(rgb)));

  // paintAll is paint for the view that a page opens with.
  function paintAll(m, px) {
    const [red, green, blue] = m.value, idle = rgb(css("--idle"));
    let o = 0;
    for (let row = 0; row < m.rows; row++) {
      for (let i = m.order[row] * m.cols, end = i + m.cols; i < end; i++, o += 4) {
        const state = m.state[i];
        if (state === 0) continue;
        if (state === 2) { px[o] = idle[0]; px[o + 1] = idle[1]; px[o + 2] = idle[2]; } else {
          const r = red.code[i], g = green.code[i], b = blue.code[i];
          px[o] = red.lut[r];
          px[o + 1] = g === 0 ? (r === 1 && b > 1 ? 0 : 127) : 255 - green.lut[g];
          px[o + 2] = blue.lut[b];
        }
        px[o + 3] = 255;
      }
    }
  }
  function paint(m) {
    const img = new ImageData(m.cols, m.rows), px = img.data, c = [0, 0, 0];
    if (m.view === "all" && !m.safe && !m.alpha) {
      paintAll(m, px);
      m.canvas.getContext("2d").putImageData(img, 0, 0);
      m.version++;
      return;
    }
    const idle = rgb(css("--idle")), quiet = rgb(css("--healthy"));
    const table = (fn) => Array.from({ length: 256 }, (_, i) => fn(i));
    const safe = table((v) => safeRamp(v / 255));
    const sick = table((v) => { const s = v < 10 ? v / 10 : 1 + (v - 10) / 24; return s < 1 ? quiet : (m.safe ? safeRamp : sickRamp)((s - 1) / 9); });
    const kinds = (m.classes || []).map((k) => rgb(k.colour));
    const one = { r: 0, g: 1, b: 2 }[m.view];
    for (let row = 0; row < m.rows; row++) {
      const from = m.order[row] * m.cols;
      for (let col = 0; col < m.cols; col++) {
        const i = from + col, o = 4 * (row * m.cols + col), state = m.state[i];
        if (state === 0) continue;
        let out = c;
        if (state === 2) out = idle;
        else if (m.view === "severity") out = sick[m.severity[i]];
        else if (m.view === "class") out = m.klass[i] ? kinds[m.klass[i] - 1] : quiet;
        else {
          channels(m, i, c);
          if (m.view === "change") {
            const normal = m.devices[m.order[row]].normal;
            for (let k = 0; k < 3; k++) c[k] = 128 + ((c[k] - normal[k]) >> 1);
          }
          if (one !== undefined) {
            if (m.safe) out = safe[c[one]];
            else for (let k = 0; k < 3; k++) if (k !== one) c[k] = 0;
          } else if (m.safe) {
            const yellow = 0.6 * c[1] + 0.4 * c[0], blue = 0.6 * c[1] + 0.4 * c[2];
            c[0] = c[1] = yellow; c[2] = blue;
          }
        }
        px[o] = out[0]; px[o + 1] = out[1]; px[o + 2] = out[2];
        px[o + 3] = m.alpha ? m.alpha[i] : 255;
      }
    }
    m.canvas.getContext("2d").putImageData(img, 0, 0);
    m.version++;
  }

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
          style: { text: short(m.devices[m.order[row]].name), x: box.x - 7, y, textAlign: "right", textVerticalAlign: "middle", align: "right", verticalAlign: "middle", fill, textFill: fill, font: font + "px " + m.family, textFont: font + "px " + m.family },
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
  return {
    add: (id, option) => queue.set(id, option), start, fill, item, timeLabel, decade, stackTip,
    // cell tells where a cell is on the page, for tests and tools.
    cell: (id, col, row) => {
      const box = $(id).getBoundingClientRect(), p = pixelOf(maps[id], col, row);
      return [box.left + scrollX + p[0], box.top + scrollY + p[1]];
    },
  };
})();
