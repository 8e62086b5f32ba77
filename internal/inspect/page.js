"use strict";
// The page shows one function at a time. Each stage is a column of rows of equal height, in chunks: elements are made only of chunks
// that are near to be seen, so the length of a function does not matter.
//
// What is linked has a name, an entity: p12 a place in the module, v3 a value, b4 a block of CLIF, B5 a block of VCode, r6 a virtual
// register, i7 an instruction of VCode, e8 an edit, l9 a location. A row has entities of its own, and tokens, parts of its text that are one each.

const ROW = 20, CHUNK = 100, KEEP = 4000;
const $ = id => document.getElementById(id);
const el = (tag, cls, text) => {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  return e;
};

let fn, columns = [], grid = null;
let pinned = null, shown = null; // selections
let hidden = new Set(), chosen = new Set(); // stages that the reader has turned off and on

// tokens of a row's text: [from, to, entity]. Behind a point or a colon, v128 is a type.
const lexers = {
  clif: [/(?<![.:] ?)\bv(\d+)\b|\bblock(\d+)\b/g, m => m[1] !== undefined ? "v" + m[1] : "b" + m[2]],
  vcode: [/%(\d+)|\bblock(\d+)\b/g, m => m[1] !== undefined ? "r" + m[1] : "B" + m[2]],
};
lexers.alloc = lexers.vcode;
lexers.asm = [/\bblock(\d+)\b/g, m => "B" + m[1]];

function tokensOf(kind, row) {
  const out = [], lexer = lexers[kind];
  if (!lexer) return out;
  if (kind === "asm" && row.k !== 1) return out;
  for (const m of row.t.matchAll(lexer[0])) out.push([m.index, m.index + m[0].length, lexer[1](m)]);
  return out;
}

// entitiesOf are a row's own.
function entitiesOf(kind, row) {
  const out = [];
  if (row.p) out.push("p" + row.p);
  if (row.i) out.push("i" + row.i);
  if (row.e) out.push("e" + row.e);
  if (row.b) out.push((kind === "clif" ? "b" : "B") + (row.b - 1));
  return out;
}

// prepare derives from a function what is looked up later.
function prepare(f) {
  f.valueReg = new Map();
  f.vregs = f.vregs.map(vs => vs || []);
  f.vregs.forEach((vs, r) => vs.forEach(v => f.valueReg.set(v, r)));
  f.defPlace = new Map(); // of values and registers: places
  f.origs = new Map(); // block of CLIF: blocks of VCode
  f.heat = f.blocks.map(b => heatOf(b));
  f.blocks.forEach((b, n) => { if (b.o) push(f.origs, b.o - 1, n); });
  f.outer = new Map(); // offset of an operator: places
  f.places.forEach(([, offset], n) => push(f.outer, offset, n + 1));
  f.placeHeat = new Map();
  f.opsOf = new Map(); // instruction: operands with allocations
  f.moved = new Map();
  let last = null;
  for (const s of f.stages) {
    if (s.pooled) {
      s.rows = s.pooled.map(n => f.pool[n]);
      const key = r => r.t + " " + r.p, had = last && new Set(last.rows.map(key));
      s.changed = had && s.rows.map(r => !had.has(key(r)));
      last = s;
    }
    if (s.kind === "alloc") for (const r of s.rows || []) {
      if (r.i) f.opsOf.set(r.i, r.o || []);
      if (r.e) f.moved.set(r.e, r.o || []);
      if (r.i && r.p) for (const o of r.o || []) if (o[2] >= 2) f.defPlace.set("r" + o[0], r.p);
    }
    if (s.kind === "vcode") for (const r of s.rows || []) if (r.p && r.b) {
      f.placeHeat.set(r.p, Math.max(f.placeHeat.get(r.p) || 0, f.heat[r.b - 1]));
    }
    s.rows = s.rows || [];
  }
  f.stages.forEach(s => { if (s.pooled) for (const r of s.rows) {
    const m = /^(v\d+(?:, v\d+)*) = /.exec(r.t);
    if (m && r.p) for (const v of m[1].split(", ")) f.defPlace.set(v, r.p);
  } });
}

const push = (map, key, x) => { const l = map.get(key); if (l) l.push(x); else map.set(key, [x]); };

// heatOf is from 0, cold, to 4.
function heatOf(b) {
  if (b.c) return 0;
  if (b.f < 0.3) return 1;
  if (b.f < 2) return 2;
  return b.f < 30 ? 3 : 4;
}

function heatOfRow(kind, row) {
  if (kind === "wasm") return row.p ? f0(fn.placeHeat.get(row.p)) : 0;
  if (!row.b) return 0;
  if (kind === "clif") return Math.max(0, ...(fn.origs.get(row.b - 1) || []).map(b => fn.heat[b]));
  return fn.heat[row.b - 1];
}
const f0 = x => x === undefined ? 0 : x;

const times = x => x >= 1 ? "×" + (x < 10 ? +x.toFixed(1) : Math.round(x)) : "×" + x.toPrecision(1);

function blockNote(kind, row) {
  const of = kind === "clif" ? fn.origs.get(row.b - 1) || [] : [row.b - 1];
  const notes = [];
  if (!of.length && kind === "clif") return "";
  const b = fn.blocks[of[of.length - 1]];
  if (kind !== "clif" && b.o) notes.push("block" + (b.o - 1) + " of CLIF");
  if (kind !== "clif" && !b.o) notes.push("new");
  if (of.some(n => fn.blocks[n].h)) notes.push("loop " + b.d);
  else if (b.d) notes.push("in loop " + b.d);
  notes.push(b.c ? "cold" : times(b.f));
  if (row.n) notes.push(row.n);
  return notes.join(", ");
}

// noteOf is what stands at the right.
function noteOf(kind, r) {
  if (r.k === 1) return blockNote(kind, r);
  if (kind === "clif" || kind === "vcode") return r.p ? fn.places[r.p - 1][0] : "";
  return r.n || "";
}

// A column shows a stage.
class Column {
  constructor(stage, n) {
    this.stage = stage; this.n = n; this.kind = stage.kind; this.rows = stage.rows;
    this.current = -1; this.token = -1;
    this.hits = new Map(); // row: class
    this.index = new Map(); // entity: rows
    this.rows.forEach((r, i) => {
      for (const e of entitiesOf(this.kind, r)) push(this.index, e, i);
      for (const t of tokensOf(this.kind, r)) push(this.index, "t" + t[2], i);
      for (const o of r.o || []) { push(this.index, "tr" + o[0], i); if (o[1] >= 0) push(this.index, "tl" + o[1], i); }
    });
    this.build();
  }
  build() {
    this.root = el("section", "column " + this.kind);
    this.root.setAttribute("aria-label", this.stage.title);
    const head = el("div", "head");
    const insts = this.rows.filter(r => !r.k).length;
    head.append(el("h2", "", this.stage.title), el("span", "count", count(this.kind, insts)));
    this.body = el("div", "body");
    this.body.tabIndex = 0;
    this.body.setAttribute("role", "listbox");
    this.body.setAttribute("aria-label", this.stage.title);
    this.chunks = [];
    const keep = this.rows.length <= KEEP;
    const near = new IntersectionObserver(entries => {
      for (const e of entries) this.fill(+e.target.dataset.n, e.isIntersecting || keep);
    }, {root: this.body, rootMargin: "1000px 0px"});
    for (let i = 0; i < this.rows.length; i += CHUNK) {
      const c = el("div", "chunk");
      c.dataset.n = i / CHUNK;
      c.style.height = Math.min(CHUNK, this.rows.length - i) * ROW + "px";
      this.chunks.push(c);
      this.body.append(c);
      near.observe(c);
    }
    this.fill(0, true);
    this.root.append(head, this.body);
    this.root.style.setProperty("--wanted", this.width() + "ch");
    this.body.addEventListener("pointermove", e => this.point(e));
    this.body.addEventListener("pointerleave", () => show(pinned));
    this.body.addEventListener("click", e => {
      const at = this.at(e);
      if (!at) return;
      this.current = at.row; this.token = at.token;
      pin(this.select(at.row, at.entity), this);
    });
    this.body.addEventListener("keydown", e => this.key(e));
    this.body.addEventListener("focus", () => { if (this.current < 0 && this.rows.length) this.move(this.firstSeen()); });
    this.body.addEventListener("blur", () => this.mark(false));
  }
  // width is how many characters most rows have.
  width() {
    const lengths = this.rows.map(r => {
      let n = 10 + (r.k === 1 || this.kind === "clif" ? 0 : 6) + r.t.length + 1.2 * (r.d || 0);
      if (r.m) n += 8;
      for (const o of r.o || []) n += 3 + String(o[0]).length + (r.e || o[1] < 0 ? 0 : 2 + fn.locations[o[1]].n.length);
      return n + noteOf(this.kind, r).length;
    }).sort((a, b) => a - b);
    return Math.max(24, Math.min(80, lengths[Math.floor(lengths.length * 0.97)] || 0));
  }
  firstSeen() { return Math.min(this.rows.length - 1, Math.ceil(this.body.scrollTop / ROW)); }
  // fill makes or removes the elements of chunk n.
  fill(n, wanted) {
    const c = this.chunks[n];
    if (!c || wanted === !!c.firstChild) return;
    if (!wanted) { c.replaceChildren(); return; }
    const rows = [];
    for (let i = n * CHUNK; i < Math.min(this.rows.length, (n + 1) * CHUNK); i++) rows.push(this.row(i));
    c.append(...rows);
  }
  row(i) {
    const r = this.rows[i], kind = this.kind;
    const e = el("div", "row k" + (r.k || 0));
    e.id = "c" + this.n + "r" + i;
    e.dataset.i = i;
    e.setAttribute("role", "option");
    e.append(el("span", "heat h" + heatOfRow(kind, r)));
    e.append(el("span", "label", r.l || ""));
    if (r.m) e.append(el("span", "tag " + r.m, r.m));
    const text = el("span", "text");
    if (r.d) text.style.paddingLeft = Math.min(r.d, 24) * 1.2 + "em";
    let at = 0, n = 0;
    for (const [from, to, entity] of tokensOf(kind, r)) {
      if (from > at) text.append(r.t.slice(at, from));
      text.append(token(r.t.slice(from, to), entity, n++));
      at = to;
    }
    text.append(r.t.slice(at));
    e.append(text);
    if (r.o && r.o.length) {
      const ops = el("span", "operands");
      for (const o of r.o) {
        const arrow = r.e ? "" : o[2] >= 2 ? "→" : "";
        ops.append(el("span", "sep", arrow), token("%" + o[0], "r" + o[0], n++));
        if (!r.e) {
          if (o[1] >= 0) {
            const l = token(fn.locations[o[1]].n, "l" + o[1], n++);
            l.classList.add("loc");
            l.style.setProperty("--hue", hue(o[1]));
            l.classList.add(fn.locations[o[1]].k);
            ops.append(l);
          } else ops.append(el("span", "sep", "left out"));
        }
      }
      e.append(ops);
    }
    const note = noteOf(kind, r);
    if (note) e.append(el("span", "note", note));
    if (this.stage.changed && this.stage.changed[i]) e.classList.add("changed");
    this.paint(e, i);
    return e;
  }
  paint(e, i) {
    const cls = this.hits.get(i);
    e.classList.toggle("on", cls === "on");
    e.classList.toggle("near", cls === "near");
    e.setAttribute("aria-selected", cls === "on");
    for (const t of e.querySelectorAll(".tok")) t.classList.toggle("hit", !!shown && shown.tokens.has(t.dataset.e));
  }
  elementOf(i) {
    const c = this.chunks[Math.floor(i / CHUNK)];
    return c && c.children[i % CHUNK];
  }
  // light shows the selection s.
  light(s) {
    const old = this.hits;
    this.hits = new Map();
    const touched = new Set(old.keys());
    if (this.oldTokens) for (const i of this.oldTokens) touched.add(i);
    this.oldTokens = [];
    if (s) {
      for (const e of s.near) for (const i of this.index.get(e) || []) this.hits.set(i, "near");
      for (const e of s.rows) for (const i of this.index.get(e) || []) this.hits.set(i, "on");
      if (s.row && s.row[0] === this.n) this.hits.set(s.row[1], "on");
      for (const e of s.tokens) for (const i of this.index.get("t" + e) || []) this.oldTokens.push(i);
    }
    for (const i of this.hits.keys()) touched.add(i);
    for (const i of this.oldTokens) touched.add(i);
    for (const i of touched) { const e = this.elementOf(i); if (e) this.paint(e, i); }
  }
  // target is the row that shows most of the selection: its first strong row, or the first with a token.
  target() {
    let best = Infinity;
    for (const [i, c] of this.hits) if (c === "on" && i < best) best = i;
    if (best === Infinity) for (const i of this.oldTokens || []) if (i < best) best = i;
    if (best === Infinity) for (const i of this.hits.keys()) if (i < best) best = i;
    return best;
  }
  reveal(i, gently) {
    if (!(i < Infinity)) return;
    this.fill(Math.floor(i / CHUNK), true);
    const b = this.body, top = i * ROW;
    if (gently && top >= b.scrollTop && top + ROW <= b.scrollTop + b.clientHeight) return;
    if (!gently && top >= b.scrollTop + ROW && top + 3 * ROW <= b.scrollTop + b.clientHeight) return;
    b.scrollTop = gently ? (top < b.scrollTop ? top : top + ROW - b.clientHeight) : Math.max(0, top - b.clientHeight / 3);
  }
  at(e) {
    const row = e.target.closest && e.target.closest(".row");
    if (!row) return null;
    const tok = e.target.closest(".tok");
    return {row: +row.dataset.i, entity: tok && tok.dataset.e, token: tok ? +tok.dataset.n : -1};
  }
  point(e) {
    const at = this.at(e);
    if (!at) return;
    const key = this.n + ":" + at.row + ":" + at.entity;
    if (key === this.pointed && shown) return;
    this.pointed = key;
    show(this.select(at.row, at.entity));
  }
  // select makes the selection of a row, or of an entity in it.
  select(i, entity) {
    if (entity) return ofToken(entity);
    return ofRow(this, i);
  }
  key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || !this.rows.length) return;
    const page = Math.max(1, Math.floor(this.body.clientHeight / ROW) - 1), last = this.rows.length - 1;
    const to = {ArrowDown: this.current + 1, ArrowUp: this.current - 1, PageDown: this.current + page, PageUp: this.current - page, Home: 0, End: last}[e.key];
    if (to !== undefined) this.move(Math.max(0, Math.min(last, to)));
    else if (e.key === "ArrowRight" || e.key === "ArrowLeft") this.step(e.key === "ArrowRight" ? 1 : -1);
    else if (e.key === "Enter" || e.key === " ") { if (this.current >= 0) pin(this.select(this.current, this.entity()), this); }
    else return;
    e.preventDefault();
  }
  move(i) {
    this.mark(false);
    this.current = i; this.token = -1;
    this.reveal(i, true);
    this.fill(Math.floor(i / CHUNK), true);
    this.mark(true);
    show(this.select(i));
  }
  tokens() { const e = this.elementOf(this.current); return e ? [...e.querySelectorAll(".tok")] : []; }
  entity() { const t = this.tokens()[this.token]; return t && t.dataset.e; }
  step(d) {
    const n = this.tokens().length;
    this.mark(false);
    this.token = Math.max(-1, Math.min(n - 1, this.token + d));
    this.mark(true);
    show(this.select(this.current, this.entity()));
  }
  mark(on) {
    const e = this.elementOf(this.current);
    if (!e) return;
    e.classList.toggle("current", on);
    this.tokens().forEach((t, n) => t.classList.toggle("current", on && n === this.token));
    if (on) this.body.setAttribute("aria-activedescendant", e.id);
  }
}

function count(kind, n) {
  const what = kind === "wasm" ? "operator" : "instruction";
  return n + " " + what + (n === 1 ? "" : "s") + (kind === "asm" ? ", " + fn.bytes + " bytes" : "");
}

function token(text, entity, n) {
  const t = el("span", "tok", text);
  t.dataset.e = entity;
  t.dataset.n = n;
  return t;
}

// hue gives locations colours that differ much from their neighbours'.
function hue(loc) {
  const l = fn.locations[loc];
  return ((l.k === "float" ? 20 : 205) + l.i * 137.5) % 360;
}

// A selection has rows' entities that are meant, those that are near to it, and tokens.
function selection(say) { return {rows: new Set(), near: new Set(), tokens: new Set(), say, row: null}; }

function addValue(s, v) {
  s.tokens.add("v" + v);
  const r = fn.valueReg.get(v);
  if (r !== undefined) s.tokens.add("r" + r);
}
function addReg(s, r) {
  s.tokens.add("r" + r);
  for (const v of fn.vregs[r] || []) s.tokens.add("v" + v);
}
function addClifBlock(s, b) {
  s.tokens.add("b" + b); s.near.add("b" + b);
  for (const n of fn.origs.get(b) || []) { s.tokens.add("B" + n); s.near.add("B" + n); }
}
function addBlock(s, n) {
  s.tokens.add("B" + n); s.near.add("B" + n);
  const o = fn.blocks[n] && fn.blocks[n].o;
  if (o) addClifBlock(s, o - 1);
}

const namesOf = r => "%" + r + (fn.vregs[r] && fn.vregs[r].length ? " (" + fn.vregs[r].slice(0, 6).map(v => "v" + v).join(", ") + ")" : "");

// ofRow selects what a row is, where it comes from and what it defines.
function ofRow(col, i) {
  const r = col.rows[i], s = selection(), say = [];
  s.name = r.k === 1 ? (col.kind === "clif" ? "b" : "B") + (r.b - 1) : r.e ? "e" + r.e : r.i ? "i" + r.i : r.p ? "p" + r.p : "";
  s.row = [col.n, i];
  if (r.k === 1) {
    if (col.kind === "clif") addClifBlock(s, r.b - 1); else addBlock(s, r.b - 1);
    s.say = r.t + ": " + blockNote(col.kind, r);
    return s;
  }
  say.push(r.t);
  if (r.p) {
    const [text, offset] = fn.places[r.p - 1];
    say.push(text);
    if (col.kind === "wasm") {
      for (const p of fn.outer.get(offset)) s.rows.add("p" + p);
      if (!columns.some(c => c !== col && [...s.rows].some(e => c.index.has(e)))) say.push("nothing that the other columns show");
    }
    else { s.rows.add("p" + r.p); for (const p of fn.outer.get(offset)) if (fn.places[p - 1][0] === "@" + offset.toString(16).padStart(4, "0")) s.near.add("p" + p); }
  }
  if (r.i) {
    s.rows.add("i" + r.i); s.rows.delete("p" + r.p);
    if (r.p) s.near.add("p" + r.p);
    for (const o of fn.opsOf.get(r.i) || []) if (o[2] >= 2) addReg(s, o[0]);
    const where = (fn.opsOf.get(r.i) || []).map(o => namesOf(o[0]) + (o[1] >= 0 ? " in " + fn.locations[o[1]].n : ""));
    if (where.length) say.push(where.join(", "));
  }
  if (r.e) {
    s.rows.add("e" + r.e);
    for (const o of fn.moved.get(r.e) || []) addReg(s, o[0]);
  }
  if (col.kind === "clif") {
    const m = /^(v\d+(?:, v\d+)*) = /.exec(r.t);
    if (m) for (const v of m[1].split(", ")) { addValue(s, +v.slice(1)); const g = fn.valueReg.get(+v.slice(1)); say.push(g === undefined ? v + " has no register" : v + " is %" + g); }
  }
  if (r.x) say.push(r.x.replace(/../g, "$& ").trim());
  if (r.n) say.push(r.n);
  s.say = say.join("  ·  ");
  return s;
}

// ofToken selects an entity in a text.
function ofToken(entity) {
  const s = selection(), n = +entity.slice(1);
  s.name = entity;
  switch (entity[0]) {
  case "v": {
    addValue(s, n);
    const r = fn.valueReg.get(n);
    s.say = "v" + n + (r === undefined ? " has no register: nothing uses it, or its users compute it" : " is " + namesOf(r) + whereabouts(r));
    break;
  }
  case "r": addReg(s, n); s.say = namesOf(n) + whereabouts(n); break;
  case "b": addClifBlock(s, n); s.say = "block" + n + " of CLIF"; break;
  case "B": addBlock(s, n); s.say = "block" + n; break;
  case "l": s.tokens.add(entity); s.say = fn.locations[n].n; break;
  }
  for (const t of s.tokens) {
    if (fn.defPlace.has(t)) s.near.add("p" + fn.defPlace.get(t));
    if (t[0] === "r") for (const k of instsOf(+t.slice(1))) s.near.add("i" + k);
  }
  return s;
}

// instsOf are the instructions with register r as an operand.
function instsOf(r) {
  if (!fn.regInsts) {
    fn.regInsts = new Map();
    for (const [i, ops] of fn.opsOf) for (const o of ops) push(fn.regInsts, o[0], i);
  }
  return fn.regInsts.get(r) || [];
}

function whereabouts(r) {
  const places = [...new Set(fn.segments.filter(g => g[0] === r).map(g => fn.locations[g[1]].n))];
  return places.length ? ": in " + places.join(", then ") : "";
}

function show(s) {
  shown = s;
  for (const c of columns) c.light(s);
  if (grid) grid.draw();
  $("status").textContent = s ? s.say || "" : hint();
}
const hint = () => fn.dropped ? "The object has no code of this function, as nothing refers to it." : "Point at a row or a name; click to keep it.";

function pin(s, from) {
  pinned = s;
  if (s.name) history.replaceState(null, "", "#f" + fn.index + ":" + s.name);
  show(s);
  for (const c of columns) if (c !== from) c.reveal(c.target());
  if (grid) grid.revealTokens(s);
}

// The grid of live ranges stands beside the allocated code and scrolls with it.
class Grid {
  constructor(column) {
    this.column = column;
    this.mode = "vreg";
    this.segs = fn.segments;
    this.cell = 40;
    this.order();
    this.buckets = [];
    this.segs.forEach((g, n) => {
      for (let b = g[2] >> 8; b <= g[3] >> 8; b++) (this.buckets[b] = this.buckets[b] || []).push(n);
    });
    this.build();
  }
  // order gives each virtual register, or location, a place across.
  order() {
    this.x = new Map();
    const seen = new Map();
    if (this.mode === "vreg") for (const g of this.segs) { if (!seen.has(g[0])) seen.set(g[0], seen.size); }
    else {
      const rank = {int: 0, float: 1, slot: 2, arg: 3};
      const used = [...new Set(this.segs.map(g => g[1]))];
      used.sort((a, b) => rank[fn.locations[a].k] - rank[fn.locations[b].k] || fn.locations[a].i - fn.locations[b].i);
      used.forEach((l, n) => seen.set(l, n));
    }
    this.x = seen;
    this.names = [...seen.keys()];
  }
  key(g) { return this.x.get(this.mode === "vreg" ? g[0] : g[1]); }
  build() {
    this.root = el("section", "column grid");
    this.root.setAttribute("aria-label", "Live ranges");
    const head = el("div", "head");
    const mode = el("button", "mode", "by register");
    mode.type = "button";
    mode.title = "virtual registers across, or registers and slots";
    mode.addEventListener("click", () => {
      this.mode = this.mode === "vreg" ? "place" : "vreg";
      mode.textContent = this.mode === "vreg" ? "by register" : "by value";
      this.order(); this.size(); this.draw();
    });
    this.strip = el("canvas", "names");
    head.append(el("h2", "", "Live ranges"), mode, this.strip);
    this.body = el("div", "body");
    this.body.tabIndex = 0;
    this.body.setAttribute("role", "img");
    this.body.setAttribute("aria-label", "Live ranges: " + (fn.omitted ? "left out, " + fn.omitted : this.x.size + " virtual registers; the operands of the allocated code say the same in text"));
    this.canvas = el("canvas");
    this.space = el("div", "space");
    this.space.append(this.canvas);
    this.body.append(this.space);
    if (fn.omitted) this.body.replaceChildren(el("p", "omitted", fn.omitted));
    this.root.append(head, this.body);
    this.body.addEventListener("scroll", () => { this.column.body.scrollTop = this.body.scrollTop; this.draw(); });
    this.column.body.addEventListener("scroll", () => { this.body.scrollTop = this.column.body.scrollTop; });
    this.body.addEventListener("pointermove", e => { const g = this.hit(e); show(g ? this.select(g) : pinned); });
    this.body.addEventListener("pointerleave", () => show(pinned));
    this.body.addEventListener("click", e => { const g = this.hit(e); if (g) pin(this.select(g), this.column); });
    new ResizeObserver(() => this.draw()).observe(this.body);
    this.size();
  }
  size() {
    this.space.style.width = this.names.length * this.cell + "px";
    this.space.style.height = this.column.rows.length * ROW + "px";
    this.root.style.setProperty("--wanted", Math.min(16, Math.max(5, this.names.length)) * this.cell + 20 + "px");
  }
  select(g) {
    const s = ofToken("r" + g[0]);
    s.say = namesOf(g[0]) + " in " + fn.locations[g[1]].n;
    return s;
  }
  hit(e) {
    const box = this.body.getBoundingClientRect();
    const x = Math.floor((e.clientX - box.left + this.body.scrollLeft) / this.cell);
    const pos = Math.floor((e.clientY - box.top + this.body.scrollTop) / (ROW / 2));
    let found = null;
    for (const n of this.buckets[pos >> 8] || []) {
      const g = this.segs[n];
      if (this.key(g) === x && g[2] <= pos && pos <= g[3] && (!found || fn.locations[g[1]].k !== "slot")) found = g;
    }
    return found;
  }
  revealTokens(s) {
    for (const g of this.segs) if (s && s.tokens.has("r" + g[0])) {
      const x = this.key(g) * this.cell, b = this.body;
      if (x < b.scrollLeft || x + this.cell > b.scrollLeft + b.clientWidth) b.scrollLeft = Math.max(0, x - b.clientWidth / 3);
      return;
    }
  }
  draw() {
    const b = this.body, w = b.clientWidth, h = b.clientHeight, scale = window.devicePixelRatio || 1;
    if (!w || !h || fn.omitted) return;
    const c = this.canvas;
    if (c.width !== Math.round(w * scale) || c.height !== Math.round(h * scale)) {
      c.width = Math.round(w * scale); c.height = Math.round(h * scale);
      c.style.width = w + "px"; c.style.height = h + "px";
    }
    const g = c.getContext("2d"), style = getComputedStyle(b), v = n => style.getPropertyValue(n).trim();
    const colours = {fill: v("--cell-l"), text: v("--cell-text"), slot: v("--slot"), slotText: v("--slot-text"), line: v("--line"), accent: v("--accent"), bg: v("--bg"), on: v("--on")};
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, w, h);
    const left = b.scrollLeft, top = b.scrollTop, half = ROW / 2;
    this.label(w, scale, left, v);
    this.lines(g, colours, w, h, left, top);
    g.font = "10px " + v("--mono"); g.textBaseline = "middle"; g.textAlign = "center";
    const from = Math.floor(top / half), to = Math.ceil((top + h) / half), done = new Set();
    const lit = [];
    for (let k = from >> 8; k <= to >> 8; k++) for (const n of this.buckets[k] || []) {
      const s = this.segs[n];
      if (done.has(n) || s[3] < from || s[2] > to) continue;
      done.add(n);
      const x = this.key(s) * this.cell - left;
      if (x > w || x + this.cell < 0) continue;
      this.segment(g, colours, s, x, top);
      if (shown && shown.tokens.has("r" + s[0])) lit.push([s, x]);
    }
    g.strokeStyle = colours.accent; g.lineWidth = 2;
    for (const [s, x] of lit) {
      const [x0, wide] = this.span(s, x);
      g.strokeRect(x0, s[2] * half - top + 1, wide, (s[3] - s[2] + 1) * half - 2);
    }
  }
  // label writes what is across into the strip on top.
  label(w, scale, left, v) {
    const c = this.strip, h = 16;
    c.width = Math.round(w * scale); c.height = h * scale;
    c.style.width = w + "px"; c.style.height = h + "px";
    const g = c.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.font = "10.5px " + v("--mono"); g.textBaseline = "middle"; g.textAlign = "center";
    for (let n = Math.floor(left / this.cell); n < this.names.length && n * this.cell < left + w; n++) {
      const key = this.names[n], lit = shown && this.mode === "vreg" && shown.tokens.has("r" + key);
      g.fillStyle = v(lit ? "--accent" : "--dim");
      g.fillText(this.mode === "vreg" ? "%" + key : fn.locations[key].n, n * this.cell - left + (this.mode === "vreg" ? 12 : this.cell / 2 - 1), h / 2);
    }
  }
  lines(g, colours, w, h, left, top) {
    const rows = this.column.rows;
    for (let i = Math.floor(top / ROW); i <= (top + h) / ROW && i < rows.length; i++) {
      if (this.column.hits.get(i)) { g.fillStyle = colours.on; g.fillRect(0, i * ROW - top, w, ROW); }
      if (rows[i].k === 1 && i) { g.fillStyle = colours.line; g.fillRect(0, i * ROW - top, w, 1); }
    }
    g.fillStyle = colours.line;
    for (let x = this.cell - left % this.cell; x < w; x += this.cell) g.fillRect(Math.round(x) - 1, 0, 1, h);
  }
  // span is where a segment is drawn: slots keep to the right part, as a register may hold the value, too.
  span(s, x) {
    const l = fn.locations[s[1]], mem = l.k === "slot" || l.k === "arg";
    return this.mode === "vreg" && mem ? [x + this.cell - 14, 11] : [x + 2, this.cell - (this.mode === "vreg" ? 17 : 5)];
  }
  segment(g, colours, s, x, top) {
    const half = ROW / 2, y = s[2] * half - top, tall = (s[3] - s[2] + 1) * half;
    const l = fn.locations[s[1]], mem = l.k === "slot" || l.k === "arg";
    const [x0, wide] = this.span(s, x);
    g.fillStyle = mem ? colours.slot : "hsl(" + hue(s[1]) + " 55% " + colours.fill + ")";
    if (l.k === "arg") { g.strokeStyle = colours.slot; g.lineWidth = 1.5; g.strokeRect(x0 + 1, y + 1.5, wide - 2, tall - 3); }
    else g.fillRect(x0, y + 1, wide, tall - 1.5);
    g.fillStyle = mem ? colours.slotText : colours.text;
    const text = this.mode === "vreg" ? l.n : "%" + s[0];
    if (wide > 12) {
      if (tall >= 10) g.fillText(text, x0 + wide / 2, Math.max(y + Math.min(half, tall / 2), Math.min(8, y + tall - 6)), wide);
    } else if (tall >= 40) {
      g.save(); g.translate(x0 + wide / 2, Math.max(y, 0) + 4); g.rotate(Math.PI / 2); g.textAlign = "left"; g.fillText(text, 0, 0); g.restore();
    }
  }
}

// open shows the function of the data with the given id.
function open(id) {
  fn = JSON.parse($(id).textContent);
  prepare(fn);
  pinned = shown = null;
  build();
}

function visible(s) { return chosen.has(s.id) || !!s.main && !hidden.has(s.id); }

function build() {
  columns = []; grid = null;
  const main = $("columns"), bar = $("stages");
  main.replaceChildren(); bar.replaceChildren();
  const toggle = (id, title, on) => {
    const b = el("button", "stage", title);
    b.type = "button";
    b.setAttribute("aria-pressed", on);
    b.addEventListener("click", () => {
      if (on) { chosen.delete(id); hidden.add(id); } else { hidden.delete(id); chosen.add(id); }
      build();
      [...bar.children].find(x => x.textContent === title).focus();
    });
    bar.append(b);
  };
  fn.stages.forEach((s, n) => {
    toggle(s.id, s.title, visible(s));
    const g = {id: "grid", main: true};
    if (s.kind === "alloc") toggle("grid", "Live ranges", visible(g));
    if (!visible(s)) return;
    const c = new Column(s, n);
    columns.push(c);
    main.append(c.root);
    if (s.kind === "alloc" && visible(g)) { grid = new Grid(c); main.append(grid.root); }
  });
  show(pinned);
}

window.addEventListener("error", e => { $("status").textContent = "This page has a fault: " + e.message + ", line " + e.lineno; });
document.addEventListener("keydown", e => { if (e.key === "Escape") { pinned = null; show(null); } });
$("help-button").addEventListener("click", () => {
  const on = $("help").hidden;
  $("help").hidden = !on;
  $("help-button").setAttribute("aria-expanded", on);
});
$("function").addEventListener("change", () => { location.hash = $("function").value; });
// fromHash shows the function that the address names, and what was kept there: #f12:r3.
function fromHash() {
  const [id, name] = location.hash.slice(1).split(":");
  if ([...$("function").options].some(o => !o.disabled && o.value === id)) $("function").value = id;
  if (!$("function").value) return;
  open($("function").value);
  if (/^[vrbBlpie]\d+$/.test(name || "")) keep(name);
}
// keep pins an entity.
function keep(name) {
  if ("pie".includes(name[0])) {
    for (const c of columns) if (c.index.has(name) && (name[0] !== "p" || c.kind !== "wasm")) { pin(ofRow(c, c.index.get(name)[0])); return; }
  } else pin(ofToken(name));
}
window.addEventListener("hashchange", fromHash);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => grid && grid.draw());
fromHash();
