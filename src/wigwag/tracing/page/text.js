// Text of a stranger, made visible: nothing in it can move, hide or reorder what is around it.

const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function visible(text) {
  return text.replace(UNSEEN, (one) => {
    const code = one.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Puts text into an element, with what is searched for marked in it.
function putText(into, text, sought) {
  const shown = visible(text);
  if (!sought) {
    into.textContent = shown;
    return;
  }
  const lower = shown.toLowerCase();
  let from = 0;
  let at = lower.length === shown.length ? lower.indexOf(sought) : -1;
  if (at < 0) {
    into.textContent = shown;
    return;
  }
  into.textContent = "";
  for (let marks = 0; at >= 0 && marks < 500; marks++) {
    into.append(shown.slice(from, at), element("mark", "", shown.slice(at, at + sought.length)));
    from = at + sought.length;
    at = lower.indexOf(sought, from);
  }
  into.append(shown.slice(from));
}

function seconds(value) {
  if (value < 0.0995) return `${(value * 1000).toPrecision(value < 0.00995 ? 2 : 3)} ms`;
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 99.5) return `${value.toFixed(value < 9.995 ? 2 : 1)} s`;
  const minutes = Math.floor(value / 60);
  const rest = Math.round(value % 60);
  return minutes < 60 ? `${minutes} min ${rest} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function count(number, one, many) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many || `${one}s`}`;
}
