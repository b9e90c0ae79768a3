import { BytesError } from './errors.js';

/** @throws {@link BytesError} unless `body` is a Uint8Array (a Buffer is one), of this realm or another. */
export function checkBytes(body: unknown): asserts body is Uint8Array {
  // A Buffer under a test runner that isolates globals is no instance of this realm's Uint8Array.
  if (body instanceof Uint8Array || Object.prototype.toString.call(body) === '[object Uint8Array]') return;
  throw new BytesError({ given: body === null ? 'null' : typeof body });
}
