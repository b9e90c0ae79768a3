import Table from 'cli-table3';
import { printable } from './printable.js';
import type { Terminal } from './terminal.js';

export type Cell = string | number | boolean | Date | null | undefined;

/** A table for people: a heading and lines, without frames, so that it can be read by `awk` too. */
export function renderTable(
  terminal: Terminal,
  heading: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const table = new Table({
    chars: noFrame,
    style: { 'padding-left': 0, 'padding-right': 2, head: [], border: [] },
    head: heading.map((text) => terminal.colours.bold(text)),
  });
  for (const row of rows) table.push(row.map(cellText));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Names and values, one below the other. */
export function renderFacts(terminal: Terminal, facts: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${terminal.colours.dim(name.padEnd(width))}  ${cellText(value)}`).join('\n');
}

function cellText(value: Cell): string {
  if (value === null || value === undefined || value === '') return '-';
  if (value instanceof Date) return value.toISOString();
  return printable(String(value));
}

const noFrame = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
};
