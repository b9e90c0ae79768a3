import { expect } from 'vitest';

// Vitest types its matchers as `any`; inside what is expected they are values like all others.
export const anyText: unknown = expect.any(String);
export const anyNumber: unknown = expect.any(Number);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
export const containing = (text: string): unknown => expect.stringContaining(text);
