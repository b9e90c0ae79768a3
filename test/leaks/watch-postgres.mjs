import postgres from 'postgres';
import { markers } from './marker.mjs';

/** Where secrets may stand, sealed or not. */
const secretTables = ['endpoint_secret', 'endpoint_wire'];

/**
 * Looks through every table of a schema at the moment it is dropped, and keeps the rows in which a marker stands.
 *
 * @returns `found()`: those rows, and those of the schemas that are still there; and `searched()`: how many tables.
 */
export async function watchPostgres(url) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const like = markers.map((marker) => `%${marker}%`);
  await sql.unsafe(`
    create schema leak_watch;
    create table leak_watch.found (at text, contents text);
    create table leak_watch.searched (name text);
    grant usage on schema leak_watch to public;
    grant all on all tables in schema leak_watch to public;
    create function leak_watch.search(dropped text) returns void language plpgsql security definer as $$
    declare t record;
    begin
      for t in select schemaname, tablename from pg_tables
                where schemaname = dropped and tablename <> all (array['${secretTables.join("','")}']) loop
        execute format('insert into leak_watch.found select %L, left(r::text, 400) from %I.%I r where r::text like any (%L::text[])',
                       t.tablename, t.schemaname, t.tablename, array['${like.join("','")}']);
        insert into leak_watch.searched values (t.tablename);
      end loop;
    end $$;
    create function leak_watch.on_drop() returns event_trigger language plpgsql security definer as $$
    begin
      perform leak_watch.search((regexp_match(current_query(), 'drop schema (?:if exists )?"?([a-z_0-9]+)"?', 'i'))[1]);
    end $$;
    create event trigger leak_watch on ddl_command_start when tag in ('DROP SCHEMA') execute function leak_watch.on_drop();
  `);
  return {
    async found() {
      const left =
        await sql`select nspname from pg_namespace where nspname !~ '^(pg_|information_schema|public|leak_watch)'`;
      for (const { nspname } of left) await sql`select leak_watch.search(${nspname})`;
      const rows = await sql`select at, contents from leak_watch.found`;
      return rows.map(({ at, contents }) => `table ${at}: ${contents}`);
    },
    async searched() {
      const [row] = await sql`select count(*)::int as count from leak_watch.searched`;
      return row.count;
    },
    close: () => sql.end(),
  };
}
