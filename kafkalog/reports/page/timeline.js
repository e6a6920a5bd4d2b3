// What the timeline shows: lanes of transactions, those with something wrong first. It draws nothing.
const MOST_LANES = 200000, FOLDED = 20; // more healthy lanes than that are one
const HEADS = [
  "state", "partition", "transactional id", "producer id", "first offset", "last offset", "marker", "records",
  "first record (producer's clock)", "marker written",
];
const NUMBERS = new Set([3, 4, 5, 6, 7]);

function timelineOf(data) {
  const COMMITTED = about.states.indexOf("committed"), ABORTED = about.states.indexOf("aborted");
  const isWrong = (row) => data.state[row] !== COMMITTED && data.state[row] !== ABORTED;
  const laneName = (number) => `${about.lanes[number][0]}-${about.lanes[number][1]}`;
  const replicas = new Map();
  about.lanes.forEach((_, number) => replicas.set(laneName(number), (replicas.get(laneName(number)) ?? 0) + 1));
  const title = (number) => {
    const name = laneName(number), node = about.lanes[number][2];
    return replicas.get(name) > 1 && node !== null ? `${name} (broker ${node})` : name;
  };
  const topics = [...new Set(about.lanes.map((lane) => lane[0]))];
  const topicOf = Int32Array.from(about.lanes, (lane) => topics.indexOf(lane[0]));
  const brokers = [...new Set(about.lanes.map((lane) => lane[2]))];
  const brokerOf = Int32Array.from(about.lanes, (lane) => brokers.indexOf(lane[2]));
  const idOf = (row) => (data.id[row] ? about.ids[data.id[row] - 1] : null);
  const decisionsOf = new Map(); // the numbers of a transactional id's decisions, in their order
  for (let number = 0; number < about.decisions; number++) {
    const id = data.decidedId[number];
    if (!decisionsOf.has(id)) decisionsOf.set(id, []);
    decisionsOf.get(id).push(number);
  }
  const incidentsOf = new Map(); // by partition
  for (const [id, one] of Object.entries(about.incidents))
    for (const partition of one.partitions) {
      if (!incidentsOf.has(partition)) incidentsOf.set(partition, []);
      incidentsOf.get(partition).push({ id, ...one });
    }
  const offsets = { low: Infinity, high: -Infinity };
  for (const lane of about.lanes) {
    offsets.low = Math.min(offsets.low, lane[3]);
    offsets.high = Math.max(offsets.high, lane[4]);
  }
  const [timeLow, timeHigh] = about.axis;

  const words = (row) => {
    const offset = (value) => (Number.isNaN(value) ? "-" : Math.abs(value) >= 2 ** 53 ? "2^53 or more" : String(value));
    const time = (value) => (Number.isNaN(value) ? "-" : timeText(value));
    return [
      about.states[data.state[row]], laneName(data.lane[row]), idOf(row) ?? "-", String(data.producer[row]),
      offset(data.first[row]), offset(data.last[row]), offset(data.marker[row]), String(data.records[row]),
      time(data.ownFirst[row]), Number.isNaN(data.marker[row]) ? "-" : time(data.ended[row]),
    ];
  };

  const begins = (row, axis) => (axis === "time" ? clamp(data.begin[row], timeLow, timeHigh) : data.first[row]);
  const ends = (row, axis) => {
    if (axis !== "time") return data.last[row] + 1;
    return Number.isNaN(data.ended[row]) ? timeHigh : clamp(data.ended[row], timeLow, timeHigh);
  };
  const outside = (row) => data.begin[row] < timeLow || data.begin[row] > timeHigh;

  // Say whether nothing is open, missing, waiting or part of an incident in a lane.
  function isQuiet(lane, kind, incident) {
    if (lane.rows.some(isWrong)) return false;
    if (kind !== "log") return true;
    const [, , , , end, stable] = about.lanes[lane.key];
    return (
      stable >= end && (about.gaps[lane.key] ?? []).every((gap) => gap[2]) &&
      (incidentsOf.get(laneName(lane.key)) ?? []).every((one) => !one.framed && one.id !== incident)
    );
  }

  const nameOf = (key, kind) => {
    if (kind === "log") return title(key);
    if (kind === "topic") return topics[key];
    if (kind === "id") return about.ids[key - 1];
    if (kind === "broker") return brokers[key] === null ? "broker unknown" : `broker ${brokers[key]}`;
    return `producer ${key}`;
  };
  const KINDS = { log: "partitions", topic: "topics", id: "transactional ids", producer: "producers", broker: "brokers" };

  // Return the lanes of a choice: what has one, which state, which words, only problems, healthy ones folded.
  function build(choice) {
    const { kind, axis } = choice, search = choice.search.toLowerCase();
    const state = choice.state === "" ? -1 : about.states.indexOf(choice.state);
    const matches = (text) => text !== null && text.toLowerCase().includes(search);
    const named = search === "" ? null : about.lanes.map((_, number) => matches(laneName(number)));
    const anyNamed = named !== null && named.includes(true);
    const groups = new Map();
    let clocks = 0;
    for (let row = 0; row < about.rows; row++) {
      if (state >= 0 && data.state[row] !== state) continue;
      if (axis === "time") {
        if (data.begin[row] <= NO_TIME) continue;
        if (outside(row)) clocks++;
      }
      const lane = data.lane[row];
      if (named !== null && (anyNamed ? !named[lane] : !matches(idOf(row)) && !matches(String(data.producer[row])))) continue;
      const key = kind === "log" ? lane : kind === "topic" ? topicOf[lane] : kind === "broker" ? brokerOf[lane] : kind === "id" ? data.id[row] : data.producer[row];
      if (kind === "id" && !key) continue;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [row]);
      else group.push(row);
    }
    if (kind === "log" && state < 0)
      about.lanes.forEach((_, number) => {
        if (!groups.has(number) && (named === null || named[number])) groups.set(number, []);
      });
    const every = [...groups.entries()].map(([key, rows]) => ({ key, rows, name: nameOf(key, kind), folded: 0 }));
    const wrong = [], quiet = [];
    for (const lane of every) (isQuiet(lane, kind, choice.incident) ? quiet : wrong).push(lane);
    const hangs = (lane) => lane.rows.reduce((worst, row) => Math.max(worst, isWrong(row) ? data.state[row] : 0), 0);
    const order = (a, b) => (kind === "log" ? a.key - b.key : hangs(b) - hangs(a) || (a.name < b.name ? -1 : 1));
    wrong.sort(order);
    quiet.sort(order);
    let lanes = choice.problems ? wrong : [...wrong, ...quiet];
    if (!choice.problems && choice.fold && quiet.length > FOLDED && search === "" && state < 0)
      lanes = [...wrong, { key: -1, rows: quiet.flatMap((lane) => lane.rows), name: `${many(quiet.length)} healthy ${KINDS[kind]}`, folded: quiet.length }];
    return { lanes: lanes.slice(0, MOST_LANES), more: Math.max(lanes.length - MOST_LANES, 0), clocks };
  }

  // What a lane needs to be drawn, made when it is first seen.
  function ready(lane, axis) {
    if (lane.ready?.axis === axis) return lane.ready;
    let low = timeLow, high = timeHigh;
    if (axis === "common" || (axis === "offset" && lane.folded)) [low, high] = [offsets.low, offsets.high];
    else if (axis === "offset") [low, high] = [about.lanes[lane.key][3], about.lanes[lane.key][4]];
    if (!(high > low)) high = low + 1;
    // Of folded logs each has its own offsets: a record is drawn at its share of its log.
    const share = (row) => {
      const [, , , first, last] = about.lanes[data.lane[row]];
      return low + ((data.first[row] - first) / Math.max(last - first, 1)) * (high - low);
    };
    const start = lane.folded && axis === "offset" ? share : (row) => begins(row, axis);
    const rows = Uint32Array.from(lane.rows), starts = Float64Array.from(rows, start);
    if (axis === "time" || lane.folded) {
      const order = Uint32Array.from(rows.keys()).sort((a, b) => starts[a] - starts[b]);
      rows.set(Uint32Array.from(order, (number) => lane.rows[number]));
      rows.forEach((row, number) => (starts[number] = start(row)));
    }
    let longest = 0, specialLongest = 0;
    const special = [], specialStarts = [];
    rows.forEach((row, number) => {
      const size = ends(row, axis) - starts[number];
      if (data.state[row] !== COMMITTED && !lane.folded) {
        special.push(row);
        specialStarts.push(starts[number]);
        specialLongest = Math.max(specialLongest, size);
      } else longest = Math.max(longest, size);
    });
    return (lane.ready = { axis, low, high, rows, starts, longest, special, specialStarts, specialLongest });
  }

  // How many transactions of each state reach into each column of pixels of a part of a lane. Of committed ones of which
  // a sample is here each stands for several.
  function columnsIn(lane, axis, left, right, width) {
    const own = ready(lane, axis), key = [axis, left, right, width].join();
    if (lane.columns?.key === key) return lane.columns.counts;
    const counts = about.states.map(() => new Float64Array(width + 1)), scale = width / (right - left);
    const add = (row, start) => {
      const end = lane.folded ? start : ends(row, axis);
      if (start >= right || (end <= left && start < left)) return;
      const first = clamp(Math.floor((start - left) * scale), 0, width - 1);
      const last = clamp(Math.ceil((end - left) * scale) - 1, first, width - 1);
      const many = data.state[row] === COMMITTED ? about.every : 1;
      counts[data.state[row]][first] += many;
      counts[data.state[row]][last + 1] -= many;
    };
    for (let at = below(own.starts, left - own.longest); at < own.rows.length && own.starts[at] < right; at++)
      if (lane.folded || data.state[own.rows[at]] === COMMITTED) add(own.rows[at], own.starts[at]);
    for (const row of specialIn(own, left, right)) add(row, begins(row, axis));
    for (const column of counts) for (let at = 1; at <= width; at++) column[at] += column[at - 1];
    lane.columns = { key, counts };
    return counts;
  }

  // The first of ascending values that is not below one.
  const below = (values, value) => {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  // What is not committed of a lane and may reach into a part of it.
  const specialIn = (own, left, right) =>
    own.special.slice(below(own.specialStarts, left - own.specialLongest), below(own.specialStarts, right));

  // The transaction of a lane that is nearest to a place, what is not committed first; null for none.
  function rowAt(lane, axis, value, near) {
    if (!lane || lane.folded) return null;
    const own = ready(lane, axis);
    const hit = (row) => begins(row, axis) - near <= value && ends(row, axis) + near >= value;
    const special = specialIn(own, value - near, value + near).find(hit);
    if (special !== undefined) return special;
    for (let index = below(own.starts, value + near) - 1, tries = 0; index >= 0 && tries < 2000; index--, tries++)
      if (hit(own.rows[index])) return own.rows[index];
    return null;
  }

  // The rows of a lane from one place to another, what is not committed first.
  function rowsIn(lane, axis, left, right) {
    const own = ready(lane, axis);
    const seen = specialIn(own, left, right).filter((row) => ends(row, axis) >= left);
    for (let at = below(own.starts, left - own.longest); at < own.rows.length && own.starts[at] < right; at++)
      if (data.state[own.rows[at]] === COMMITTED && ends(own.rows[at], axis) >= left) seen.push(own.rows[at]);
    return seen;
  }

  // The coordinator's decision that ended a transaction: the last one of its id and kind before its marker.
  function decisionOf(row) {
    if (!data.id[row] || Number.isNaN(data.marker[row])) return null;
    const aborts = data.state[row] === ABORTED ? 1 : 0;
    let found = null;
    for (const number of decisionsOf.get(data.id[row]) ?? [])
      if (data.abort[number] === aborts && data.decided[number] <= data.ended[row]) found = number;
    return found;
  }

  // The same transaction in other partitions: of the same decision, or open as it is; where no decision is known, those
  // of its producer at the same time.
  function others(row) {
    const decision = decisionOf(row), open = Number.isNaN(data.marker[row]), found = new Map();
    const until = open ? Infinity : data.ended[row];
    for (let one = 0; one < about.rows; one++) {
      if (data.producer[one] !== data.producer[row] || data.id[one] !== data.id[row] || data.lane[one] === data.lane[row]) continue;
      if (open !== Number.isNaN(data.marker[one]) || found.has(data.lane[one])) continue;
      const last = Number.isNaN(data.ended[one]) ? Infinity : data.ended[one];
      if (decision === null ? data.begin[one] <= until && last >= data.begin[row] : decisionOf(one) === decision) found.set(data.lane[one], one);
    }
    return { rows: [...found.values()], are: decision !== null || open ? "The same transaction" : "Its producer at the same time" };
  }

  const changeWords = ([since, first, epoch, leader, change]) => {
    const who = leader === null ? (change === null ? "leader unknown" : "no leader") : `broker ${leader} leads`;
    return `leader epoch ${epoch} from offset ${first} on: ${who}${change ? `, ${change}` : ""}${since === null ? "" : `, ${timeText(since)}`}`;
  };

  return {
    data, COMMITTED, isWrong, laneName, title, idOf, decisionsOf, incidentsOf, words, begins, ends, build, ready,
    below, rowAt, rowsIn, specialIn, columnsIn, decisionOf, others, changeWords,
  };
}
