/** The middle of some numbers; between the two in the middle when they are even in count. */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** The value that a `share` of the numbers does not exceed. */
export function percentile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

/**
 * In which order a round takes its subjects: over as many rounds as there are subjects each is once in each place and, of an
 * even number, once right after each other one. What a subject finds cached depends on what ran before it.
 *
 * @param round - from 1.
 */
export function orderOfRound(names, round) {
  const count = names.length;
  const zigzag = names.map((_, place) => (place % 2 === 1 ? (place + 1) / 2 : count - place / 2)); // 0, 1, -1, 2, -2…
  return zigzag.map((step) => names[(round - 1 + step) % count]);
}

/**
 * Measures several subjects in turn, round after round, because a machine's speed drifts by more than they differ.
 *
 * @param subjects - by name, functions that measure once and give a number.
 * @returns by name, the numbers of all rounds.
 */
export async function interleave(subjects, { rounds = 5, unit = 'per second' } = {}) {
  const names = Object.keys(subjects);
  const measured = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const name of orderOfRound(names, round)) measured[name].push(await subjects[name]());
    const line = names.map((name) => `${name} ${format(measured[name].at(-1))}`);
    console.log(`round ${round}/${rounds}: ${line.join(', ')} ${unit}`);
  }
  for (const name of names) console.log(`median: ${name} ${format(median(measured[name]))} ${unit}`);
  return measured;
}

/** How many times as much as `than` there was of `numbers`: the median of the rounds' own ratios. */
export function medianRatio(numbers, than) {
  return round(median(numbers.map((number, index) => number / than[index])));
}

/** To three digits after the point: more is noise. */
export function round(number) {
  return Math.round(number * 1_000) / 1_000;
}

const format = (number) => number.toLocaleString('en-US', { maximumFractionDigits: 1 });
