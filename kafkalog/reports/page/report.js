"use strict";
// Draws the timeline on a canvas: only what is seen, so a million transactions pan as fast as ten.
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const about = JSON.parse($("about")?.textContent ?? '{"states": []}'); // a verification has no timeline
  const NO_TIME = 1262304000000; // a transaction without a time that can be believed
  const ROW = 22, BAR = 14, LEFT = 230, MANY = 40000, BINS = 4096, SHADES = 6, FOOT = 44, MOST_LANES = 200000, FOLDED = 300; // more logs than that: those of a topic with nothing to see are one lane
  const COMMITTED = about.states.indexOf("committed"), ABORTED = about.states.indexOf("aborted");
  const colors = {};
  const readColors = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of [...about.states, "gap", "legal-gap", "stable", "text", "quiet", "lane", "ground", "line", "error"])
      colors[name] = style.getPropertyValue("--" + name).trim();
  };

  // The columns: varints of zigzag numbers, in the order in which the report's maker wrote them.
  async function unpack() {
    const packed = Uint8Array.from(atob($("packed").textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let at = 0;
    const numbers = (count = about.rows) => {
      const out = new Float64Array(count);
      for (let row = 0; row < count; row++) {
        let value = 0, scale = 1, byte;
        do {
          byte = bytes[at++];
          value += (byte & 127) * scale;
          scale *= 128;
        } while (byte & 128);
        out[row] = value % 2 ? -(value + 1) / 2 : value / 2;
      }
      return out;
    };
    const summed = (column) => {
      for (let row = 1; row < column.length; row++) column[row] += column[row - 1];
      return column;
    };
    const data = {
      lane: Int32Array.from(summed(numbers())), state: Uint8Array.from(numbers()), id: Int32Array.from(numbers()),
      producer: summed(numbers()), first: summed(numbers()), last: numbers(), marker: numbers(), records: numbers(),
      begin: summed(numbers()), end: numbers(), ended: numbers(),
      decided: summed(numbers(about.decisions)), decidedId: numbers(about.decisions), abort: numbers(about.decisions),
    };
    for (let row = 0; row < about.rows; row++) {
      data.last[row] += data.first[row];
      data.marker[row] = data.marker[row] ? data.marker[row] - 1 + data.last[row] : NaN;
      data.end[row] += data.begin[row];
      data.ended[row] = data.ended[row] ? data.ended[row] - 1 + data.begin[row] : NaN;
    }
    return data;
  }

  function timeline(data) {
    const view = make("div", undefined, { id: "view" });
    const spacer = make("div");
    const canvas = make("canvas", undefined, {
      tabindex: "0", role: "application",
      "aria-label": "Timeline. Left and right pan, plus and minus zoom, up and down choose a lane, Enter lists its transactions.",
    });
    const tip = make("div", undefined, { id: "tip", hidden: "" });
    const picked = make("div", undefined, { id: "picked", class: "wide", tabindex: "0", role: "region", "aria-label": "Chosen transactions" });
    view.append(canvas, spacer);
    $("picture").before(view, picked, tip);
    $("picture").hidden = true;
    const paint = canvas.getContext("2d");
    let from = 0, to = 1, lanes = [], chosen = 0, incident = null, asked = false, laneIncidents = new Map();
    const axis = () => ($("lanes").value === "log" ? $("axis").value : "time");
    const start = (row) => (axis() === "offset" ? data.first[row] : data.begin[row]);
    const stop = (row, high) => {
      if (axis() === "offset") return data.last[row] + 1;
      return Number.isNaN(data.marker[row]) ? high : Math.max(data.ended[row] || data.end[row], data.begin[row]);
    };
    const idOf = (row) => (data.id[row] ? about.ids[data.id[row] - 1] : null);
    const nodes = new Map(); // of partitions with several replicas, a lane's name says whose it is
    for (const [topic, partition] of about.lanes) nodes.set(`${topic}-${partition}`, (nodes.get(`${topic}-${partition}`) ?? 0) + 1);
    const lanesTitle = (number) => {
      const name = laneName(number);
      return nodes.get(name) > 1 && about.lanes[number][2] !== null ? `${name} (broker ${about.lanes[number][2]})` : name;
    };
    const unfolded = new Set(); // topics
    const laneName = (number) => `${about.lanes[number][0]}-${about.lanes[number][1]}`;
    const words = (row) => {
      const offset = (value) => (Math.abs(value) >= 2 ** 53 ? "2^53 or more" : String(value));
      const time = (value) => (value > NO_TIME ? new Date(value).toISOString() : "-");
      return [
        about.states[data.state[row]], laneName(data.lane[row]), idOf(row) ?? "-", String(data.producer[row]),
        offset(data.first[row]), offset(data.last[row]), Number.isNaN(data.marker[row]) ? "-" : offset(data.marker[row]),
        String(data.records[row]), time(data.begin[row]), time(data.ended[row]),
      ];
    };
    const HEADS = ["state", "partition", "transactional id", "producer id", "first offset", "last offset", "marker", "records", "first record", "marker written"];

    const topics = [...new Set(about.lanes.map((lane) => lane[0]))];
    const topicOf = Int32Array.from(about.lanes, (lane) => topics.indexOf(lane[0]));
    const decidedOf = new Map(); // the times of a transactional id's decisions
    for (let number = 0; number < about.decisions; number++) {
      const id = data.decidedId[number];
      if (!decidedOf.has(id)) decidedOf.set(id, []);
      decidedOf.get(id).push(number);
    }
    let timeLow = Infinity, timeHigh = -Infinity;
    for (let row = 0; row < about.rows; row++) {
      if (data.begin[row] <= NO_TIME) continue;
      timeLow = Math.min(timeLow, data.begin[row]);
      timeHigh = Math.max(timeHigh, data.begin[row], data.end[row], data.ended[row] || 0);
    }

    for (const changes of Object.values(about.leaders))
      for (const [time] of changes)
        if (time !== null && time > NO_TIME && timeLow !== Infinity) {
          timeLow = Math.min(timeLow, time);
          timeHigh = Math.max(timeHigh, time);
        }

    function build() {
      const kind = $("lanes").value, state = $("state").value, search = $("search").value.toLowerCase();
      const byTime = axis() === "time";
      const groups = new Map();
      const wantedState = state === "" ? -1 : about.states.indexOf(state);
      const matches = (text) => text !== null && text.toLowerCase().includes(search);
      const named = search === "" ? null : about.lanes.map((_, number) => matches(laneName(number)));
      const anyNamed = named !== null && named.includes(true);
      for (let row = 0; row < about.rows; row++) {
        if (wantedState >= 0 && data.state[row] !== wantedState) continue;
        if (byTime && data.begin[row] <= NO_TIME) continue;
        if (named !== null && (anyNamed ? !named[data.lane[row]] : !matches(idOf(row)) && !matches(String(data.producer[row])))) continue;
        const key = kind === "log" ? data.lane[row] : kind === "topic" ? topicOf[data.lane[row]] : kind === "id" ? data.id[row] : data.producer[row];
        if (kind === "id" && !key) continue;
        let group = groups.get(key);
        if (group === undefined) groups.set(key, (group = []));
        group.push(row);
      }
      if (kind === "log" && state === "")
        about.lanes.forEach((_, number) => {
          if (!groups.has(number) && (named === null || named[number])) groups.set(number, []);
        });
      const keys = [...groups.keys()];
      if (kind === "log") keys.sort((a, b) => a - b);
      lanes = keys.slice(0, MOST_LANES).map((key) => ({ key, rows: groups.get(key), ready: null, folded: 0 }));
      const special = (lane) => lane.rows.reduce((worst, row) => Math.max(worst, data.state[row]), 0);
      if (kind !== "log") lanes.sort((a, b) => special(b) - special(a));
      laneIncidents = new Map();
      for (const [name, one] of Object.entries(about.incidents))
        for (const partition of one.partitions) {
          if (!laneIncidents.has(partition)) laneIncidents.set(partition, []);
          laneIncidents.get(partition).push({ name, ...one });
        }
      if (kind === "log" && state === "" && named === null && about.lanes.length > FOLDED) fold();
      chosen = Math.min(chosen, Math.max(lanes.length - 1, 0));
      spacer.style.height = `${Math.max(lanes.length * ROW + FOOT - canvas.clientHeight, 0)}px`;
      const more = Math.max(keys.length - MOST_LANES, 0);
      $("status").textContent = `${lanes.length} lanes${more ? `, ${more} more are not drawn` : ""}`;
      ask();
    }

    // One lane for all logs of a topic in which nothing is open, missing or part of an incident that is framed.
    function fold() {
      const quiet = (lane) =>
        !unfolded.has(topicOf[lane.key]) &&
        about.lanes[lane.key][5] >= about.lanes[lane.key][4] &&
        lane.rows.every((row) => data.state[row] === COMMITTED || data.state[row] === ABORTED) &&
        (about.gaps[lane.key] ?? []).every((gap) => gap[2]) &&
        (laneIncidents.get(laneName(lane.key)) ?? []).every((one) => !one.framed && one.name !== incident);
      const shown = [], folds = new Map();
      for (const lane of lanes) {
        if (!quiet(lane)) {
          shown.push(lane);
          continue;
        }
        const topic = topicOf[lane.key];
        if (!folds.has(topic)) folds.set(topic, { key: topic, rows: [], ready: null, folded: 0, first: lane });
        const one = folds.get(topic);
        one.folded++;
        one.rows.push(lane.rows.length);
      }
      for (const one of folds.values()) shown.push(one.folded > 1 ? one : one.first);
      lanes = shown;
    }
    function unfold(number) {
      if (!lanes[number]?.folded) return false;
      unfolded.add(lanes[number].key);
      build();
      return true;
    }

    // What a lane needs to be drawn, made when it is first seen.
    function ready(lane) {
      const key = axis();
      if (lane.ready && lane.ready.key === key) return lane.ready;
      const kind = $("lanes").value;
      let low = timeLow, high = timeHigh;
      if (key === "offset") [low, high] = [about.lanes[lane.key][3], about.lanes[lane.key][4]];
      if (!(high > low)) high = low + 1;
      const rows = Uint32Array.from(lane.rows);
      const starts = Float64Array.from(rows, start);
      if (key === "time") {
        const order = Uint32Array.from(rows.keys()).sort((a, b) => starts[a] - starts[b]);
        rows.set(Uint32Array.from(order, (number) => lane.rows[number]));
        rows.forEach((row, number) => (starts[number] = start(row)));
      }
      let longest = 0;
      const special = [], bins = new Uint32Array(BINS);
      rows.forEach((row, number) => {
        if (data.state[row] !== COMMITTED) special.push(row);
        else {
          longest = Math.max(longest, stop(row, high) - starts[number]);
          bins[Math.min(Math.floor(((starts[number] - low) / (high - low)) * BINS), BINS - 1)]++;
        }
      });
      const name = kind === "log" ? lanesTitle(lane.key) : kind === "topic" ? topics[lane.key] : kind === "id" ? about.ids[lane.key - 1] : `producer ${lane.key}`;
      const most = bins.reduce((a, b) => Math.max(a, b), 1);
      return (lane.ready = { key, low, high, rows, starts, longest, special, bins, most, name });
    }

    const below = (starts, value) => {
      let low = 0, high = starts.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (starts[middle] < value) low = middle + 1;
        else high = middle;
      }
      return low;
    };

    function drawFold(lane, top) {
      paint.fillStyle = colors.text;
      paint.fillText(foldName(lane, 32), LEFT - 8, top + BAR - 3);
      paint.textAlign = "left";
      paint.fillStyle = colors.quiet;
      paint.fillText(foldWords(lane), LEFT, top + BAR - 3);
      paint.textAlign = "right";
    }
    const foldName = (lane, most) => (topics[lane.key].length > most ? topics[lane.key].slice(0, most - 1) + "…" : topics[lane.key]);
    const foldWords = (lane) => {
      const count = lane.rows.reduce((sum, one) => sum + one, 0);
      return `${lane.folded} more partitions, ${count} transactions drawn, nothing open or missing: click or Enter unfolds them`;
    };

    function drawLane(lane, top, width) {
      if (lane.folded) {
        drawFold(lane, top);
        return;
      }
      const own = ready(lane), span = own.high - own.low, left = own.low + from * span, right = own.low + to * span;
      const x = (value) => LEFT + ((value - left) / (right - left)) * width;
      paint.fillStyle = colors.text;
      paint.fillText(own.name.length > 32 ? own.name.slice(0, 31) + "…" : own.name, LEFT - 8, top + BAR - 3);
      paint.save();
      paint.beginPath();
      paint.rect(LEFT, top - 4, width, ROW);
      paint.clip();
      paint.fillStyle = colors.lane;
      paint.fillRect(LEFT, top, width, BAR);
      const offsets = axis() === "offset";
      if (offsets)
        for (const [first, last, legal] of about.gaps[lane.key] ?? []) {
          paint.fillStyle = legal ? colors["legal-gap"] : colors.gap;
          const begin = x(first), wide = Math.max(x(last + 1) - begin, 1);
          for (let at = begin; at < Math.min(begin + wide, LEFT + width); at += 4) if (at + 2 > LEFT) paint.fillRect(at, top, Math.min(2, wide), BAR);
        }
      let placed = NaN;
      const firstRow = below(own.starts, left - own.longest), lastRow = below(own.starts, right);
      paint.fillStyle = colors.committed;
      if (lastRow - firstRow > MANY) {
        // Neighbours of the same shade are one rectangle: shades are few, so that these are.
        const bin = span / BINS, most = own.most, shade = (count) => (count ? Math.ceil((SHADES * count) / most) : 0);
        let number = Math.max(Math.floor((left - own.low) / bin), 0);
        while (number < BINS && own.low + number * bin < right) {
          const first = number, now = shade(own.bins[number]);
          while (number < BINS && shade(own.bins[number]) === now) number++;
          if (!now) continue;
          paint.globalAlpha = 0.35 + (0.65 * now) / SHADES;
          const begin = x(own.low + first * bin);
          paint.fillRect(begin, top, Math.max(x(own.low + number * bin) - begin, 1), BAR);
        }
        paint.globalAlpha = 1;
      } else {
        for (let number = firstRow; number < lastRow; number++) {
          const row = own.rows[number];
          if (data.state[row] === COMMITTED) bar(row);
        }
      }
      for (const row of own.special) if (start(row) < right && stop(row, own.high) >= left) bar(row);
      function bar(row) {
        paint.fillStyle = colors[about.states[data.state[row]]];
        const begin = x(start(row)), wide = Math.max(x(stop(row, own.high)) - begin, data.state[row] === COMMITTED ? 1 : 2);
        // Of those that a pixel holds one is drawn, if they have the same state.
        const place = Math.floor(begin) * 8 + data.state[row];
        if (wide <= 2 && place === placed) return;
        placed = place;
        paint.fillRect(begin, top, wide, BAR);
        if (wide > 4) {
          paint.strokeStyle = colors.ground;
          paint.strokeRect(begin, top, wide, BAR);
        }
        if (offsets && wide > 3 && !Number.isNaN(data.marker[row])) {
          paint.fillStyle = colors.text;
          paint.fillRect(x(data.marker[row] + 0.5), top - 3, 1.5, BAR + 6);
        }
      }
      if ($("lanes").value === "id")
        for (const number of decidedOf.get(lane.key) ?? []) decision(number, x(data.decided[number]), top - 4, 6);
      if ($("lanes").value === "log")
        for (const change of about.leaders[lane.key] ?? []) {
          const value = change[offsets ? 1 : 0];
          if (value === null) continue;
          const unclean = change[4] === "unclean-election";
          paint.fillStyle = colors[unclean ? "error" : "quiet"];
          const at = x(value), step = unclean ? 7 : 5;
          for (let y = top - 4; y < top + BAR + 4; y += step) paint.fillRect(at - 1, y, unclean ? 3 : 1.5, step - 2);
        }
      if (offsets) {
        const stable = about.lanes[lane.key][5];
        if (stable < about.lanes[lane.key][4]) {
          paint.fillStyle = colors.stable;
          paint.fillRect(x(stable) - 1, top - 4, 3, ROW);
        }
        for (const one of laneIncidents.get(laneName(lane.key)) ?? []) {
          if (!one.framed && one.name !== incident) continue;
          paint.strokeStyle = colors.stable;
          paint.lineWidth = one.name === incident ? 3 : 1;
          const begin = one.first === null ? LEFT : x(one.first);
          const end = one.first === null || one.last === null ? LEFT + width : x(one.last + 1);
          paint.strokeRect(begin - 1, top - 2, Math.max(end - begin, 3) + 2, BAR + 4);
          paint.lineWidth = 1;
        }
      }
      paint.restore();
    }

    function decision(number, at, top, high) {
      if (at < LEFT) return;
      paint.fillStyle = colors[data.abort[number] ? "aborted" : "text"];
      paint.fillRect(at, top, 1.5, high);
    }

    function draw() {
      asked = false;
      const wide = view.clientWidth, high = Math.min(Math.max(lanes.length * ROW + FOOT, 60), Math.round(innerHeight * 0.7) - 2);
      const ratio = devicePixelRatio || 1;
      canvas.width = wide * ratio;
      canvas.height = high * ratio;
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${high}px`;
      spacer.style.height = `${Math.max(lanes.length * ROW + FOOT - high, 0)}px`;
      paint.scale(ratio, ratio);
      paint.clearRect(0, 0, wide, high);
      paint.font = "12px system-ui, sans-serif";
      paint.textAlign = "right";
      const width = wide - LEFT - 8, top = view.scrollTop;
      const first = Math.max(Math.floor(top / ROW), 0);
      for (let number = first; number < lanes.length && number * ROW - top < high; number++) {
        const y = number * ROW - top + 6;
        if (number === chosen && document.activeElement === canvas) {
          paint.fillStyle = colors.line;
          paint.fillRect(0, y - 4, LEFT - 4, ROW);
        }
        drawLane(lanes[number], y, width);
      }
      if (axis() === "time" && timeHigh > timeLow) {
        const low = timeLow + from * (timeHigh - timeLow), high2 = timeLow + to * (timeHigh - timeLow);
        if (about.decisions) {
          paint.fillStyle = colors.ground;
          paint.fillRect(0, high - 36, wide, 36);
          paint.fillStyle = colors.text;
          paint.fillText("coordinator's decisions", LEFT - 8, high - 24);
          for (let number = below(data.decided, low), last = -1; number < about.decisions && data.decided[number] <= high2; number++) {
            const at = Math.round(LEFT + ((data.decided[number] - low) / (high2 - low)) * width);
            if (at !== last || data.abort[number]) decision(number, at, high - 34, 12);
            last = at;
          }
        }
        paint.fillStyle = colors.quiet;
        paint.textAlign = "left";
        paint.fillText(new Date(timeLow + from * (timeHigh - timeLow)).toISOString(), LEFT, high - 6);
        paint.textAlign = "right";
        paint.fillText(new Date(timeLow + to * (timeHigh - timeLow)).toISOString(), wide - 8, high - 6);
      }
    }
    const ask = () => {
      if (!asked) requestAnimationFrame(draw);
      asked = true;
    };

    function zoom(factor, at) {
      const span = Math.min(Math.max((to - from) * factor, 1e-12), 1), middle = from + (to - from) * at;
      from = Math.min(Math.max(middle - span * at, 0), 1 - span);
      to = from + span;
      ask();
    }
    function pan(by) {
      const span = to - from;
      from = Math.min(Math.max(from + by * span, 0), 1 - span);
      to = from + span;
      ask();
    }
    function spot(event) {
      const box = canvas.getBoundingClientRect();
      const number = Math.floor((event.clientY - box.top + view.scrollTop - 2) / ROW);
      return { number, at: (event.clientX - box.left - LEFT) / (view.clientWidth - LEFT - 8) };
    }
    function under(number, at) {
      const lane = lanes[number];
      if (!lane || lane.folded || at < 0 || at > 1) return null;
      const own = ready(lane), span = own.high - own.low, value = own.low + (from + at * (to - from)) * span;
      const near = ((to - from) * span * 3) / Math.max(view.clientWidth - LEFT, 1);
      const hit = (row) => start(row) - near <= value && stop(row, own.high) + near >= value;
      const special = own.special.find(hit);
      if (special !== undefined) return special;
      for (let index = below(own.starts, value + near) - 1, tries = 0; index >= 0 && tries < 2000; index--, tries++)
        if (hit(own.rows[index])) return own.rows[index];
      return null;
    }
    function changeAt(number, at) {
      const lane = lanes[number];
      if (!lane || lane.folded || $("lanes").value !== "log" || at < 0 || at > 1) return undefined;
      const own = ready(lane), span = own.high - own.low, value = own.low + (from + at * (to - from)) * span;
      const near = ((to - from) * span * 4) / Math.max(view.clientWidth - LEFT, 1);
      return (about.leaders[lane.key] ?? []).find((change) => {
        const place = change[axis() === "offset" ? 1 : 0];
        return place !== null && Math.abs(place - value) <= near;
      });
    }
    function changeWords([since, first, epoch, leader, change]) {
      const who = leader === null ? (change === null ? "leader unknown" : "no leader") : `broker ${leader} leads`;
      return `leader epoch ${epoch} from offset ${first} on: ${who}${change ? `, ${change}` : ""}${since === null ? "" : `, ${new Date(since).toISOString()}`}`;
    }
    function list(rows, caption) {
      const table = make("table"), head = make("tr"), body = make("tbody");
      HEADS.forEach((text) => head.append(make("th", text, { scope: "col" })));
      for (const row of rows) {
        const line = make("tr");
        words(row).forEach((text) => line.append(make("td", text)));
        body.append(line);
      }
      const heads = make("thead");
      heads.append(head);
      table.append(make("caption", caption), heads, body);
      picked.replaceChildren(table);
    }
    function listLane(number) {
      const lane = lanes[number];
      if (!lane || unfold(number)) return;
      const own = ready(lane), span = own.high - own.low, left = own.low + from * span, right = own.low + to * span;
      const seen = [];
      for (const row of own.special) if (seen.length < 100 && start(row) < right && stop(row, own.high) >= left) seen.push(row);
      for (let index = below(own.starts, left - own.longest); index < own.rows.length && own.starts[index] < right && seen.length < 200; index++)
        if (data.state[own.rows[index]] === COMMITTED && stop(own.rows[index], own.high) >= left) seen.push(own.rows[index]);
      list(seen, `${own.name}: ${seen.length} transactions in view${seen.length >= 100 ? ", the first ones" : ""}`);
    }
    function show(name) {
      const one = about.incidents[name];
      if (!one) return;
      incident = name;
      $("lanes").value = "log";
      $("axis").value = "offset";
      $("state").value = "";
      $("search").value = "";
      build();
      const number = lanes.findIndex((lane) => !lane.folded && one.partitions.includes(laneName(lane.key)));
      whole();
      if (number >= 0) {
        chosen = number;
        view.scrollTop = Math.max(number * ROW - 60, 0);
        if (one.first !== null) {
          const own = ready(lanes[number]), span = own.high - own.low;
          const last = one.last === null ? own.high : Math.max(one.last + 1, one.first + 1);
          const room = Math.max((last - one.first) * 0.5, span * 1e-9);
          from = Math.min(Math.max((one.first - room - own.low) / span, 0), 0.999999);
          to = Math.min(Math.max((last + room - own.low) / span, from + 1e-9), 1);
        }
        listLane(number);
      }
      document.querySelectorAll(".incident").forEach((made) => made.classList.toggle("chosen", made.id === `incident-${name}`));
      ask();
    }

    let dragged = null;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, Math.min(Math.max(spot(event).at, 0), 1));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      dragged = { x: event.clientX, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (dragged) {
        const by = (dragged.x - event.clientX) / (view.clientWidth - LEFT);
        if (Math.abs(dragged.x - event.clientX) > 2) {
          dragged = { x: event.clientX, moved: true };
          pan(by);
        }
        return;
      }
      const { number, at } = spot(event), row = under(number, at), change = changeAt(number, at);
      tip.hidden = row === null && !change;
      if (!tip.hidden) {
        const said = change ? [changeWords(change)] : [];
        if (row !== null) said.push(...words(row).map((text, index) => `${HEADS[index]}: ${text}`));
        tip.textContent = said.join("\n");
        tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 320)}px`;
        tip.style.top = `${event.clientY + 12}px`;
      }
    });
    canvas.addEventListener("pointerleave", () => (tip.hidden = true));
    canvas.addEventListener("pointerup", (event) => {
      const moved = dragged?.moved;
      dragged = null;
      if (moved) return;
      const { number, at } = spot(event), row = under(number, at);
      chosen = Math.min(number, lanes.length - 1);
      if (row !== null) list([row], "The chosen transaction");
      else listLane(number);
      const framed = lanes[number] && !lanes[number].folded && axis() === "offset" ? laneIncidents.get(laneName(lanes[number].key)) : undefined;
      if (framed && (row === null || data.state[row] !== COMMITTED)) {
        document.querySelectorAll(".incident").forEach((made) => made.classList.toggle("chosen", framed.some((one) => made.id === `incident-${one.name}`)));
        $("status").textContent = `Incident: ${$(`incident-${framed[0].name}`)?.querySelector("h3")?.textContent ?? ""}`;
      }
      ask();
    });
    canvas.addEventListener("dblclick", (event) => zoom(0.4, Math.min(Math.max(spot(event).at, 0), 1)));
    canvas.addEventListener("keydown", (event) => {
      const keys = {
        ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), "+": () => zoom(0.7, 0.5), "=": () => zoom(0.7, 0.5),
        "-": () => zoom(1.4, 0.5), Home: () => pan(-1e9), End: () => pan(1e9), 0: () => zoom(1e12, 0.5),
        ArrowUp: () => (chosen = Math.max(chosen - 1, 0)), ArrowDown: () => (chosen = Math.min(chosen + 1, lanes.length - 1)),
        Enter: () => listLane(chosen),
      };
      if (!(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
      if (event.key.startsWith("Arrow") && lanes[chosen]) {
        const y = chosen * ROW;
        if (y < view.scrollTop) view.scrollTop = y;
        if (y + ROW > view.scrollTop + canvas.clientHeight - FOOT) view.scrollTop = y + ROW - canvas.clientHeight + FOOT;
        $("status").textContent = lanes[chosen].folded ? `${foldName(lanes[chosen], 200)}: ${foldWords(lanes[chosen])}` : ready(lanes[chosen]).name;
      }
      ask();
    });
    const whole = () => ([from, to] = [0, 1]);
    for (const name of ["lanes", "axis"]) $(name).addEventListener("change", () => { whole(); build(); });
    $("state").addEventListener("change", build);
    $("search").addEventListener("input", build);
    $("whole").addEventListener("click", () => { whole(); incident = null; ask(); });
    view.addEventListener("scroll", ask);
    addEventListener("resize", ask);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); ask(); });
    canvas.addEventListener("focus", ask);
    canvas.addEventListener("blur", ask);
    for (const link of document.querySelectorAll("[data-incident]")) link.addEventListener("click", () => show(link.dataset.incident));
    readColors();
    build();
  }

  $("rows").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of document.querySelectorAll("#tables tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  document.body.classList.add("with-script");
  ($("about") ? unpack().then(timeline) : Promise.resolve()).then(() => document.body.classList.add("ready"));
})();
