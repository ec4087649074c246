// The maps' cells: what they hold, and how they become pixels.
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
