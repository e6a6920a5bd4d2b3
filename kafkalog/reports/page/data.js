// The data that the report's maker packed: deflated, in base64.
async function inflated(text) {
  const packed = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Transactions as columns: varints of zigzag numbers, in the order in which packed.py writes them.
async function transactions() {
  const bytes = await inflated($("packed").textContent);
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
    begin: summed(numbers()), ended: numbers(), ownFirst: numbers(), ownLast: numbers(),
    decided: summed(numbers(about.decisions)), decidedId: numbers(about.decisions), abort: numbers(about.decisions),
  };
  for (let row = 0; row < about.rows; row++) {
    data.last[row] += data.first[row];
    data.marker[row] = data.marker[row] ? data.marker[row] - 1 + data.last[row] : NaN;
    data.ended[row] = data.ended[row] ? data.ended[row] - 1 + data.begin[row] : NaN;
    for (const own of [data.ownFirst, data.ownLast]) own[row] = own[row] ? (own[row] - 1) / 2 + data.begin[row] : NaN;
  }
  return data;
}
