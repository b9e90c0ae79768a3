/** Origin and path: a query or user info may hold what only the merchant should see. */
export function describeUrl(url: string): string {
  if (!URL.canParse(url)) return 'a text that is not a URL';
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
