// Tables of up to 100,000 rows: sorted, filtered, their columns chosen, copied; only the rows that are seen are elements.
const TIME = /^\d{4}-\d\d-\d\dT/;
const LINE = 26, FEW = 300; // px of a row where they are many

function grid(caption, heads, numbers, columns, onRow) {
  const total = columns[0]?.length ?? 0, virtual = total > FEW;
  const hidden = new Set(), fixed = new Set(["topic", "partition"]);
  let shown = Uint32Array.from({ length: total }, (_, row) => row), sorted = null, texts = null, printing = false;
  const box = make("div", undefined, { class: virtual ? "grid virtual" : "grid" });
  const bar = make("div", undefined, { class: "bar" });
  const filter = make("input", undefined, { type: "search", placeholder: "Filter", "aria-label": `Filter: ${caption}` });
  const button = make("button", "Copy as TSV", { type: "button" });
  const status = make("output", "");
  const chooser = make("details", undefined, { class: "chooser" });
  chooser.append(make("summary", "Columns"));
  heads.forEach((head, number) => {
    const label = make("label"), check = make("input", undefined, { type: "checkbox" });
    check.checked = true;
    check.disabled = fixed.has(head); // where something is, is always there
    check.addEventListener("change", () => {
      if (check.checked) hidden.delete(number);
      else hidden.add(number);
      render();
    });
    label.append(check, ` ${head}`);
    chooser.append(label);
  });
  bar.append(filter, button, ...(heads.length > 3 ? [chooser] : []), status);
  const scroller = make("div", undefined, { class: "wide", tabindex: "0", role: "region", "aria-label": caption });
  const table = make("table", undefined, { "aria-rowcount": total + 1 });
  const head = make("tr"), body = make("tbody"), top = make("thead");
  top.append(head);
  table.append(make("caption", caption), top, body);
  scroller.append(table);
  box.append(bar, scroller);

  const seen = () => heads.map((_, number) => number).filter((number) => !hidden.has(number));
  const tsv = (text) => text.replace(/[\t\r\n]/g, " ");
  function compare(column, isNumber) {
    const values = columns[column];
    if (!isNumber) return (a, b) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0);
    const read = Float64Array.from(values, (text) => (text === "-" ? NaN : Number(text.replaceAll(",", ""))));
    return (a, b) => {
      if (Number.isNaN(read[a]) || Number.isNaN(read[b])) return Number.isNaN(read[a]) - Number.isNaN(read[b]);
      return read[a] - read[b];
    };
  }
  function choose() {
    const wanted = filter.value.toLowerCase();
    let rows = Array.from({ length: total }, (_, row) => row);
    if (wanted) {
      texts ??= rows.map((row) => columns.map((column) => column[row]).join("\t").toLowerCase());
      rows = rows.filter((row) => texts[row].includes(wanted));
    }
    if (sorted) {
      const order = compare(sorted.column, numbers.has(sorted.column));
      rows.sort((a, b) => (sorted.down ? order(b, a) : order(a, b)) || a - b);
    }
    shown = Uint32Array.from(rows);
    status.textContent = wanted ? `${many(rows.length)} of ${many(total)}` : "";
    scroller.scrollTop = 0;
    render();
  }
  function heading() {
    head.replaceChildren();
    for (const number of seen()) {
      const cell = make("th", undefined, { scope: "col" }), sort = make("button", heads[number], { type: "button" });
      if (numbers.has(number)) cell.classList.add("number");
      if (sorted?.column === number) {
        cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
        sort.textContent += sorted.down ? " ▾" : " ▴";
      }
      sort.addEventListener("click", () => {
        sorted = sorted?.column === number && !sorted.down ? { column: number, down: true } : { column: number, down: false };
        choose();
        [...head.children][seen().indexOf(number)]?.querySelector("button").focus();
      });
      cell.append(sort);
      head.append(cell);
    }
  }
  function rowsShown() {
    if (!virtual) return [0, shown.length];
    if (printing) return [0, Math.min(shown.length, 500)];
    const first = clamp(Math.floor(scroller.scrollTop / LINE) - 10, 0, shown.length);
    return [first, Math.min(first + Math.ceil((scroller.clientHeight || 560) / LINE) + 30, shown.length)];
  }
  function space(count) {
    const row = make("tr", undefined, { "aria-hidden": "true", class: "space" }), cell = make("td", undefined, { colspan: Math.max(seen().length, 1) });
    cell.style.height = `${count * LINE}px`;
    row.append(cell);
    return row;
  }
  function fill() {
    const [first, last] = rowsShown(), chosen = seen();
    const rows = [];
    if (virtual && !printing && first) rows.push(space(first));
    for (let at = first; at < last; at++) {
      const row = make("tr", undefined, { "aria-rowindex": at + 2 });
      for (const number of chosen) {
        const cell = make("td", columns[number][shown[at]]);
        if (numbers.has(number)) cell.classList.add("number");
        else if (TIME.test(cell.textContent)) cell.classList.add("time");
        row.append(cell);
      }
      if (onRow) row.addEventListener("click", () => onRow(shown[at]));
      rows.push(row);
    }
    if (virtual && !printing && last < shown.length) rows.push(space(shown.length - last));
    body.replaceChildren(...rows);
  }
  // Of very many rows the columns are as wide as their longest text, lest they move while rows are scrolled.
  const longest = virtual ? columns.map((column, number) => column.reduce((most, text) => Math.max(most, text.length), heads[number].length + 3)) : [];
  function render() {
    table.querySelector("colgroup")?.remove();
    if (virtual) {
      const group = make("colgroup");
      for (const number of seen()) {
        const column = make("col");
        column.style.width = `${Math.min(longest[number], 60) * 0.62 + 1.4}em`;
        group.append(column);
      }
      table.querySelector("caption").after(group);
    }
    heading();
    fill();
  }
  let waits = false;
  scroller.addEventListener("scroll", () => {
    if (!virtual || waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; fill(); });
  });
  filter.addEventListener("input", choose);
  button.addEventListener("click", () => {
    const chosen = seen(), lines = [chosen.map((number) => heads[number])];
    for (const row of shown) lines.push(chosen.map((number) => tsv(columns[number][row])));
    copy(lines.map((line) => line.join("\t")).join("\n") + "\n", button);
  });
  addEventListener("beforeprint", () => { printing = true; fill(); });
  addEventListener("afterprint", () => { printing = false; fill(); });
  render();
  return box;
}

// A table of the page becomes one that can be sorted when it is first unfolded.
async function upgrade(folded) {
  if (folded.dataset.ready) return;
  folded.dataset.ready = "1";
  const wide = folded.querySelector(".wide"), table = wide.querySelector("table"), packed = folded.querySelector("script.rows");
  const cells = [...table.tHead.rows[0].cells], numbers = new Set();
  cells.forEach((cell, number) => cell.classList.contains("number") && numbers.add(number));
  const columns = packed
    ? JSON.parse(new TextDecoder().decode(await inflated(packed.textContent)))
    : cells.map((_, number) => [...table.tBodies[0].rows].map((row) => row.cells[number].textContent));
  wide.replaceWith(grid(table.caption.textContent, cells.map((cell) => cell.textContent), numbers, columns));
}
function tables() {
  for (const folded of document.querySelectorAll("details.rows")) {
    folded.addEventListener("toggle", () => folded.open && upgrade(folded));
    if (folded.open) upgrade(folded);
  }
}
