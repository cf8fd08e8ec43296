// The page as a whole: what is chosen, searched for and left out, and what keys and buttons do.

const $ = (id) => document.getElementById(id);
const ABOUT = JSON.parse($("about").textContent);
const ROWS = $("rows").textContent.split("\n").filter(Boolean).map(readRow);
const BUSY = lanesOf(ROWS);
const SLOWEST = ROWS.reduce((most, row) => Math.max(most, row.took || 0), 0);
const STARTED = Date.parse(ABOUT.started);

// A number that JavaScript would round is kept as it was written.
function readRow(line) {
  const isExact = typeof JSON.rawJSON !== "function" || !/\d{16}/.test(line);
  return JSON.parse(line, isExact ? undefined : exactly);
}

function exactly(name, value, context) {
  if (typeof value !== "number" || !/^-?\d{16,}$/.test(context.source)) return value;
  return String(value) === context.source ? value : JSON.rawJSON(context.source);
}

const KINDS = [
  ["request", "Requests", (row) => ["request", "result", "error"].includes(row.kind)],
  ["notification", "Notifications", (row) => row.kind === "notification"],
  ["stderr", "Standard error", (row) => row.kind === "stderr"],
  ["junk", "Junk", (row) => row.kind === "junk" || row.kind === "invalid"],
  ["http", "HTTP", (row) => row.kind === "http"],
];
const FAILED = (row) => Boolean(row.bad || row.unanswered || row.kind === "junk" || row.kind === "invalid");

const search = new Search(ROWS);
const hidden = new Set();
let failuresOnly = false;
let chosen = -1;

function clock(at) {
  if (Number.isNaN(STARTED)) return `${at.toFixed(6)} s after the start`;
  const time = new Date(STARTED + at * 1000);
  return `${time.toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

const list = new List($("list"), $("sheet"), {
  height: (index, before) => ROW_HEIGHT + (pauseBefore(ROWS[before], ROWS[index]) ? PAUSE_HEIGHT : 0),
  draw: (index, before, isOpen) => {
    const row = drawRow(ROWS[index], {
      index, before, isOpen, rows: ROWS, busy: BUSY[index], sought: search.sought,
      slowest: SLOWEST, clock, jump,
    });
    dress(row, index);
    return row;
  },
  onSight: (first, last) => overview.see(list.shown[first] || 0, list.shown[last] || 0),
});
const overview = new Overview($("overview"), ROWS, BUSY, { onPick: (index) => jump(index) });

// Classes that change without a row being drawn anew.
function dress(row, index) {
  const pair = chosen >= 0 ? ROWS[chosen].pair : undefined;
  row.classList.toggle("chosen", index === chosen);
  row.setAttribute("aria-selected", String(index === chosen));
  row.classList.toggle("pair", index === pair);
  row.classList.toggle("found", search.found.length > 0 && isFound(index));
  row.classList.toggle("now", index === chosen && isFound(index));
}

function isFound(index) {
  let low = 0;
  let high = search.found.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (search.found[middle] === index) return true;
    if (search.found[middle] < index) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

function choose(index, isCentred) {
  chosen = index;
  list.reveal(index, isCentred);
  for (const [each, row] of list.drawn) dress(row, each);
  if (index >= 0) $("list").setAttribute("aria-activedescendant", `row-${index}`);
  tellFound();
}

// Goes to a row, which is shown even if it was left out.
function jump(index, isCentred = true) {
  if (index === undefined || index < 0) return;
  if (!list.places.has(index)) {
    if (!passes(ROWS[index])) clearFilters();
    else $("only").checked = false;
    sift();
  }
  choose(index, isCentred);
}

function toggle(index, isOpen = !list.open.has(index)) {
  list.setOpen(index, isOpen);
  choose(index);
}

// --- what is shown

function passes(row) {
  if (failuresOnly && !FAILED(row)) return false;
  const method = $("method").value;
  if (method && row.method !== method) return false;
  return !KINDS.some(([name, , is]) => hidden.has(name) && is(row));
}

function sift() {
  const onlyFound = $("only").checked && search.sought;
  const shown = [];
  ROWS.forEach((row, index) => {
    if (passes(row) && (!onlyFound || isFound(index))) shown.push(index);
  });
  list.show(shown);
  const nothing = $("nothing");
  nothing.hidden = shown.length > 0;
  nothing.textContent = ROWS.length ? "Nothing here is of that kind." : "Nothing was said.";
  tellFound();
}

function clearFilters() {
  hidden.clear();
  failuresOnly = false;
  $("method").value = "";
  $("only").checked = false;
  for (const button of $("kinds").children) {
    button.setAttribute("aria-pressed", String(button.dataset.kind !== "failed"));
  }
}

function addFilters() {
  const kinds = $("kinds");
  const add = (name, label, is, isPressed, react) => {
    const number = ROWS.filter(is).length;
    if (!number) return;
    const button = element("button", "", `${label} `);
    button.type = "button";
    button.dataset.kind = name;
    button.append(element("b", "", number.toLocaleString("en")));
    button.setAttribute("aria-pressed", String(isPressed));
    button.onclick = () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      react(now);
      sift();
    };
    kinds.append(button);
  };
  for (const [name, label, is] of KINDS) {
    add(name, label, is, true, (isOn) => (isOn ? hidden.delete(name) : hidden.add(name)));
  }
  add("failed", "Failures only", FAILED, false, (isOn) => (failuresOnly = isOn));
  const numbers = new Map();
  for (const row of ROWS) if (row.method) numbers.set(row.method, (numbers.get(row.method) || 0) + 1);
  const select = $("method");
  select.append(new Option("All methods", ""));
  for (const [method, number] of [...numbers].sort((one, other) => (one[0] < other[0] ? -1 : 1))) {
    select.append(new Option(`${visible(method)} (${number})`, method));
  }
  select.onchange = sift;
}

// --- searching

let typing;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(look, ROWS.length > 2000 ? 120 : 40);
});

function look() {
  clearTimeout(typing);
  const found = search.find($("search").value);
  overview.find(found);
  if ($("only").checked) sift();
  list.redrawAll();
  const sight = list.shown[list.placeAt($("list").scrollTop)] || 0;
  if (found.length) step(1, (chosen < 0 ? sight : chosen) - 1);
  tellFound();
}

// Goes on to the next row that has what is searched for, or else to the next that failed.
function step(direction, from = chosen) {
  move(search.found, direction, from);
}

function move(among, direction, from = chosen) {
  const shown = among.filter((index) => list.places.has(index));
  if (!shown.length) return;
  const next =
    direction > 0
      ? shown.find((index) => index > from)
      : shown.findLast((index) => index < (from < 0 ? Infinity : from));
  choose(next ?? (direction > 0 ? shown[0] : shown[shown.length - 1]), true);
}

function tellFound() {
  const { found, sought } = search;
  const hiddenOnes = found.filter((index) => !list.places.has(index)).length;
  const shown = found.length - hiddenOnes;
  const place = found.filter((index) => list.places.has(index)).indexOf(chosen) + 1;
  const said = place ? `${place} of ${shown}` : count(shown, "match", "matches");
  $("found").textContent = sought ? (found.length ? said : "no match") : "";
  $("found").title = hiddenOnes ? `${hiddenOnes} more are left out by the filters` : "";
  $("previous").disabled = $("next").disabled = !shown;
}

// --- head

function tellFacts() {
  $("title").textContent = visible(ABOUT.target);
  $("client").textContent = visible(ABOUT.client || "client");
  $("server").textContent = visible(ABOUT.server || "server");
  const facts = $("facts");
  const add = (text, className, go) => {
    const fact = element("span", className);
    const inside = go ? element("button") : fact;
    if (go) {
      inside.type = "button";
      inside.onclick = go;
      fact.append(inside);
    }
    inside.append(visible(text));
    facts.append(fact);
  };
  add(ABOUT.transport);
  for (const each of ABOUT.revisions) add(each);
  add(`recorded ${clock(0).slice(0, 19)} UTC`);
  const last = ROWS.length ? ROWS[ROWS.length - 1].at : 0;
  add(`${seconds(last)} long`);
  add(count(ABOUT.messages, "message"));
  const failed = indexesOf((row) => row.bad && row.kind !== "end");
  if (failed.length) add(count(failed.length, "failure"), "bad", () => move(failed, 1));
  const waiting = indexesOf((row) => row.unanswered);
  if (waiting.length) add(`${waiting.length} unanswered`, "odd", () => move(waiting, 1));
  const junk = indexesOf((row) => row.kind === "junk" || row.kind === "invalid");
  if (junk.length) add(`${junk.length} not a message`, "odd", () => move(junk, 1));
  if (SLOWEST) add(`slowest ${seconds(SLOWEST)}`, "", () => jump(ROWS.findIndex((row) => row.took === SLOWEST)));
  if (ABOUT.end) add(ABOUT.end, ABOUT.endedBadly ? "bad" : "");
}

function indexesOf(is) {
  return ROWS.flatMap((row, index) => (is(row) ? [index] : []));
}

const THEMES = ["auto", "light", "dark"];
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";
try {
  theme = localStorage.getItem("wigwag-theme") || "auto";
} catch {
  // Where pages of files may keep nothing, it begins as the system is.
}

function paintTheme() {
  const isDark = theme === "dark" || (theme === "auto" && systemIsDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  $("theme").textContent = `Theme: ${theme}`;
  overview.paint();
}

function nextTheme() {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  try {
    localStorage.setItem("wigwag-theme", theme);
  } catch {
    // As above.
  }
  paintTheme();
}

systemIsDark.addEventListener("change", paintTheme);

// --- keys

const failures = indexesOf(FAILED);
const KEYS = [
  ["/", "search", () => $("search").select()],
  ["n", "next match", () => step(1)],
  ["N", "previous match", () => step(-1)],
  ["j ↓", "next row", () => walk(1)],
  ["k ↑", "previous row", () => walk(-1)],
  ["Enter Space", "unfold or fold it", () => chosen >= 0 && toggle(chosen)],
  ["→", "unfold", () => chosen >= 0 && toggle(chosen, true)],
  ["←", "fold", () => chosen >= 0 && toggle(chosen, false)],
  ["p", "from a request to its answer, and back", () => chosen >= 0 && jump(ROWS[chosen].pair)],
  ["e", "next failure", () => move(failures, 1)],
  ["E", "unfold all", () => list.setAllOpen(true)],
  ["C", "fold all", () => list.setAllOpen(false)],
  ["g Home", "first row", () => list.shown.length && choose(list.shown[0])],
  ["G End", "last row", () => list.shown.length && choose(list.shown[list.shown.length - 1])],
  ["t", "light, dark, or as the system is", nextTheme],
  ["?", "these keys", () => help()],
];
const ARROWS = { "↓": "ArrowDown", "↑": "ArrowUp", "→": "ArrowRight", "←": "ArrowLeft", Space: " " };
const BY_KEY = new Map(
  KEYS.flatMap(([keys, , act]) => keys.split(" ").map((key) => [ARROWS[key] || key, act])),
);

function walk(direction) {
  const at = list.places.get(chosen);
  const sight = list.placeAt($("list").scrollTop);
  const place = at === undefined ? sight : at + direction;
  if (place >= 0 && place < list.shown.length) choose(list.shown[place]);
}

addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  const isTyping = target.matches("input[type=search], select");
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && target !== $("search")) {
    // The browser's own search sees only what is in sight; pressed twice, it is what comes.
    event.preventDefault();
    $("search").select();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (target === $("search") && ["Enter", "Escape", "ArrowDown"].includes(event.key)) {
    event.preventDefault();
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else leaveSearch(event.key === "Escape");
    return;
  }
  const isButton = target.matches("button, summary, input") && ["Enter", " "].includes(event.key);
  const act = isTyping || isButton ? undefined : BY_KEY.get(event.key);
  if (act) {
    event.preventDefault();
    act();
  }
});

function leaveSearch(isEscape) {
  if (isEscape && $("search").value) {
    $("search").value = "";
    look();
  } else {
    $("list").focus();
  }
}

function help() {
  const dialog = $("help");
  if (!dialog.childElementCount) {
    const keys = element("dl");
    for (const [names, what] of KEYS) {
      const term = element("dt");
      names.split(" ").forEach((name, at) => term.append(at ? " " : "", element("kbd", "", name)));
      keys.append(term, element("dd", "", what));
    }
    dialog.append(element("h2", "", "Keys"), keys);
    dialog.onclick = (event) => event.target === dialog && dialog.close();
  }
  dialog.showModal();
}

// --- the mouse

$("sheet").addEventListener("click", (event) => {
  const lane = event.target.closest(".lane, .at, .took");
  if (lane && String(getSelection()) === "") toggle(Number(lane.closest(".row").dataset.index));
});
$("next").onclick = () => step(1);
$("previous").onclick = () => step(-1);
$("only").onchange = sift;
$("unfold").onclick = () => list.setAllOpen(true);
$("fold").onclick = () => list.setAllOpen(false);
$("theme").onclick = nextTheme;
$("keys").onclick = help;
// On paper everything is in sight.
addEventListener("beforeprint", () => {
  if (list.shown.length <= 3000) list.renderAll();
});
addEventListener("afterprint", () => list.redrawAll());

addFilters();
tellFacts();
const scrollbar = $("list").offsetWidth - $("list").clientWidth;
document.documentElement.style.setProperty("--scrollbar", `${scrollbar}px`);
paintTheme();
sift();
$("list").focus({ preventScroll: true });
