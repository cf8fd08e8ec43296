// All of the conversation on one strip: each request as a bar from its question to its answer.

class Overview {
  constructor(canvas, rows, busy, { onPick }) {
    this.canvas = canvas;
    this.rows = rows;
    this.busy = busy;
    this.found = new Set();
    this.seen = [0, 0];
    // Long pauses are short here, and what is quick together still apart.
    this.xs = new Float64Array(rows.length);
    let x = 0;
    rows.forEach((row, index) => {
      if (index) x += 1 + Math.log1p(Math.max(0, row.at - rows[index - 1].at) * 1000) * 2;
      this.xs[index] = x;
    });
    this.width = x || 1;
    let isDown = false;
    const pick = (event) => {
      const box = canvas.getBoundingClientRect();
      onPick(this.rowAt((event.clientX - box.left) / box.width));
    };
    canvas.addEventListener("pointerdown", (event) => {
      isDown = true;
      canvas.setPointerCapture(event.pointerId);
      pick(event);
    });
    canvas.addEventListener("pointermove", (event) => isDown && pick(event));
    for (const type of ["pointerup", "pointercancel"]) canvas.addEventListener(type, () => (isDown = false));
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  rowAt(share) {
    const x = Math.min(1, Math.max(0, share)) * this.width;
    let low = 0;
    let high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.xs[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // What does not change is painted once; what is in sight is laid over it.
  paint() {
    const scale = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (!width) return;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.base = new OffscreenCanvas(this.canvas.width, this.canvas.height);
    const pen = this.base.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const at = (index) => 6 + (this.xs[index] / this.width) * (width - 12);
    const paints = {
      client: colour("client"), server: colour("server"), bad: colour("bad"),
      odd: colour("odd"), quiet: colour("strong-line"), found: colour("found-now"),
    };
    this.colours = paints;
    this.at = at;
    if (this.rows.length > width) this.paintDensity(pen, width, height);
    else this.paintBars(pen, height);
    this.lay();
  }

  paintBars(pen, height) {
    const { colours: paints, at } = this;
    const lanes = 4;
    const step = (height - 16) / lanes;
    const bars = new Set();
    this.rows.forEach((row, index) => {
      for (const each of this.busy[index] || []) bars.add(each);
      if (["stderr", "http", "closed", "end"].includes(row.kind)) return;
      if (row.pair !== undefined && !row.bad) return;
      const isMark = FAILED(row);
      pen.fillStyle = isMark ? (row.bad ? paints.bad : paints.odd) : paints.quiet;
      pen.fillRect(at(index) - (isMark ? 1 : 0.5), isMark ? 0 : height - 7, isMark ? 2 : 1, isMark ? height : 4);
    });
    pen.globalAlpha = 0.85;
    for (const each of bars) {
      const left = at(each.begins);
      pen.fillStyle = each.bad ? paints.bad : each.side === "server" ? paints.server : paints.client;
      const right = Math.max(at(each.ends), left + 1.5);
      pen.fillRect(left, 5 + (each.lane % lanes) * step, right - left, Math.max(2, step - 2));
    }
  }

  // Where there are more rows than room for them: how many there are, of whom, and what failed.
  paintDensity(pen, width, height) {
    const { colours: paints, at } = this;
    const columnWidth = 3;
    const columns = Array.from({ length: Math.ceil(width / columnWidth) }, () => ({ client: 0, server: 0, bad: 0, odd: 0 }));
    this.rows.forEach((row, index) => {
      const column = columns[Math.floor(at(index) / columnWidth)];
      if (FAILED(row)) column[row.bad ? "bad" : "odd"]++;
      else column[row.from || "server"]++;
    });
    const most = Math.max(...columns.map((each) => each.client + each.server + each.bad + each.odd));
    columns.forEach((column, place) => {
      let bottom = height - 3;
      for (const part of ["bad", "odd", "client", "server"]) {
        if (!column[part]) continue;
        // A single failure among hundreds should be seen.
        const isMark = part === "bad" || part === "odd";
        const tall = Math.max(isMark ? 4 : 0, (column[part] / most) * (height - 12));
        pen.globalAlpha = isMark ? 1 : 0.75;
        pen.fillStyle = paints[part];
        pen.fillRect(place * columnWidth, bottom - tall, columnWidth - 1, tall);
        bottom -= tall;
      }
    });
  }

  lay() {
    if (!this.base) return;
    const pen = this.canvas.getContext("2d");
    const { width, height } = this.canvas;
    const scale = window.devicePixelRatio || 1;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.drawImage(this.base, 0, 0);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = this.colours.found;
    for (const index of this.found) pen.fillRect(this.at(index) - 0.5, 0, 1.5, 5);
    if (!this.rows.length) return;
    const left = this.at(this.seen[0]) - 3;
    const right = Math.max(this.at(this.seen[1]) + 3, left + 8);
    pen.globalAlpha = 0.13;
    pen.fillStyle = this.colours.client;
    pen.fillRect(left, 0, right - left, height / scale);
    pen.globalAlpha = 0.9;
    pen.strokeStyle = this.colours.client;
    pen.strokeRect(left + 0.5, 0.5, right - left - 1, height / scale - 1);
    pen.globalAlpha = 1;
  }

  see(first, last) {
    if (this.seen[0] === first && this.seen[1] === last) return;
    this.seen = [first, last];
    this.lay();
  }

  find(indexes) {
    this.found = new Set(indexes);
    this.lay();
  }
}
