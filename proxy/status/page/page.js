"use strict";

const every = 1000;       // milliseconds between two questions for the facts
const locksEvery = 3000;  // and for the locks, which cost the backends a search
const patience = 5000;    // after so long, an answer is not waited for any more

const $ = (id) => document.getElementById(id);

// make builds an element. Text is set as text, never as markup.
function make(tag, attributes, ...children) {
  const svg = ["svg", "rect", "line", "path", "text", "title"].includes(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

function number(n, digits) {
  return n.toLocaleString("en", { minimumFractionDigits: digits || 0, maximumFractionDigits: digits || 0 });
}

function span(seconds) {
  if (seconds < 90) return `${Math.floor(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

async function ask(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(patience), cache: "no-store" });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || `status ${answer.status}`);
  return body;
}

// The charts. Each is as wide as its place, in units of one slot.

function chart(slots, top, draw) {
  const s = make("svg", { class: "chart", viewBox: `0 0 ${slots.length} 100`, preserveAspectRatio: "none", role: "img" });
  s.append(make("line", { class: "grid", x1: 0, x2: slots.length, y1: 0.5, y2: 0.5, "vector-effect": "non-scaling-stroke" }));
  s.append(make("line", { class: "grid", x1: 0, x2: slots.length, y1: 99.5, y2: 99.5, "vector-effect": "non-scaling-stroke" }));
  draw(s);
  const box = make("div", {}, s);
  box.append(make("div", { class: "muted small" }, `top ${number(top, top < 10 ? 1 : 0)}; the last ${span(slots.length * facts.slot_seconds)}`));
  return box;
}

// nice is a round number that is no less than n.
function nice(n) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(n, 0.1)));
  return [1, 2, 5, 10].map((f) => f * unit).find((f) => f >= n) || 10 * unit;
}

function rateChart(slots) {
  const per = facts.slot_seconds;
  const top = nice(Math.max(...slots.map((s) => (s.won + s.refused + s.failed) / per)));
  return chart(slots, top, (svg) => slots.forEach((s, i) => {
    let y = 100;
    for (const kind of ["won", "refused", "failed"]) {
      const height = 100 * s[kind] / per / top;
      y -= height;
      if (height > 0) svg.append(make("rect", { class: kind, x: i + 0.1, y, width: 0.8, height }));
    }
  }));
}

function latencyChart(slots) {
  const top = nice(Math.max(...slots.map((s) => s.longest_ms)));
  return chart(slots, top, (svg) => {
    for (const kind of ["longest", "mean"]) {
      let path = "", pen = "M";
      slots.forEach((s, i) => {
        if (s.won + s.refused + s.failed === 0) { pen = "M"; return; }
        const y = 100 - 98 * s[kind + "_ms"] / top;
        // A slot on its own is a short line, since a point would not be seen.
        path += pen === "M" ? `M${i + 0.1} ${y}L${i + 0.9} ${y}` : `L${i + 0.5} ${y}`;
        pen = "L";
      });
      if (path) svg.append(make("path", { class: kind, d: path }));
    }
  });
}

function strip(slots, kind, say) {
  const svg = make("svg", { class: "strip", viewBox: `0 0 ${slots.length} 10`, preserveAspectRatio: "none", role: "img" });
  slots.forEach((s, i) => {
    const r = make("rect", { class: kind(s), x: i + 0.06, y: 0, width: 0.88, height: 10 });
    r.append(make("title", {}, say(s)));
    svg.append(r);
  });
  return svg;
}

function votersStrip(f) {
  const kind = (s) => s.voters < 0 ? "none" : s.voters < f.quorum ? "short" : s.voters === f.quorum && f.quorum < f.backends.length ? "exact" : "enough";
  return strip(f.history, kind, (s) => s.voters < 0 ? "not known" : `${s.voters} could vote`);
}

// The parts of the page.

let facts = null, before = null, searched = null;

function tile(value, label, alarm) {
  return make("div", { class: alarm ? "tile alarm" : "tile" }, make("b", {}, value), make("span", {}, label));
}

function sum(operations, name, ...outcomes) {
  return outcomes.reduce((n, o) => n + ((operations[name] || {})[o] || 0), 0);
}

function perSecond(count) {
  if (!before) return "–";
  const seconds = (new Date(facts.at) - new Date(before.at)) / 1000;
  return seconds > 0 ? number(Math.max(0, count(facts) - count(before)) / seconds) : "–";
}

function showTiles(f) {
  const limits = Object.entries(f.limits_hit).sort();
  const tiles = [
    tile(perSecond((x) => x.commands), "commands per second"),
    tile(perSecond((x) => sum(x.operations, "acquire", "acquired")), "locks acquired per second"),
    tile(number(100 * f.success_rate, f.success_rate < 1 ? 2 : 0) + " %", "decided by a quorum, 5 min", f.success_rate < 0.99),
    tile(number(f.clients), `clients of ${number(f.clients_max)}`),
    tile(number(f.stale_fencing_tokens), "stale numbers refused"),
    tile(number(limits.reduce((n, [, hits]) => n + hits, 0)), "limits hit" + (limits.length ? ": " + limits.map(([name]) => name).join(", ") : "")),
    tile(number(f.log_lines_dropped), "log lines lost", f.log_lines_dropped > 0),
  ];
  if (f.replication) {
    const r = f.replication;
    tiles.push(tile(r.known ? number(r.lag_ms) + " ms" : "–", `replication lag, ${r.replicas} replica${r.replicas === 1 ? "" : "s"}`, r.lag_ms > 100));
  }
  $("tiles").replaceChildren(...tiles);
}

function cell(label, value, more) {
  return make("span", { "data-label": label, ...(more || {}) }, value);
}

function showBackends(f) {
  const head = make("div", { class: "row head" }, ...["Backend", "State", "Round trip", "Drift", "Role", "Restarts", "Owed", "Waiting", "Last five minutes"].map((h) => make("span", {}, h)));
  const rows = f.backends.map((b, i) => {
    const row = make("div", { class: "row" },
      make("span", { class: "name" }, b.name),
      make("span", { class: "state" }, make("span", { class: "badge " + b.state }, b.state)),
      cell("round trip", b.round_trip_ms ? number(b.round_trip_ms, 2) + " ms" : "–"),
      cell("drift", b.drift_ms === null ? "–" : number(b.drift_ms, Math.abs(b.drift_ms) < 10 ? 1 : 0) + " ms"),
      cell("role", (b.role || "–") + (b.version ? " " + b.version : "")),
      cell("restarts", number(b.restarts) + (b.refills ? `, ${number(b.refills)} refills` : "")),
      cell("owed", number(b.debts) + (b.debts_lost ? `, ${number(b.debts_lost)} lost` : "")),
      cell("waiting", number(b.waiting)),
      make("span", { class: "wide" }, strip(f.history, (s) => s.states[i] || "none", (s) => s.states[i] || "not known")));
    // A voter has a reason if it votes about locks alone, or needs a look.
    const why = b.state === "voter" ? b.reason : `for ${span(b.state_seconds)}${b.reason ? ": " + b.reason : ""}`;
    if (why) row.append(make("span", { class: "reason" }, why));
    if (b.warnings) row.append(make("span", { class: "reason warning" }, "needs a look: " + b.warnings.join(", ")));
    return row;
  });
  $("backends").replaceChildren(head, ...rows);
}

function showOutcomes(f) {
  $("outcomes").replaceChildren(...Object.keys(f.operations).sort().filter((o) => Object.keys(f.operations[o]).length).map((o) =>
    make("div", {}, make("h3", {}, o), ...Object.entries(f.operations[o]).sort().map(([how, n]) =>
      make("div", {}, make("span", { class: "muted" }, how.replaceAll("_", " ")), make("span", {}, number(n)))))));
  if (!$("outcomes").childElementCount) $("outcomes").textContent = "Nothing yet.";
}

function show(f) {
  before = facts;
  facts = f;
  $("about").textContent = `${f.version} · group ${f.group} · ${f.topology} · up ${span(f.uptime_seconds)}`;
  $("votes").textContent = f.votes;
  const spare = f.voters - f.quorum;
  $("verdict").className = "card " + (spare < 0 ? "bad" : spare === 0 && f.backends.length > 1 ? "warn" : "");
  $("advice").textContent = spare < 0 ? "Clients get errors until a majority can vote." :
    spare === 0 && f.backends.length > 1 ? "One more backend lost, and clients get errors." : "";
  $("voters").replaceChildren(votersStrip(f));
  showTiles(f);
  $("rate").replaceChildren(rateChart(f.history));
  $("latency").replaceChildren(latencyChart(f.history));
  showBackends(f);
  showOutcomes(f);
  document.title = (spare < 0 ? "✗ " : spare === 0 && f.backends.length > 1 ? "! " : "") + "redlock-proxy";
}

function left(ms) {
  if (ms < 0) return "no expiry";
  return ms < 10000 ? number(ms / 1000, 1) + " s" : span(ms / 1000);
}

function showLocks(found) {
  const keys = found.keys || [];
  $("lockcount").textContent = `${number(keys.length)}${found.more ? " shown, there are more" : ""}`;
  const head = make("div", { class: "row head" }, ...["Key", "State", "Still valid", "Token", "Backends"].map((h) => make("span", {}, h)));
  const rows = keys.map((k) => make("div", { class: "row" },
    make("span", { class: "name" }, k.name),
    make("span", { class: "state" }, make("span", { class: "badge " + k.answer }, k.answer)),
    cell("valid", k.answer === "held" ? left(k.validity_ms) : "–"),
    cell("token", make("code", {}, k.token || "–")),
    cell("on", `${k.holders} of ${k.held.length}`)));
  $("locks").replaceChildren(...(rows.length ? [head, ...rows] : [make("p", { class: "muted" }, "None.")]));
}

// The loops. Nothing is asked while nobody looks.

async function loop(step, pause) {
  for (;;) {
    if (document.visibilityState === "visible") await step();
    await new Promise((done) => setTimeout(done, pause));
  }
}

async function refresh() {
  try {
    show(await ask("status.json"));
    $("stale").hidden = true;
  } catch {
    $("stale").hidden = false;
  }
}

async function refreshLocks() {
  const part = $("search").value;
  try {
    const found = await ask("locks.json?part=" + encodeURIComponent(part));
    if (part !== $("search").value) return; // it has been typed on meanwhile
    showLocks(found);
    $("lockerror").hidden = true;
  } catch (e) {
    $("lockerror").textContent = "The locks can't be listed: " + e.message;
    $("lockerror").hidden = false;
  }
}

$("search").addEventListener("input", () => {
  clearTimeout(searched);
  searched = setTimeout(refreshLocks, 250);
});
loop(refresh, every);
loop(refreshLocks, locksEvery);
