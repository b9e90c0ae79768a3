import { createHash } from 'node:crypto';
import { ConfigurationError } from '../../errors.js';
import { checkOptionalText } from '../check-values.js';
import { intOf, textOf, textOrNull, type Parameter, type Row } from '../database.js';
import type { OperationContext } from './context.js';
import { checkFilter, conditionsOf, type NotificationFilter } from './filter.js';
import { driversOf, isDueOrder, scanLimit, type Driver } from './list-drivers.js';
import { selectSummaries, summaryOf, type NotificationSummary } from './queries.js';

/** Which notifications to list: pending ones by when they are due, all others newest first. */
export interface ListFilter extends NotificationFilter {
  /** At most 500. @default 50 */
  limit?: number;
  /** `next` of the page before, of the same filter. */
  after?: string;
}

/**
 * A page of notifications of this source.
 *
 * One call looks at 5,000 rows at most, however rare what is asked for is: a page may hold less than `limit`, even
 * nothing, and still have a `next` to go on from. It is null only on the last page.
 */
export async function list(
  context: OperationContext,
  filter: ListFilter = {},
): Promise<{ items: NotificationSummary[]; next: string | null }> {
  const { limit = 50, after, ...wanted } = filter;
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 500)) {
    throw new ConfigurationError({ option: 'limit', problem: 'must be a whole number from 1 to 500' });
  }
  checkFilter(wanted);
  checkOptionalText('after', after);
  const filterMark = createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 8);
  const position = after === undefined ? undefined : positionOf(after, filterMark, isDueOrder(wanted));
  // Most pages are full after a few rows; only what is rare is looked for further back.
  for (const scan of [Math.min(4 * (limit + 1), scanLimit), scanLimit]) {
    const page = await readPage(context, { filter: wanted, limit, place: { position, scan } });
    if (page.isWhole || scan === scanLimit) {
      const next = page.last === undefined ? null : [filterMark, ...placeOf(page.last)].join('.');
      return { items: page.rows.map(summaryOf), next };
    }
  }
  throw new Error('the last scan of a list gives a page');
}

/** `last` is where to go on; `isWhole` says that looking further back would not add to this page. */
async function readPage(
  context: OperationContext,
  question: { filter: NotificationFilter; limit: number; place: { position: string[] | undefined; scan: number } },
): Promise<{ rows: Row[]; last: Row | undefined; isWhole: boolean }> {
  const { filter, limit, place } = question;
  const { driver, parameters, isWhole } = await chooseDriver(context, filter, place);
  const conditions = ['n.source = $1', ...conditionsOf(filter, parameters)];
  const found = await context.database.query(
    pageStatement(context.schema, { driver, conditions, limit: limit + 1 }),
    parameters,
  );
  const rows = found.slice(0, limit);
  if (found.length > limit) return { rows, last: rows.at(-1), isWhole: true };
  const last = isWhole ? undefined : await lastScanned(context, driver);
  return { rows, last, isWhole: last === undefined };
}

/** The rows are joined one by one: a hash join of two whole tables looks cheaper to the planner than it is. */
function pageStatement(schema: string, page: { driver: Driver; conditions: string[]; limit: number }): string {
  const { driver, conditions, limit } = page;
  return `${selectSummaries(schema, {
    more: `, ${driver.isDueOrder ? 's.due_us::text' : 'null::text'} as due_us`,
    from: (name) => `(${driver.sql}) s
  cross join lateral (select * from ${name}.notification n where n.number = s.number offset 0) n
  cross join lateral (select * from ${name}.outbox o where o.number = s.number offset 0) o`,
  })} where ${conditions.join(' and ')} order by ${driver.isDueOrder ? 's.due_us, s.number' : 's.number desc'} limit ${limit}`;
}

/** So few rows are joined faster than they are narrowed down. */
const fewRows = 200;

/** Those that can be read to their end within a page's share of rows, together if there are two; else the likeliest to be dense. */
async function chooseDriver(
  context: OperationContext,
  filter: NotificationFilter,
  place: { position: string[] | undefined; scan: number },
): Promise<{ driver: Driver; parameters: Parameter[]; isWhole: boolean }> {
  const drivers = await driversOf(context, filter, place);
  const whole: { driver: Driver; count: number }[] = [];
  for (const driver of drivers.length > 1 ? drivers : []) {
    const [row] = await context.database.query(
      `select count(*)::int4 as count from (${driver.sql}) s`,
      driver.parameters,
    );
    const count = row === undefined ? driver.scan : intOf(row, 'count');
    if (count < driver.scan) whole.push({ driver, count });
    if (count <= fewRows) break;
  }
  const [first, second] = whole.toSorted((one, other) => one.count - other.count).map(({ driver }) => driver);
  const isFew = whole.some(({ count }) => count <= fewRows);
  const driver = first === undefined || second === undefined || isFew ? (first ?? drivers[0]) : both(first, second);
  if (driver === undefined) throw new Error('no driver for a list');
  return { driver, parameters: [...driver.parameters], isWhole: first !== undefined };
}

/** What both lead to: of thousands that each of two filters names, often none is named by both. */
function both(one: Driver, other: Driver): Driver {
  const offset = one.parameters.length;
  const sql = other.sql.replaceAll(/\$(\d+)/g, (_, number: string) => `$${offset + Number(number)}`);
  return {
    ...one,
    sql: `select number from ((${one.sql}) intersect (${sql})) i order by number desc limit ${one.scan}`,
    parameters: [...one.parameters, ...other.parameters],
  };
}

/** Where a page that was not filled has stopped looking; undefined if it has seen everything. */
async function lastScanned(context: OperationContext, driver: Driver): Promise<Row | undefined> {
  const order = driver.isDueOrder ? 's.due_us desc, s.number desc' : 's.number';
  const [row] = await context.database.query(
    `select s.number::text as number, ${driver.isDueOrder ? 's.due_us::text' : 'null::text'} as due_us,
            (count(*) over ())::int4 as count
       from (${driver.sql}) s order by ${order} limit 1`,
    driver.parameters,
  );
  return row !== undefined && intOf(row, 'count') >= driver.scan ? row : undefined;
}

function placeOf(row: Row): string[] {
  const due = textOrNull(row, 'due_us');
  return [...(due === null ? [] : [due]), textOf(row, 'number')];
}

function positionOf(after: string, filterMark: string, hasDue: boolean): string[] {
  const [mark, ...position] = after.split('.');
  const isPlace = position.length === (hasDue ? 2 : 1) && position.every((part) => /^-?\d{1,18}$/.test(part));
  if (!isPlace || mark !== filterMark) {
    throw new ConfigurationError({
      option: 'after',
      problem: isPlace ? 'is the next of a page of another filter' : 'is not the next of an earlier page',
      fix: 'Start again from the first page.',
    });
  }
  return position;
}
