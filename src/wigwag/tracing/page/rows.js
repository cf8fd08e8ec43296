// One row of the diagram: a message as an arrow, or a note about something else that happened.

const LANES = 6;
const LANE_WIDTH = 9;
const SLOW = 1;
const PAUSE = 2;

// For each row the requests in flight at it, each in a lane of its own beside the lifeline of who is
// asked. A lane is `{begins, ends}` of rows.
function lanesOf(rows) {
  const free = { client: [], server: [] };
  const taken = new Map();
  const busy = rows.map(() => null);
  const now = { client: [], server: [] };
  rows.forEach((row, at) => {
    let begins = null;
    if (row.kind === "request" && row.pair !== undefined) {
      const side = row.from === "client" ? "server" : "client";
      let lane = free[side].indexOf(true);
      if (lane < 0) lane = free[side].push(true) - 1;
      free[side][lane] = false;
      begins = { side, lane, begins: at, ends: row.pair, bad: rows[row.pair].bad };
      taken.set(row.pair, begins);
      now[side].push(begins);
    }
    busy[at] = now.client.length + now.server.length ? [...now.client, ...now.server] : null;
    const ends = taken.get(at);
    if (ends) {
      free[ends.side][ends.lane] = true;
      now[ends.side] = now[ends.side].filter((each) => each !== ends);
    }
  });
  return busy;
}

function pauseBefore(before, row) {
  if (!before) return 0;
  const passed = row.at - before.at;
  return passed >= PAUSE ? passed : 0;
}

function drawRow(row, context) {
  const { index, before, busy, sought, isOpen, slowest } = context;
  const drawn = element("div", `row ${row.kind} from-${row.from || "server"}`);
  drawn.id = `row-${index}`;
  drawn.dataset.index = index;
  drawn.setAttribute("role", "treeitem");
  drawn.setAttribute("aria-expanded", String(isOpen));
  drawn.setAttribute("aria-label", inWords(row));
  if (row.bad) drawn.classList.add("bad");
  if (isOpen) drawn.classList.add("open");

  const pause = pauseBefore(before === undefined ? null : context.rows[before], row);
  if (pause) {
    const gap = element("div", "pause");
    gap.append(element("span", "life left"), element("span", "life right"), `${seconds(pause)} later`);
    for (const bar of laneBars(busy, index, before)) {
      bar.element.classList.remove("begins", "ends");
      if (bar.began) gap.append(bar.element);
    }
    drawn.append(gap);
  }

  const at = element("div", "at", `+${row.at.toFixed(row.at < 100 ? 3 : 1)}`);
  at.title = context.clock(row.at);
  drawn.append(at);

  const lane = element("div", "lane");
  lane.append(element("span", "life left"), element("span", "life right"));
  for (const bar of laneBars(busy, index, before)) lane.append(bar.element);
  const arrow = element("span", "arrow");
  const widest = (side) =>
    Math.max(0, ...(busy || []).filter((each) => each.side === side && each.lane < LANES).map((each) => each.lane + 1));
  arrow.style.left = row.kind === "junk" && row.from === "server" ? "45%" : `${13 + widest("client") * LANE_WIDTH}px`;
  arrow.style.right = row.kind === "junk" && row.from === "client" ? "45%" : `${13 + widest("server") * LANE_WIDTH}px`;
  const says = element("div", "says");
  says.style.right = `${34 + widest("server") * LANE_WIDTH}px`;
  says.style.left = `${34 + widest("client") * LANE_WIDTH}px`;
  says.append(element("span", "fold-mark", "▶"));
  if (row.id !== undefined) says.append(element("span", "tag", `#${visible(row.id)}`));
  if (row.session) says.append(element("span", "tag", `session ${row.session}`));
  if (row.method && row.method !== row.label) says.append(element("span", "tag", visible(row.method)));
  const label = element("span", "label");
  putText(label, row.label, sought);
  says.append(label);
  if (row.about) {
    const about = element("span", "about");
    putText(about, row.about, sought);
    says.append(about);
  }
  if (row.status) says.append(element("span", "tag http", `HTTP ${row.status}`));
  lane.append(arrow, says);
  drawn.append(lane, tookOf(row, slowest));
  if (isOpen) {
    const through = laneBars(busy, index, before).filter((bar) => !bar.ends);
    for (const bar of through) bar.element.classList.remove("begins");
    drawn.append(drawBody(row, context, through.map((bar) => bar.element)));
  }
  return drawn;
}

function tookOf(row, slowest) {
  const took = element("div", "took");
  if (row.took !== undefined) {
    took.textContent = seconds(row.took);
    const bar = element("i");
    // By its logarithm: what is fast should be seen, too.
    const share = Math.log1p(row.took * 1000) / Math.log1p(Math.max(slowest, 0.001) * 1000);
    bar.style.width = `${Math.max(3, Math.round(share * 84))}px`;
    took.append(bar);
    if (row.took >= SLOW) took.classList.add("slow");
  } else if (row.unanswered) {
    took.classList.add("none");
    took.textContent = row.unanswered;
  }
  return took;
}

// The bars of the requests in flight at a row. `began` tells whether one is drawn above it already.
function laneBars(busy, index, before) {
  return (busy || [])
    .filter((each) => each.lane < LANES)
    .map((each) => {
      const bar = element("span", `busy ${each.side}`);
      if (each.begins === index) bar.classList.add("begins");
      if (each.ends === index) bar.classList.add("ends");
      if (each.bad) bar.classList.add("bad");
      bar.style[each.side === "server" ? "right" : "left"] = `${9 + each.lane * LANE_WIDTH}px`;
      const began = before !== undefined && each.begins <= before;
      return { element: bar, began, ends: each.ends === index };
    });
}

function drawBody(row, { index, sought, clock, jump }, bars) {
  const body = element("div", "body");
  body.append(element("span", "life left"), element("span", "life right"));
  for (const bar of bars) body.append(bar);
  const card = element("div", "card");
  const head = element("div", "card-head");
  head.append(element("span", "", clock(row.at)));
  if (row.took !== undefined) head.append(element("span", "", `answered after ${seconds(row.took)}`));
  if (row.pair !== undefined) {
    const is = row.pair > index ? "answer" : "request";
    const button = element("button", "", row.pair > index ? "Its answer ↓" : "Its request ↑");
    button.type = "button";
    button.title = `Go to the ${is} (p)`;
    button.onclick = () => jump(row.pair, true);
    head.append(button);
  }
  if (row.note) head.append(element("span", "", visible(row.note)));
  head.append(element("span", "space"));
  if (row.raw !== undefined) {
    const copy = element("button", "", "Copy");
    copy.type = "button";
    copy.onclick = async () => {
      const text = typeof row.raw === "string" ? row.raw : JSON.stringify(row.raw, null, 2);
      copy.textContent = (await copied(text)) ? "Copied" : "Not allowed";
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    };
    head.append(copy);
  }
  card.append(head);
  if (row.http) {
    const list = element("dl", "http-head");
    for (const [name, value] of row.http) {
      const shown = element("dd");
      putText(shown, value, sought);
      const term = element("dt");
      putText(term, name, sought);
      list.append(term, shown);
    }
    card.append(list);
  }
  if (row.raw !== undefined) card.append(tree(row.raw, sought));
  body.append(card);
  return body;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function inWords(row) {
  const who = row.from ? `${row.from === "client" ? "client to server" : "server to client"}, ` : "";
  const what = row.kind === row.label ? row.kind : `${row.kind}, ${row.label}`;
  const failed = row.bad ? ", failed" : "";
  const took = row.took === undefined ? "" : `, after ${seconds(row.took)}`;
  return visible(`${who}${what}${failed}${took}, at ${row.at.toFixed(3)} seconds`);
}
