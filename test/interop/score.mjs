import { isDeepStrictEqual } from 'node:util';

/** Collects what was checked, one row per peer and direction, and prints it. */
export function createScore() {
  const rows = [];
  return {
    /** A row of the table; its checks run in the order in which they are awaited. */
    row(peer, direction) {
      const row = { peer, direction, cases: 0, failures: [], skipped: undefined };
      rows.push(row);
      return {
        /** One case: `run` gives what must equal `expected`; what it throws is a failure. */
        async check(name, run, expected = true) {
          row.cases++;
          const actual = await Promise.resolve()
            .then(run)
            .catch((error) => `threw ${error.name}: ${error.message}`);
          if (!isDeepStrictEqual(actual, expected)) {
            row.failures.push(`${name}: wanted ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
          }
        },
        skip(why) {
          row.skipped = why;
        },
      };
    },
    /** Prints the table and what failed; the JSON line comes last. */
    print(write) {
      const lines = rows.map((row) => [row.peer, row.direction, String(row.cases), resultOf(row)]);
      for (const line of columns([['peer', 'direction', 'cases', 'result'], ...lines])) write(line);
      for (const row of rows)
        for (const failure of row.failures) write(`FAILED ${row.peer}, ${row.direction}: ${failure}`);
      const count = (size) => rows.reduce((sum, row) => sum + size(row), 0);
      const failed = count((row) => row.failures.length);
      const passed = count((row) => row.cases) - failed;
      write(JSON.stringify({ passed, failed, skipped: rows.filter((row) => row.skipped).length }));
      return failed === 0;
    },
  };
}

function resultOf({ failures, skipped }) {
  if (skipped) return `skipped: ${skipped}`;
  return failures.length === 0 ? 'passed' : `${failures.length} FAILED`;
}

function columns(lines) {
  const widths = lines[0].map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  return lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd(),
  );
}
