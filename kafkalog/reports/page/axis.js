// Rulers: round numbers and times, and what is written at them.
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const TIME_STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE,
  2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY,
  2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY,
];
function offsetTicks(low, high, most) {
  let step = 1;
  for (let number = 0; (high - low) / step > most; number++) step = [1, 2, 5][number % 3] * 10 ** Math.floor(number / 3);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high && found.length < 50; at += step) found.push({ at, text: many(at) });
  return found;
}
function timeTicks(low, high, most) {
  const step = TIME_STEPS.find((one) => (high - low) / one <= most) ?? 365 * DAY;
  const ahead = aheadAt(low) * MINUTE, found = [];
  let day = "";
  for (let at = Math.ceil((low + ahead) / step) * step - ahead; at <= high && found.length < 50; at += step) {
    const text = new Date(at + aheadAt(at) * MINUTE).toISOString();
    const date = text.slice(0, 10);
    const clock = step < SECOND ? text.slice(11, 23) : step < MINUTE ? text.slice(11, 19) : step < DAY ? text.slice(11, 16) : "";
    found.push({ at, text: clock || date, above: clock && date !== day ? date : "" });
    day = date;
  }
  return found;
}
