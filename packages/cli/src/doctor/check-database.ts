import type { Sender } from '@bestnotify/sender';
import { describeError, type Finding } from './finding.js';

const oldestServer = 140_000;
const clockWarnMs = 5_000;
const clockFailMs = 120_000; // a receiver refuses at 300 s, and its own clock may be off as well

export interface DatabaseParts {
  url: string;
  schema: string;
  sender: Pick<Sender, 'printMigrations'>;
  now: () => Date;
}

interface Facts {
  version: number;
  readOnly: string;
  atMs: string;
  hasTables: boolean;
}

/** The server, the tables in it, and its clock: everything else goes by that clock. */
export async function checkDatabase({ url, schema, sender, now }: DatabaseParts): Promise<Finding[]> {
  const { default: postgres } = await import('postgres'); // late: every other command starts without it
  const sql = postgres(url, {
    max: 1,
    connect_timeout: 5,
    prepare: false,
    fetch_types: false,
    onnotice: () => undefined,
  });
  try {
    const askedAtMs = now().getTime();
    const [facts] = await sql<Facts[]>`
      select current_setting('server_version_num')::int as version, current_setting('transaction_read_only') as "readOnly",
             (extract(epoch from clock_timestamp()) * 1000)::bigint::text as "atMs",
             to_regclass(${`${schema}.migration`}) is not null as "hasTables"`;
    const midwayMs = (askedAtMs + now().getTime()) / 2;
    if (facts === undefined) return [];
    const findings = [serverFinding(facts), clockFinding(Number(facts.atMs) - midwayMs)];
    const known = newestVersion(sender.printMigrations());
    if (!facts.hasTables) return [...findings, schemaFinding({ schema, known, version: 0 })];
    const [row] = await sql<
      { version: number }[]
    >`select coalesce(max(version), 0)::int as version from ${sql(schema)}.migration`;
    return [...findings, schemaFinding({ schema, known, version: row?.version ?? 0 })];
  } catch (error) {
    return [
      {
        check: 'database',
        result: 'fail',
        message: `PostgreSQL cannot be asked: ${describeError(error)}`,
        next: 'Check DATABASE_URL, the network to that host, and the rights of the role.',
      },
    ];
  } finally {
    await sql.end({ timeout: 2 });
  }
}

function serverFinding({ version, readOnly }: Facts): Finding {
  const message = `PostgreSQL ${Math.floor(version / 10_000)}`;
  if (version < oldestServer) {
    return { check: 'database', result: 'fail', message, next: 'Use PostgreSQL 14 or newer.' };
  }
  if (readOnly === 'on') {
    return {
      check: 'database',
      result: 'fail',
      message: `${message}, read-only`,
      next: 'Connect to the primary, not to a standby.',
    };
  }
  return { check: 'database', result: 'ok', message };
}

function clockFinding(offMs: number): Finding {
  const message = `this host is ${Math.abs(offMs / 1000).toFixed(1)} s ${offMs > 0 ? 'behind' : 'ahead of'} the database`;
  if (Math.abs(offMs) < clockWarnMs) return { check: 'clock', result: 'ok', message };
  const next = 'Let NTP or chrony set the clock of both hosts: receivers refuse times that are 300 s off.';
  return { check: 'clock', result: Math.abs(offMs) < clockFailMs ? 'warn' : 'fail', message, next };
}

function schemaFinding({ schema, known, version }: { schema: string; known: number; version: number }): Finding {
  if (version === 0) {
    return {
      check: 'schema',
      result: 'fail',
      message: `schema ${schema} has no outbox tables`,
      next: 'Run bestnotify migrate.',
    };
  }
  const message = `schema ${schema} is at version ${version}, this release knows ${known}`;
  if (version < known) return { check: 'schema', result: 'warn', message, next: 'Run bestnotify migrate.' };
  if (version > known)
    return { check: 'schema', result: 'warn', message, next: 'Upgrade @bestnotify/cli and the workers.' };
  return { check: 'schema', result: 'ok', message };
}

function newestVersion(script: string): number {
  return Math.max(...[...script.matchAll(/^-- version (\d+)$/gm)].map(([, version]) => Number(version)));
}
