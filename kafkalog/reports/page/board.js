// Draws the timeline on a canvas: only what is seen, so a million transactions pan as fast as ten.
const ROW = 24, BAR = 14, RULER = 40, MANY = 40000;

function board(model) {
  const { data } = model;
  const view = make("div", undefined, { id: "view" });
  const spacer = make("div");
  const canvas = make("canvas", undefined, {
    tabindex: "0", role: "application",
    "aria-label": "Timeline. Left and right pan, plus and minus zoom, up and down choose a lane, Enter lists its transactions, n goes to the next one that is not committed, Escape closes the details.",
  });
  const overview = make("canvas", undefined, { id: "overview", "aria-hidden": "true" });
  const tip = make("div", undefined, { id: "tip", hidden: "" });
  const cursor = make("output", "", { id: "cursor" });
  const buttons = make("div", undefined, { class: "bar" });
  const side = make("aside", undefined, { id: "details", hidden: "", "aria-label": "The chosen transaction" });
  const picked = make("div", undefined, { id: "picked" });
  for (const [id, text, said] of [["closer", "+", "Zoom in"], ["farther", "−", "Zoom out"], ["earlier", "◂", "Pan to the left"], ["later", "▸", "Pan to the right"], ["whole", "All", "Show all"]])
    buttons.append(make("button", text, { type: "button", id, "aria-label": said, title: said }));
  buttons.append(cursor);
  view.append(canvas, spacer);
  const pane = make("div", undefined, { id: "board" });
  const left = make("div", undefined, { id: "drawn" });
  left.append(buttons, overview, view);
  pane.append(left, side);
  $("picture").before(pane, picked, tip);
  const hint = make("p", "Drag to pan, drag in the ruler to zoom to a part, Control and the wheel zoom, Shift and the wheel pan. A click on a bar shows its transaction.", { class: "quiet" });
  pane.after(hint);
  $("picture").hidden = true;

  const paint = canvas.getContext("2d"), strip = overview.getContext("2d");
  let from = 0, to = 1, lanes = [], chosen = 0, selected = null, same = new Set(), incident = null, asked = false;
  let wide = 600, names = 230, mouse = null, span = null;
  const axis = () => (["log", "topic", "broker"].includes($("lanes").value) ? $("axis").value : "time");
  const perLog = () => $("lanes").value === "log";
  const axisOf = () => (axis() !== "time" && !perLog() ? "common" : axis());

  // Colours and hatchings are those of the style and of the page's own pictures.
  const colours = {}, fills = {};
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of [...about.states, "gap", "legal-gap", "stable", "text", "quiet", "lane", "ground", "line", "error", "link"])
      colours[name] = style.getPropertyValue("--" + name).trim();
    for (const name of [...about.states, "gap", "legal-gap"]) {
      const tile = make("canvas"), ratio = devicePixelRatio || 1;
      tile.width = tile.height = 8 * ratio;
      const on = tile.getContext("2d");
      on.scale(ratio, ratio);
      on.fillStyle = colours[name];
      on.fillRect(0, 0, 8, 8);
      const hatch = document.querySelector(`#hatch-${name} path`)?.getAttribute("d");
      on.strokeStyle = colours.ground;
      on.lineWidth = 1.3;
      if (hatch) on.stroke(new Path2D(hatch));
      fills[name] = paint.createPattern(tile, "repeat");
      fills[name].setTransform(new DOMMatrix().scale(1 / ratio));
    }
  }

  const room = () => Math.max(wide - names - 8, 50);
  const rangeOf = (lane) => {
    const own = model.ready(lane, axisOf());
    return { own, left: own.low + from * (own.high - own.low), right: own.low + to * (own.high - own.low) };
  };
  const xIn = (range) => (value) => names + ((value - range.left) / (range.right - range.left)) * room();

  function rebuild() {
    const found = model.build({
      kind: $("lanes").value, axis: axisOf(), state: $("state").value, search: $("search").value,
      problems: $("problems").checked, fold: $("fold").checked, incident,
    });
    lanes = found.lanes;
    chosen = clamp(chosen, 0, Math.max(lanes.length - 1, 0));
    $("axis").disabled = ["id", "producer"].includes($("lanes").value);
    const said = [`${lanes.length} lanes`];
    if (found.more) said.push(`${many(found.more)} more are not drawn`);
    if (found.clocks) said.push(`outside of the brokers' time, by their producers' clocks, and drawn at the edges: ${many(found.clocks)}`);
    $("status").textContent = said.join(", ");
    drawStrip();
    ask();
  }

  const fitting = (name) => {
    const isWide = (text) => paint.measureText(text).width > names - 14;
    const whole = isWide(name) ? name.replace(" (broker ", " (b") : name; // what differs stays
    let most = whole.length, text = whole;
    while (most > 6 && isWide(text)) text = shortened(whole, --most);
    return text;
  };

  // Columns of pixels, each filled in the proportion of its transactions' states, what is committed at the bottom. What has
  // not ended has a mark above, however few of many it is.
  function stack(counts, left, top, high, above, on = paint) {
    const same = (one, other) => counts.every((column) => column[one] === column[other]), width = counts[0].length - 1;
    for (let first = 0, next; first < width; first = next) {
      for (next = first + 1; next < width && same(first, next); ) next++;
      const all = counts.reduce((sum, column) => sum + column[first], 0);
      let bottom = top + high, worst = null;
      about.states.forEach((name, state) => {
        const part = (high * counts[state][first]) / (all || 1);
        if (!part) return;
        bottom -= part;
        on.fillStyle = on === paint && next - first > 4 && part > 4 ? fills[name] : colours[name];
        on.fillRect(left + first, bottom, next - first, part);
        if (name !== "committed" && name !== "aborted") worst = name;
      });
      if (worst === null) continue;
      on.fillStyle = colours[worst];
      on.fillRect(left + first - 1, top - above, Math.max(next - first, 1) + 2, above - 1);
    }
  }

  function drawLane(lane, top) {
    const kind = axisOf(), range = rangeOf(lane), { own } = range, x = xIn(range), width = room();
    const label = fitting(lane.name);
    paint.fillStyle = colours.text;
    paint.textAlign = "right";
    paint.fillText(label, names - 8, top + BAR - 3);
    paint.fillStyle = colours.lane;
    paint.fillRect(names, top, width, BAR);
    paint.save();
    paint.beginPath();
    paint.rect(names, top - 5, width, ROW);
    paint.clip();
    if (kind !== "time" && perLog())
      for (const [first, last, legal] of about.gaps[lane.key] ?? []) {
        paint.fillStyle = fills[legal ? "legal-gap" : "gap"];
        paint.fillRect(x(first), top, Math.max(x(last + 1) - x(first), legal ? 1 : 3), BAR);
      }
    const counts = model.columnsIn(lane, kind, range.left, range.right, Math.floor(width));
    stack(counts, names, top, BAR, 4);
    if (lane.folded) {
      paint.restore();
      return;
    }
    const frame = (row) => {
      const begin = x(model.begins(row, kind)), broad = Math.max(x(model.ends(row, kind)) - begin, 3);
      const isChosen = row === selected || same.has(row);
      if (broad <= 4 && !isChosen) return;
      paint.strokeStyle = isChosen ? colours.text : colours.ground;
      paint.lineWidth = isChosen ? (row === selected ? 3 : 2) : 1;
      paint.strokeRect(begin, top - isChosen, broad, BAR + 2 * isChosen);
      paint.lineWidth = 1;
      if (kind !== "time" && !Number.isNaN(data.marker[row])) {
        paint.fillStyle = colours.text;
        paint.fillRect(x(data.marker[row] + 0.5), top - 3, 1.5, BAR + 6);
      }
    };
    const firstRow = model.below(own.starts, range.left - own.longest), lastRow = model.below(own.starts, range.right);
    for (let number = firstRow; number < lastRow && lastRow - firstRow <= MANY; number++)
      if (data.state[own.rows[number]] === model.COMMITTED) frame(own.rows[number]);
    const special = model.specialIn(own, range.left, range.right);
    for (const row of special.length <= MANY ? special : []) if (model.ends(row, kind) >= range.left) frame(row);
    if ($("lanes").value === "id")
      for (const number of model.decisionsOf.get(lane.key) ?? []) {
        paint.fillStyle = colours[data.abort[number] ? "aborted" : "text"];
        paint.fillRect(x(data.decided[number]), top - 4, 1.5, 6);
      }
    if (perLog()) {
      for (const change of about.leaders[lane.key] ?? []) {
        const value = change[kind === "time" ? 0 : 1];
        if (value === null) continue;
        const unclean = change[4] === "unclean-election", at = x(value), step = unclean ? 7 : 5;
        paint.fillStyle = colours[unclean ? "error" : "quiet"];
        for (let y = top - 4; y < top + BAR + 4; y += step) paint.fillRect(at - 1, y, unclean ? 3 : 1.5, step - 2);
      }
      const [, , , , end, stable] = about.lanes[lane.key];
      if (kind !== "time" && stable < end) {
        paint.fillStyle = colours.stable;
        paint.fillRect(x(stable) - 1, top - 4, 3, BAR + 8);
      }
      if (kind !== "time")
        for (const one of model.incidentsOf.get(model.laneName(lane.key)) ?? []) {
          if (!one.framed && one.id !== incident) continue;
          paint.strokeStyle = colours.stable;
          paint.lineWidth = one.id === incident ? 3 : 1;
          const begin = one.first === null ? names : x(one.first);
          const end = one.first === null || one.last === null ? names + width : x(one.last + 1);
          paint.strokeRect(begin - 1, top - 2, Math.max(end - begin, 3) + 2, BAR + 4);
          paint.lineWidth = 1;
        }
    }
    paint.restore();
  }

  // The ruler is that of all lanes, or, where each has its own offsets, of the chosen one.
  function ruled() {
    const lane = axisOf() === "offset" ? lanes[chosen] : lanes.find((one) => !one.folded) ?? lanes[0];
    return lane && !(axisOf() === "offset" && lane.folded) ? lane : null;
  }
  function drawRuler(high) {
    paint.fillStyle = colours.ground;
    paint.fillRect(0, 0, wide, RULER);
    const lane = ruled();
    paint.fillStyle = colours.quiet;
    paint.textAlign = "right";
    const unit = axisOf() === "time" ? "brokers' time" : axisOf() === "offset" ? "offsets of" : "offsets";
    paint.fillText(unit, names - 8, 13);
    if (!lane) return;
    if (axisOf() === "offset") paint.fillText(fitting(lane.name), names - 8, 29);
    const range = rangeOf(lane), x = xIn(range), most = Math.max(Math.floor(room() / 90), 2);
    const ticks = (axisOf() === "time" ? timeTicks : offsetTicks)(range.left, range.right, most);
    for (const tick of ticks) {
      const at = x(tick.at), end = at > wide - 60;
      paint.fillStyle = colours.line;
      paint.fillRect(at, RULER - 8, 1, axisOf() === "offset" ? 8 : high);
      paint.fillStyle = colours.text;
      paint.textAlign = end ? "right" : "left";
      paint.fillText(tick.text, at + (end ? -3 : 3), 29);
      if (tick.above) paint.fillText(tick.above, at + (end ? -3 : 3), 13);
    }
    canvas.dataset.ticks = ticks.map((tick) => tick.text).join(" | ");
    paint.fillStyle = colours.line;
    paint.fillRect(names, RULER - 1, room(), 1);
  }

  function draw() {
    asked = false;
    wide = Math.max(view.clientWidth, 200);
    paint.font = "12px system-ui, sans-serif";
    const longest = lanes.slice(0, 400).reduce((most, lane) => Math.max(most, paint.measureText(lane.name).width), 90);
    names = Math.round(wide < 560 ? Math.min(longest + 12, wide * 0.4) : Math.min(longest + 16, 280));
    const ratio = devicePixelRatio || 1, all = lanes.length * ROW + RULER + 10;
    const high = clamp(all, 100, Math.max(Math.round(innerHeight * 0.7), 160));
    for (const one of [[canvas, high], [overview, 30]]) {
      one[0].width = wide * ratio;
      one[0].height = one[1] * ratio;
      one[0].style.width = `${wide}px`;
      one[0].style.height = `${one[1]}px`;
    }
    spacer.style.height = `${Math.max(all - high, 0)}px`;
    paint.scale(ratio, ratio);
    paint.clearRect(0, 0, wide, high);
    paint.font = "12px system-ui, sans-serif";
    const top = view.scrollTop;
    drawRuler(high);
    for (let number = Math.max(Math.floor(top / ROW), 0); number < lanes.length; number++) {
      const y = number * ROW - top + RULER + 6;
      if (y > high) break;
      if (y < RULER) continue;
      if (number === chosen) {
        paint.fillStyle = document.activeElement === canvas ? colours.line : colours.lane;
        paint.fillRect(0, y - 5, names - 3, ROW);
      }
      drawLane(lanes[number], y);
    }
    if (mouse && mouse.x > names) {
      paint.fillStyle = colours.quiet;
      paint.fillRect(mouse.x, RULER - 8, 1, high);
    }
    if (span) {
      paint.globalAlpha = 0.3;
      paint.fillStyle = colours.link;
      paint.fillRect(Math.min(span.x, span.now), 0, Math.abs(span.now - span.x), high);
      paint.globalAlpha = 1;
    }
    canvas.dataset.names = names;
    canvas.dataset.from = from;
    canvas.dataset.to = to;
    drawStrip();
  }

  // The overview: the transactions of all lanes as one, and the part that is seen.
  let summed = null;
  function sum(some, kind, width) {
    const counts = about.states.map(() => new Float64Array(width + 1));
    for (const lane of some) {
      const own = model.ready(lane, kind);
      model.columnsIn(lane, kind, own.low, own.high, width).forEach((column, state) => column.forEach((count, at) => (counts[state][at] += count)));
    }
    return counts;
  }
  function drawStrip() {
    const ratio = devicePixelRatio || 1, width = room();
    strip.setTransform(ratio, 0, 0, ratio, 0, 0);
    strip.clearRect(0, 0, wide, 30);
    strip.fillStyle = colours.lane;
    strip.fillRect(names, 2, width, 26);
    const kind = axisOf();
    const wanted = [lanes, kind, width].map((one, at) => one === summed?.of[at]);
    if (wanted.includes(false)) summed = { of: [lanes, kind, width], counts: sum(lanes.slice(0, 500), kind, Math.floor(width)) };
    stack(summed.counts, names, 8, 20, 6, strip);
    strip.strokeStyle = colours.text;
    strip.lineWidth = 2;
    strip.strokeRect(names + from * width, 1, Math.max((to - from) * width, 3), 28);
  }

  const ask = () => {
    if (!asked) requestAnimationFrame(draw);
    asked = true;
  };
  const moved = () => {
    tip.hidden = true;
    ask();
    links.later(hash());
  };
  function set(first, last) {
    const size = clamp(last - first, 1e-12, 1);
    from = clamp(first, 0, 1 - size);
    to = from + size;
  }
  function zoom(factor, at) {
    const size = clamp((to - from) * factor, 1e-12, 1), middle = from + (to - from) * at;
    set(middle - size * at, middle - size * at + size);
    moved();
  }
  function pan(by) {
    const size = to - from;
    set(clamp(from + by * size, 0, 1 - size), clamp(from + by * size, 0, 1 - size) + size);
    moved();
  }
  const whole = () => set(0, 1);

  function spot(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const number = Math.floor((y - RULER + view.scrollTop - 1) / ROW);
    return { x, y, number, at: (x - names) / room(), inRuler: y < RULER };
  }
  const near = (range, pixels) => ((range.right - range.left) * pixels) / room();
  function under({ number, at, inRuler }) {
    const lane = lanes[number];
    if (!lane || inRuler || lane.folded || at < 0 || at > 1) return { row: null };
    const range = rangeOf(lane), value = range.left + at * (range.right - range.left);
    const change = perLog() ? (about.leaders[lane.key] ?? []).find((one) => {
      const place = one[axisOf() === "time" ? 0 : 1];
      return place !== null && Math.abs(place - value) <= near(range, 4);
    }) : undefined;
    const gap = perLog() && axisOf() !== "time" ? (about.gaps[lane.key] ?? []).find(([first, last]) => first - near(range, 2) <= value && last + 1 + near(range, 2) >= value) : undefined;
    return { row: model.rowAt(lane, axisOf(), value, near(range, 3)), change, gap, value };
  }
  // How many transactions of each state reach into the column of pixels at the pointer.
  function counted(place, lane, range) {
    const counts = model.columnsIn(lane, axisOf(), range.left, range.right, Math.floor(room()));
    const at = clamp(Math.floor(place.x - names), 0, counts[0].length - 2);
    return about.states.flatMap((name, state) => {
      const roughly = state === model.COMMITTED && about.every > 1 ? "about " : "";
      return counts[state][at] ? [`${roughly}${many(counts[state][at])} ${name}`] : [];
    });
  }
  function read(place) {
    const lane = lanes[place.number];
    if (!lane || place.at < 0 || place.at > 1) return "";
    const range = rangeOf(lane), value = range.left + place.at * (range.right - range.left);
    const said = counted(place, lane, range);
    const where = lane.folded ? [] : [axisOf() === "time" ? timeText(value) : `offset ${many(Math.floor(value))}`];
    return [lane.name, ...where, ...(said.length ? [said.join(", ")] : [])].join(" · ");
  }

  // Details of one transaction: its row, its decision, its records, its other partitions.
  function select(row) {
    selected = row;
    const found = row === null ? { rows: [] } : model.others(row);
    same = new Set(found.rows);
    side.hidden = row === null;
    side.replaceChildren();
    ask();
    if (row === null) return;
    const close = make("button", "Close", { type: "button" });
    close.addEventListener("click", () => { select(null); canvas.focus(); });
    const list = make("dl"), texts = model.words(row);
    const say = (name, text) => list.append(make("dt", name), make("dd", text));
    texts.forEach((text, number) => say(HEADS[number], text));
    const decision = model.decisionOf(row);
    say("decision of the coordinator", decision === null ? "none is known" : `${data.abort[decision] ? "abort" : "commit"}, ${timeText(data.decided[decision])}`);
    say("records' range", `offsets ${texts[4]} to ${texts[5]}`);
    side.append(make("h3", `Transaction in ${texts[1]}`), close, list);
    if (same.size) {
      side.append(make("h4", `${found.are} in ${same.size} other partition${same.size > 1 ? "s" : ""}`));
      for (const other of [...same].slice(0, 50)) {
        const go = make("button", `${model.title(data.lane[other])}: ${about.states[data.state[other]]}`, { type: "button" });
        go.addEventListener("click", () => {
          const number = lanes.findIndex((lane) => lane.key === data.lane[other] && !lane.folded);
          if (number >= 0) [chosen, view.scrollTop] = [number, Math.max(number * ROW - 60, 0)];
          select(other);
        });
        side.append(go);
      }
    }
  }
  function list(rows, caption) {
    const columns = HEADS.map(() => []);
    for (const row of rows.slice(0, 100000)) model.words(row).forEach((text, number) => columns[number].push(text));
    picked.replaceChildren(grid(caption, HEADS, NUMBERS, columns, (number) => select(rows[number])));
  }
  function listLane(number) {
    const lane = lanes[number];
    if (!lane) return;
    if (lane.folded) {
      $("fold").checked = false;
      rebuild();
      return;
    }
    const range = rangeOf(lane), rows = model.rowsIn(lane, axisOf(), range.left, range.right);
    list(rows, `${lane.name}: ${many(rows.length)} transactions in view`);
  }
  function next() {
    const lane = lanes[chosen];
    if (!lane || lane.folded) return;
    const own = model.ready(lane, axisOf()), wrong = own.special.filter(model.isWrong);
    const rows = wrong.length ? wrong : own.special;
    if (rows.length) select(rows[(rows.indexOf(selected) + 1) % rows.length]);
  }

  // Show an incident: its first lane, cut to its offsets.
  function show(id) {
    const one = about.incidents[id];
    if (!one) return;
    incident = id;
    $("lanes").value = "log";
    $("axis").value = "offset";
    $("state").value = "";
    $("search").value = "";
    rebuild();
    whole();
    const number = lanes.findIndex((lane) => !lane.folded && one.partitions.includes(model.laneName(lane.key)));
    if (number >= 0) {
      if (one.first === null) showLane(number);
      else {
        const [, , , , end] = about.lanes[lanes[number].key];
        showLane(number, one.first, one.last === null ? end : one.last);
      }
      listLane(number);
    }
    mark([id]);
    ask();
  }
  function showLane(number, first, last) {
    chosen = number;
    view.scrollTop = Math.max(number * ROW - 60, 0);
    if (first === undefined) return;
    const { low, high } = model.ready(lanes[number], axisOf()), size = high - low;
    const wanted = Math.max(last + 1 - first, 1), more = Math.max(wanted * 0.5, size * 1e-9);
    set((first - more - low) / size, Math.max((last + 1 + more - low) / size, (first - more - low) / size + 1e-9));
  }
  const mark = (ids) => document.querySelectorAll(".incident article").forEach((made) => made.classList.toggle("chosen", ids.some((id) => made.id === `incident-${id}`)));

  // What the address says of the timeline, and back.
  function hash() {
    const said = new URLSearchParams();
    for (const [name, usual] of [["lanes", "log"], ["axis", "offset"], ["state", ""], ["search", ""]])
      if ($(name).value !== usual) said.set(name, $(name).value);
    if ($("problems").checked) said.set("problems", "1");
    if (incident) said.set("incident", incident);
    if (from > 0 || to < 1) {
      said.set("from", from);
      said.set("to", to);
      if (lanes[chosen] && !lanes[chosen].folded && axisOf() === "offset") said.set("lane", lanes[chosen].name);
    }
    return said.size ? `#timeline?${said}` : "";
  }
  function open(said) {
    if (said.get("incident")) show(said.get("incident"));
    else [incident] = [null, mark([])];
    for (const [name, usual] of [["lanes", "log"], ["axis", "offset"], ["state", ""], ["search", ""]]) {
      $(name).value = said.get(name) ?? usual;
      if ($(name).selectedIndex === -1) $(name).value = usual;
    }
    $("problems").checked = said.has("problems");
    let number = -1;
    const find = () => (number = lanes.findIndex((lane) => lane.name === said.get("lane")));
    rebuild();
    if (said.has("lane") && find() < 0) {
      $("fold").checked = false;
      rebuild();
      find();
    }
    const [first, last] = (said.get("offsets") ?? "").split("-").map(Number);
    if (number >= 0) showLane(number, ...(said.has("offsets") && first <= last ? [first, last] : []));
    if (said.has("from") && Number(said.get("from")) < Number(said.get("to"))) set(Number(said.get("from")), Number(said.get("to")));
    else if (!said.has("offsets") && !said.has("incident")) whole();
    ask();
  }

  let dragged = null;
  canvas.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !event.metaKey && !sideways) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) zoom(event.deltaY < 0 ? 0.8 : 1.25, clamp(spot(event).at, 0, 1));
    else pan((event.deltaX || event.deltaY) / room());
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    const place = spot(event);
    dragged = { x: event.clientX, moved: false };
    if (place.inRuler) span = { x: place.x, now: place.x };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const place = spot(event);
    mouse = place;
    cursor.textContent = read(place);
    if (dragged) {
      if (span) span.now = clamp(place.x, names, names + room());
      else if (Math.abs(dragged.x - event.clientX) > 2) {
        pan((dragged.x - event.clientX) / room());
        dragged = { x: event.clientX, moved: true };
      }
      ask();
      return;
    }
    const { row, change, gap } = under(place);
    const lane = lanes[place.number], said = change ? [model.changeWords(change)] : [];
    if (row !== null) said.push(`here: ${counted(place, lane, rangeOf(lane)).join(", ")}`);
    if (row !== null) said.push(...model.words(row).map((text, index) => `${HEADS[index]}: ${text}`));
    else if (gap) said.push(`${gap[2] ? "legal gap" : "offsets missing"}: ${gap[0]}-${gap[1]}`);
    tip.hidden = !said.length;
    tip.textContent = said.join("\n");
    tip.style.left = `${Math.max(Math.min(event.clientX + 12, innerWidth - 360), 0)}px`;
    tip.style.top = `${Math.min(event.clientY + 12, innerHeight - 200)}px`;
    ask();
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
    mouse = null;
    cursor.textContent = "";
    ask();
  });
  canvas.addEventListener("pointercancel", () => ([dragged, span] = [null, null]));
  canvas.addEventListener("pointerup", (event) => {
    const was = dragged, place = spot(event), drawnSpan = span;
    [dragged, span] = [null, null];
    if (drawnSpan) {
      const [first, last] = [drawnSpan.x, drawnSpan.now].sort((a, b) => a - b).map((x) => from + ((x - names) / room()) * (to - from));
      if (Math.abs(drawnSpan.x - drawnSpan.now) > 4) set(first, last);
      return moved();
    }
    if (was?.moved || place.inRuler) return;
    const { row } = under(place);
    chosen = clamp(place.number, 0, Math.max(lanes.length - 1, 0));
    if (row === null) {
      select(null);
      listLane(chosen);
    } else {
      list([row], "The chosen transaction");
      select(row);
    }
    const lane = lanes[chosen], framed = lane && !lane.folded && perLog() ? model.incidentsOf.get(model.laneName(lane.key)) : undefined;
    if (framed && (row === null || data.state[row] !== model.COMMITTED)) {
      mark(framed.map((one) => one.id));
      $("status").textContent = `Incident: ${$(`incident-${framed[0].id}`)?.querySelector("h3")?.textContent ?? ""}`;
    }
    ask();
  });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, clamp(spot(event).at, 0, 1)));
  canvas.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), "+": () => zoom(0.7, 0.5), "=": () => zoom(0.7, 0.5),
      "-": () => zoom(1.4, 0.5), Home: () => pan(-1e12), End: () => pan(1e12), 0: () => zoom(1e12, 0.5),
      ArrowUp: () => (chosen = Math.max(chosen - 1, 0)), ArrowDown: () => (chosen = clamp(chosen + 1, 0, Math.max(lanes.length - 1, 0))),
      Enter: () => listLane(chosen), n: next, Escape: () => select(null),
    };
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    tip.hidden = true;
    keys[event.key]();
    const lane = lanes[chosen];
    if (["ArrowUp", "ArrowDown"].includes(event.key) && lane) {
      const y = chosen * ROW;
      if (y < view.scrollTop) view.scrollTop = y;
      if (y + ROW > view.scrollTop + canvas.clientHeight - RULER) view.scrollTop = y + ROW - canvas.clientHeight + RULER + 6;
      $("status").textContent = lane.folded ? `${lane.name}, ${many(lane.rows.length)} transactions drawn, nothing open or missing: Enter unfolds them` : lane.name;
    }
    ask();
  });
  let window_ = null; // a drag in the overview: the seen part goes where the pointer is
  const follow = (event) => {
    const box = overview.getBoundingClientRect(), at = (event.clientX - box.left - names) / room(), size = to - from;
    set(clamp(at - size / 2, 0, 1 - size), clamp(at - size / 2, 0, 1 - size) + size);
    moved();
  };
  overview.addEventListener("pointerdown", (event) => { window_ = true; overview.setPointerCapture(event.pointerId); follow(event); });
  overview.addEventListener("pointermove", (event) => window_ && follow(event));
  overview.addEventListener("pointerup", () => (window_ = null));

  const actions = { closer: () => zoom(0.5, 0.5), farther: () => zoom(2, 0.5), earlier: () => pan(-0.25), later: () => pan(0.25) };
  for (const [id, act] of Object.entries(actions)) $(id).addEventListener("click", act);
  const renew = () => { rebuild(); links.push(hash()); };
  for (const name of ["lanes", "axis"]) $(name).addEventListener("change", () => { whole(); select(null); renew(); });
  for (const name of ["state", "problems"]) $(name).addEventListener("change", renew);
  $("fold").addEventListener("change", rebuild);
  $("search").addEventListener("input", () => { rebuild(); links.later(hash()); });
  $("whole").addEventListener("click", () => { whole(); incident = null; mark([]); rebuild(); links.push(hash()); });
  view.addEventListener("scroll", () => { tip.hidden = true; ask(); });
  addEventListener("resize", ask);
  canvas.addEventListener("focus", ask);
  canvas.addEventListener("blur", ask);
  for (const link of document.querySelectorAll("[data-incident]"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      show(link.dataset.incident);
      links.push(hash());
      $("timeline").scrollIntoView();
    });
  readColours();
  rebuild();
  return { open, show, recolour: () => { readColours(); ask(); } };
}
