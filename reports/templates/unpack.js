"use strict";
// What the page carries packed: base64 of zlib streams. The browser's own
// DecompressionStream is the faster one, but older browsers lack it, and it
// answers too late for a page that is being printed.
var unpack = (function () {
  function bytes(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const text = atob(base64), out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out;
  }
  // table gives, for as many bits as the longest code has, the symbol that
  // they begin with (from bit 4 up) and the length of its code.
  function table(lengths) {
    const count = new Uint16Array(16), next = new Uint16Array(16);
    let top = 0;
    for (const n of lengths) if (n) { count[n]++; top = Math.max(top, n); }
    for (let n = 1, code = 0; n < 16; n++) { next[n] = code; code = (code + count[n]) << 1; }
    const out = new Uint16Array(1 << top).fill(300 << 4 | 1); // what no code begins is no symbol
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      const n = lengths[symbol];
      if (!n) continue;
      let code = next[n]++, reversed = 0;
      for (let i = 0; i < n; i++) { reversed = reversed << 1 | code & 1; code >>= 1; }
      for (let i = reversed; i < out.length; i += 1 << n) out[i] = symbol << 4 | n;
    }
    return out;
  }
  // RFC 1951, 3.2.5 to 3.2.7.
  const lengthBase = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const lengthBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const farBase = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
  const farBits = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  const fixed = new Uint8Array(288).fill(8);
  fixed.fill(9, 144, 256).fill(7, 256, 280);

  const early = () => new Error("the data end too early");
  const reader = (src) => ({ src, pos: 2, held: 0, have: 0 });
  function bits(r, n) {
    while (r.have < n) {
      if (r.pos >= r.src.length) throw early();
      r.held |= r.src[r.pos++] << r.have;
      r.have += 8;
    }
    const v = r.held & ((1 << n) - 1);
    r.held >>>= n; r.have -= n;
    return v;
  }
  function symbol(r, codes) {
    while (r.have < 15) { r.held |= r.src[r.pos++] << r.have; r.have += 8; } // beyond the end: zeros
    const e = codes[r.held & (codes.length - 1)], n = e & 15;
    r.held >>>= n; r.have -= n;
    return e >> 4;
  }
  // codesOf reads the codes of a block, of literals and lengths and of distances.
  function codesOf(r, kind) {
    if (kind === 1) return [table(fixed), table(new Uint8Array(30).fill(5))];
    if (kind !== 2) throw new Error("the data are damaged");
    const literals = bits(r, 5) + 257, distances = bits(r, 5) + 1, given = bits(r, 4) + 4, meta = new Uint8Array(19);
    for (let i = 0; i < given; i++) meta[order[i]] = bits(r, 3);
    const lengths = new Uint8Array(literals + distances), words = table(meta);
    for (let i = 0; i < lengths.length;) {
      const s = symbol(r, words);
      if (s < 16) { lengths[i++] = s; continue; }
      const again = s === 16 ? lengths[i - 1] : 0, n = s === 16 ? 3 + bits(r, 2) : s === 17 ? 3 + bits(r, 3) : 11 + bits(r, 7);
      lengths.fill(again, i, i += n);
    }
    return [table(lengths.subarray(0, literals)), table(lengths.subarray(literals))];
  }
  function larger(out, least) {
    const more = new Uint8Array(Math.max(2 * out.length, least));
    more.set(out);
    return more;
  }
  // inflate unpacks a zlib stream; size is a guess at what it holds.
  function inflate(src, size) {
    const r = reader(src);
    let out = new Uint8Array(size || 4 * src.length), at = 0;
    for (let last = 0; !last;) {
      last = bits(r, 1);
      const kind = bits(r, 2);
      if (kind === 0) {
        const from = r.pos - (r.have >> 3) + 4, n = src[from - 4] | src[from - 3] << 8;
        if (from + n > src.length) throw early();
        if (at + n > out.length) out = larger(out, at + n);
        out.set(src.subarray(from, from + n), at);
        at += n; r.pos = from + n; r.held = r.have = 0;
        continue;
      }
      const [codes, far] = codesOf(r, kind), mask = codes.length - 1;
      let pos = r.pos, held = r.held, have = r.have; // the loop that all time goes to
      for (;;) {
        while (have < 15) { held |= src[pos++] << have; have += 8; }
        const e = codes[held & mask], n = e & 15, s = e >> 4;
        held >>>= n; have -= n;
        if (s < 256) {
          if (at === out.length) {
            if (pos > src.length + 8) throw early();
            out = larger(out, at + 1);
          }
          out[at++] = s;
          continue;
        }
        if (s === 256) break;
        if (s > 285 || pos > src.length + 8) throw early();
        r.pos = pos; r.held = held; r.have = have;
        const length = lengthBase[s - 257] + bits(r, lengthBits[s - 257]), d = symbol(r, far);
        if (d > 29) throw early();
        const back = farBase[d] + bits(r, farBits[d]);
        pos = r.pos; held = r.held; have = r.have;
        if (at + length > out.length) out = larger(out, at + length);
        if (back === 1) out.fill(out[at - 1], at, at + length);
        else if (back >= length) out.copyWithin(at, at - back, at - back + length);
        else for (let i = 0; i < length; i++) out[at + i] = out[at + i - back];
        at += length;
      }
      r.pos = pos; r.held = held; r.have = have;
    }
    if (r.pos - (r.have >> 3) + 4 !== src.length) throw early(); // the checksum follows
    return out.subarray(0, at);
  }
  // quick gives what inflate gives, later, by the browser's own means if it has them.
  async function quick(src, size) {
    if (!window.DecompressionStream) return inflate(src, size);
    const pieces = new Blob([src]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    let out = new Uint8Array(size), at = 0;
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return out.subarray(0, at);
      if (at + value.length > out.length) out = larger(out, at + value.length);
      out.set(value, at);
      at += value.length;
    }
  }
  return { bytes, inflate, quick };
})();
