/** 24 bytes: a whole number of base64 groups, so that the text of every marked secret begins alike. */
export const markedBytes = Buffer.from('marked-bytes-of-a-secret');

/** Secrets that tests write by hand: tokens in the URLs of alert channels, credentials of endpoints, keys of the profile body-hmac. */
const writtenByHand = [
  'T0KEN-which-nobody-may-see',
  'contact-token-0123456789',
  'token-of-merchant',
  'token-of-theirs',
  'value-of-theirs',
  'a plain secret of the ',
];

/** What a leaked secret looks like in text: as it is written, as hex, and as the bytes themselves. */
export const markers = [
  ...[markedBytes.toString('base64'), markedBytes.toString('hex'), markedBytes.toString('latin1')],
  ...writtenByHand,
];

/** The places where a marker stands in a text, each with what surrounds it; the secret itself is not repeated. */
export function findMarkers(text) {
  const found = [];
  for (const marker of markers) {
    for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
      found.push(text.slice(Math.max(0, at - 160), at).replace(/\s+/g, ' ') + '[marked secret]');
    }
  }
  return found;
}
