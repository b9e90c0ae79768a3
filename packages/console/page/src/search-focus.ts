import { goTo } from './location.ts';

let isWanted = false;

const field = () => document.querySelector<HTMLInputElement>('[data-search]');

/** Puts the cursor into the search field, on the page that has one. */
export function focusSearch(): void {
  if (field() !== null) {
    field()?.focus();
    return;
  }
  isWanted = true;
  goTo(['notifications']);
}

/** Called by the field once it is there. */
export function focusIfWanted(): void {
  if (isWanted) field()?.focus();
  isWanted = false;
}
