// What the scripts of the page share: its data, and how numbers and times are
// written. The scripts stand in one block, one after the other (html.go).
// Texts from logs go in as textContent or into canvas labels, never as markup.
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
function short(name, most) {
  const runes = Array.from(name);
  return runes.length > most ? runes.slice(0, most - 1).join("") + "…" : name;
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
