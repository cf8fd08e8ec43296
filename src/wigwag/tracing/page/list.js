// A list of which only what is in sight is in the page, so that ten thousand rows are as quick as ten.

const ROW_HEIGHT = 40;
const PAUSE_HEIGHT = 26;
const BEYOND = 600;

class List {
  // `height` is that of a folded row; `draw` makes one, given its place and its neighbours'.
  constructor(frame, sheet, { height, draw, onSight }) {
    this.frame = frame;
    this.sheet = sheet;
    this.height = height;
    this.draw = draw;
    this.onSight = onSight;
    this.shown = [];
    this.open = new Set();
    this.measured = new Map();
    this.drawn = new Map();
    this.tops = new Float64Array(1);
    this.isDue = false;
    this.sizes = new ResizeObserver((entries) => this.measure(entries.map((each) => each.target)));
    frame.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(frame);
  }

  // Shows these rows, which stay where they are on the screen as far as possible.
  show(indexes) {
    const [row, offset] = this.anchor();
    this.shown = indexes;
    this.places = new Map(indexes.map((index, place) => [index, place]));
    this.clear();
    this.stack();
    if (row !== undefined) this.frame.scrollTop = this.tops[this.nearest(row)] - offset;
    this.render();
  }

  anchor() {
    if (!this.shown.length) return [undefined, 0];
    const place = this.placeAt(this.frame.scrollTop);
    return [this.shown[place], this.tops[place] - this.frame.scrollTop];
  }

  // The place of a row, or of the next one that is shown.
  nearest(index) {
    let low = 0;
    let high = this.shown.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle] < index) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low);
  }

  heightOf(place) {
    const index = this.shown[place];
    const folded = this.height(index, this.shown[place - 1]);
    return this.open.has(index) ? this.measured.get(index) || folded + 160 : folded;
  }

  stack() {
    const tops = new Float64Array(this.shown.length + 1);
    for (let place = 0; place < this.shown.length; place++) {
      tops[place + 1] = tops[place] + this.heightOf(place);
    }
    this.tops = tops;
    this.sheet.style.height = `${tops[this.shown.length] + 24}px`;
  }

  placeAt(top) {
    let low = 0;
    let high = Math.max(0, this.shown.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  later() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => this.render());
  }

  clear() {
    for (const row of this.drawn.values()) this.drop(row);
    this.drawn.clear();
  }

  drop(row) {
    this.sizes.unobserve(row);
    row.remove();
  }

  render() {
    this.isDue = false;
    const top = this.frame.scrollTop;
    const bottom = top + this.frame.clientHeight;
    const first = this.placeAt(top - BEYOND);
    const last = this.shown.length ? this.placeAt(bottom + BEYOND) : -1;
    for (const [index, row] of this.drawn) {
      const place = this.places.get(index);
      if (place < first || place > last) {
        if (row.contains(document.activeElement)) this.frame.focus({ preventScroll: true });
        this.drop(row);
        this.drawn.delete(index);
      }
    }
    let previous = null;
    for (let place = first; place <= last; place++) {
      const index = this.shown[place];
      let row = this.drawn.get(index);
      if (!row) {
        row = this.draw(index, this.shown[place - 1], this.open.has(index));
        row.setAttribute("aria-posinset", place + 1);
        row.setAttribute("aria-setsize", this.shown.length);
        this.drawn.set(index, row);
        // In the order in which they are read.
        if (previous) previous.after(row);
        else this.sheet.prepend(row);
        if (this.open.has(index)) this.sizes.observe(row);
      }
      row.style.transform = `translateY(${this.tops[place]}px)`;
      previous = row;
    }
    this.onSight(this.placeAt(top), this.shown.length ? this.placeAt(bottom) : 0);
  }

  // Takes the heights of open rows; what is in sight does not move for what is above it.
  measure(rows) {
    const [anchored, offset] = this.anchor();
    let isChanged = false;
    for (const row of rows) {
      const index = Number(row.dataset.index);
      const height = row.offsetHeight;
      if (!height || !this.open.has(index) || this.measured.get(index) === height) continue;
      this.measured.set(index, height);
      isChanged = true;
    }
    if (!isChanged) return;
    this.stack();
    const top = this.tops[this.places.get(anchored)] - offset;
    if (offset < 0 && Math.abs(top - this.frame.scrollTop) > 0.5) this.frame.scrollTop = top;
    this.render();
  }

  renderAll() {
    for (let place = 0; place < this.shown.length; place++) {
      const index = this.shown[place];
      let row = this.drawn.get(index);
      if (!row) {
        row = this.draw(index, this.shown[place - 1], this.open.has(index));
        this.drawn.set(index, row);
      }
      this.sheet.append(row);
    }
  }

  redraw(index) {
    const row = this.drawn.get(index);
    if (row) this.drop(row);
    this.drawn.delete(index);
  }

  setOpen(index, isOpen) {
    if (this.open.has(index) === isOpen) return;
    if (isOpen) this.open.add(index);
    else this.open.delete(index);
    this.measured.delete(index);
    this.redraw(index);
    this.stack();
    this.render();
    // At once, so that whoever wants to see it knows where it ends.
    const row = this.drawn.get(index);
    if (isOpen && row) this.measure([row]);
  }

  setAllOpen(isOpen) {
    const [anchored, offset] = this.anchor();
    this.open = new Set(isOpen ? this.shown : []);
    this.measured.clear();
    this.clear();
    this.stack();
    if (anchored !== undefined) {
      this.frame.scrollTop = this.tops[this.places.get(anchored)] - Math.max(offset, 0);
    }
    this.render();
  }

  redrawAll() {
    this.clear();
    this.render();
  }

  // Scrolls until a row is in sight, and no further than needed.
  reveal(index, isCentred) {
    const place = this.places.get(index);
    if (place === undefined) return false;
    const top = this.tops[place];
    const bottom = this.tops[place + 1];
    const height = this.frame.clientHeight;
    const isSeen = top >= this.frame.scrollTop && bottom <= this.frame.scrollTop + height;
    if (!isSeen) {
      const margin = isCentred ? Math.max(0, Math.min((height - (bottom - top)) / 2, height / 3)) : 8;
      if (isCentred || top < this.frame.scrollTop || bottom - top > height) this.frame.scrollTop = top - margin;
      else this.frame.scrollTop = bottom - height + margin;
    }
    this.render();
    return true;
  }
}
