// What every part of the page uses: elements, texts, times, copying.
const $ = (id) => document.getElementById(id);
const make = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text; // text of the evidence is never markup
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const about = JSON.parse($("about")?.textContent ?? "null"); // null on a page that has no timeline
const NO_TIME = 1262304000000; // the begin of a transaction without a time that can be believed
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const many = (value) => value.toLocaleString("en-US");

// Names differ at their end: a long one is cut in its middle.
const shortened = (text, most) => {
  if (text.length <= most) return text;
  const tail = Math.floor((most * 2) / 3);
  return `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}`;
};

// Times are written as in the rest of the page, in the zone that the report was made for.
const aheadAt = (time) => {
  let ahead = about?.zone[0]?.[1] ?? 0;
  for (const [since, minutes] of about?.zone ?? []) if (time >= since) ahead = minutes;
  return ahead;
};
const isUtc = () => (about?.zone ?? []).every(([, minutes]) => minutes === 0);
const timeText = (time) => {
  const ahead = aheadAt(time), text = new Date(time + ahead * 60000).toISOString();
  if (isUtc()) return text;
  const two = (value) => String(Math.floor(value)).padStart(2, "0");
  return `${text.slice(0, -1)}${ahead < 0 ? "-" : "+"}${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}`;
};

// Copy a text; where the clipboard is not given to pages of files, by a selection.
async function copy(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const field = make("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    done = document.execCommand("copy");
    field.remove();
  }
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  button.textContent = done ? "Copied" : "Not allowed: select it";
  setTimeout(() => (button.textContent = before), 1500);
}
