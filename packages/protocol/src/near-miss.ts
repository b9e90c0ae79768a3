import { isSuccessStatus, isWord, readCode, trim, type AckRule, type GivenReply } from './acknowledge.js';

const headBytes = 1024; // a hint looks at the beginning only

/**
 * Why a reply that looks meant well does not acknowledge, in words for the attempt log; `undefined` when nothing better than the
 * status can be said. Made of fixed text: it never quotes the body.
 */
export function nearMissHint(rule: AckRule, reply: GivenReply): string | undefined {
  const { status, body } = reply;
  if (status >= 300 && status <= 399) return 'redirects are not followed; register the final URL';
  if (!isSuccessStatus(status)) {
    return rule === 'success' && isWord(body, 'success')
      ? 'the body was the word, but only a 2xx status acknowledges'
      : undefined;
  }
  switch (rule) {
    case 'success':
      return wordHint(status, trim(body));
    case 'json-code':
      return codeHint(trim(body));
    case 'status':
      return undefined;
    default:
      return rule satisfies never;
  }
}

function wordHint(status: number, core: Uint8Array): string | undefined {
  if (isWord(core, 'success')) return undefined;
  if (status === 204 || status === 205) return `status ${status} carries no body; reply 200 with the bare word success`;
  if (core.length === 0) return 'the body was empty; reply with the bare word success';
  if (core.includes(0)) return 'the body was UTF-16 or binary; reply with the 7 ASCII bytes success';
  const text = Buffer.from(core.buffer, core.byteOffset, Math.min(core.length, headBytes))
    .toString('latin1')
    .toLowerCase();
  if (text === '"success"') return 'the body was the JSON string "success"; reply with the bare word';
  if (text === "'success'") return 'the body was the word in quotes; reply with the bare word';
  if (/^(?:fail|failed|failure|error)\b/.test(text)) return undefined;
  if (text.startsWith('<')) return 'the body was an HTML or XML page; reply with the bare word success';
  if (text.startsWith('{') || text.startsWith('[')) {
    return 'the body was JSON; reply with the bare word success, or give this endpoint the rule json-code or status';
  }
  if (/^(?:ok|okay|true|succeeded|successful|received|accepted|1|200)\W*$/.test(text)) {
    return 'the body was another word; reply with the bare word success';
  }
  return text.includes('success')
    ? 'the body held the word among other text; reply with the bare word alone'
    : undefined;
}

function codeHint(core: Uint8Array): string | undefined {
  if (core.length === 0) return 'the body was empty; reply {"code":"SUCCESS"}';
  if (isWord(core, 'success'))
    return 'the body was the bare word; this endpoint\'s rule is json-code: reply {"code":"SUCCESS"}';
  const code = readCode(core);
  if (code === '0') return 'code was the string "0"; reply the number 0 or "SUCCESS"';
  if (code === 200 || code === '200') return 'code was an HTTP status; reply {"code":"SUCCESS"} or {"code":0}';
  if (typeof code === 'string' && code.toUpperCase() === 'SUCCESS') return 'code must be SUCCESS in capitals';
  return code === undefined
    ? 'the body was not a JSON object with the member code; reply {"code":"SUCCESS"}'
    : undefined;
}
