import type { Texts } from './texts/en.ts';

/** `850 ms`, `1.2 s`, `3 min`, `2 h 5 min`, `4 d`: at most two units, as many digits as matter. */
export function formatDuration(ms: number, { units: u }: Texts): string {
  const seconds = ms / 1000;
  if (ms < 1000) return `${Math.round(ms)} ${u.ms}`;
  if (seconds < 10) return `${seconds.toFixed(1)} ${u.s}`;
  if (seconds < 60) return `${Math.round(seconds)} ${u.s}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} ${u.min}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} ${u.h}` : `${hours} ${u.h} ${minutes % 60} ${u.min}`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 || days >= 7 ? `${days} ${u.d}` : `${days} ${u.d} ${hours % 24} ${u.h}`;
}

/** How far away a moment is, in words. */
export function formatDistance(at: string, nowMs: number, t: Texts): string {
  const ms = new Date(at).getTime() - nowMs;
  if (Math.abs(ms) < 1000) return t.common.now;
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const text = seconds < 60 ? `${seconds} ${t.units.s}` : formatDuration(seconds * 1000, t);
  return ms < 0 ? t.common.ago(text) : t.common.in(text);
}

/** Day and time to the second, in the reader's own zone. */
export function formatMoment(at: string, language: string): string {
  return new Intl.DateTimeFormat(language, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(new Date(at));
}

export function formatCount(count: number, language: string): string {
  return new Intl.NumberFormat(language).format(count);
}

/** A count that stops at a limit says so. */
export function formatCapped(count: number, limit: number, { t, language }: { t: Texts; language: string }): string {
  const text = formatCount(count, language);
  return count >= limit ? t.common.capped(text) : text;
}

/** A share as a percentage that is 100 % only if it is all, and 0 % only if it is nothing. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (100 * part) / whole;
  if (part === whole) return '100 %';
  if (part === 0) return '0 %';
  return `${Math.min(99.9, Math.max(0.1, percent)).toFixed(1)} %`;
}
