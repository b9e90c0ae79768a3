// C0, DEL, C1, line and paragraph separators, and everything that turns the direction of text or hides in it.
// eslint-disable-next-line no-control-regex -- they are what this is about
const unsafe = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * Text of others for a terminal: nothing in it can move the cursor, colour, ring, link or turn the direction.
 *
 * What is unsafe is shown as its escape, `\u001b`, so that an operator sees what was there.
 */
export function printable(text: string): string {
  return text.replace(unsafe, escape);
}

/** One line of JSON with the same characters escaped: a terminal is as likely a reader of it as a program. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(unsafe, escape); // they can only stand inside strings
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
