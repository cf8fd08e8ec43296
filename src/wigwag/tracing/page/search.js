// Finds rows by what is anywhere in them: names, values, headers.

class Search {
  constructor(rows) {
    this.rows = rows;
    this.texts = null;
    this.sought = "";
    this.found = [];
  }

  // Returns the rows that have it, in order; none where nothing is searched for.
  find(text) {
    this.sought = text.trim().toLowerCase();
    if (!this.sought) return (this.found = []);
    this.texts ||= this.rows.map(textOf);
    // In the JSON of a message, a quotation mark within a text is escaped.
    const escaped = JSON.stringify(this.sought).slice(1, -1);
    const isPlain = escaped === this.sought;
    this.found = [];
    this.texts.forEach((text, index) => {
      if (text.includes(this.sought) || (!isPlain && text.includes(escaped))) this.found.push(index);
    });
    return this.found;
  }
}

function textOf(row) {
  const raw = typeof row.raw === "string" ? row.raw : row.raw === undefined ? "" : JSON.stringify(row.raw);
  const head = row.http ? row.http.map((pair) => pair.join(": ")).join("\n") : "";
  return `${row.label} ${row.about || ""}\n${head}\n${raw}`.toLowerCase();
}
