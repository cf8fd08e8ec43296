// A JSON value as a tree that folds. What is folded is not built before it is opened.

const LONG_TEXT = 2000;
const MANY_ITEMS = 100;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const isNumber = (value) => JSON.isRawJSON?.(value) || typeof value === "number";
const isFolded = (value) => value !== null && typeof value === "object" && !isNumber(value);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

// Whether what is searched for is somewhere in a value, names included.
function holds(value, sought) {
  if (!sought) return false;
  if (isFolded(value)) {
    return Object.keys(value).some(
      (name) =>
        (!Array.isArray(value) && name.toLowerCase().includes(sought)) || holds(value[name], sought),
    );
  }
  return textOfLeaf(value).toLowerCase().includes(sought);
}

function textOfLeaf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function tree(value, sought) {
  const top = element("div", "tree");
  if (isFolded(value)) addMembers(top, value, 0, sought);
  else top.append(leaf(undefined, value, null, sought));
  return top;
}

function addMembers(into, value, depth, sought) {
  const isArray = Array.isArray(value);
  const names = Object.keys(value);
  let done = 0;
  const more = () => {
    // Up to what is searched for, if that is further behind.
    let end = Math.min(names.length, done + MANY_ITEMS);
    if (sought) {
      for (let at = end; at < Math.min(names.length, end + 5000); at++) {
        if (holds(value[names[at]], sought)) end = at + 1;
      }
    }
    for (; done < end; done++) {
      const name = names[done];
      into.append(member(isArray ? Number(name) : name, value[name], value, depth, sought));
    }
    if (done < names.length) {
      const button = element("button", "", `${count(names.length - done, "more")}`.replace("mores", "more"));
      button.type = "button";
      button.onclick = () => {
        button.remove();
        more();
      };
      into.append(button);
    }
  };
  more();
}

function member(name, value, parent, depth, sought) {
  if (!isFolded(value) || Object.keys(value).length === 0) {
    return leaf(name, value, parent, sought);
  }
  const folded = element("details");
  const summary = element("summary");
  putName(summary, name, sought);
  const length = Object.keys(value).length;
  const what = Array.isArray(value) ? `[${length}]` : `{${length}}`;
  summary.append(element("span", "count", what), " ", element("span", "peek", peek(value)));
  folded.append(summary);
  const build = () => {
    if (folded.childElementCount === 1) {
      const inside = element("div");
      folded.append(inside);
      addMembers(inside, value, depth + 1, sought);
    }
  };
  folded.addEventListener("toggle", () => folded.open && build());
  if (holds(value, sought) || (depth < 3 && length <= 40)) {
    build();
    folded.open = true;
  }
  return folded;
}

function leaf(name, value, parent, sought) {
  const line = element("div", "leaf");
  putName(line, name, sought);
  if (typeof value === "string") {
    addString(line, name, value, parent, sought);
  } else {
    const kind = isNumber(value) ? "number" : "literal";
    const shown = element("span", kind);
    putText(shown, JSON.stringify(value), sought);
    line.append(shown);
  }
  return line;
}

function addString(line, name, value, parent, sought) {
  const type = parent && (parent.mimeType || parent.mime_type);
  const isPicture =
    (name === "data" || name === "blob") && PICTURES.includes(type) && BASE64.test(value.slice(0, 4096));
  const shown = element("span", "string");
  const limit = isPicture ? 60 : LONG_TEXT;
  const place = sought ? value.toLowerCase().indexOf(sought) : -1;
  const end = value.length <= limit ? value.length : Math.max(limit, place >= 0 ? place + limit : 0);
  putText(shown, `"${value.slice(0, end)}${end < value.length ? "…" : '"'}`, sought);
  line.append(shown);
  if (end < value.length) {
    const button = element("button", "", `all ${count(value.length, "character")}`);
    button.type = "button";
    button.onclick = () => {
      putText(shown, `"${value}"`, sought);
      button.remove();
    };
    line.append(button);
  }
  const inside = isPicture ? undefined : jsonIn(value);
  if (inside !== undefined) {
    const button = element("button", "", "as JSON");
    button.type = "button";
    button.onclick = () => {
      const parsed = tree(inside, sought);
      button.replaceWith(parsed);
      shown.remove();
    };
    line.append(button);
  }
  if (isPicture) {
    const picture = element("img");
    picture.alt = `A picture of type ${type}`;
    picture.src = `data:${type};base64,${value}`;
    line.append(picture);
  }
}

// The object or array that a text is, as tools like to return.
function jsonIn(text) {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function putName(into, name, sought) {
  if (name === undefined) return;
  const shown = element("span", "name");
  putText(shown, String(name), sought);
  into.append(shown, ": ");
}

// The beginning of a folded value.
function peek(value) {
  const parts = [];
  for (const name of Object.keys(value).slice(0, 4)) {
    const inner = value[name];
    const short =
      isFolded(inner)
        ? Array.isArray(inner) ? "[…]" : "{…}"
        : JSON.stringify(inner).slice(0, 30);
    parts.push(Array.isArray(value) ? short : `${name}: ${short}`);
  }
  return visible(parts.join(", ")) + (Object.keys(value).length > 4 ? ", …" : "");
}
