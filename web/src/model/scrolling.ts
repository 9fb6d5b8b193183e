/** Scroll bars of what is longer than an element can be: beyond that length they move in larger steps. */

/** Browsers have no longer elements. */
const LONGEST = 4_000_000;

/** How long the element is. */
export function lengthFor(whole: number): number {
  return Math.min(whole, LONGEST);
}

/** Where the bar stands for a place in the whole, of which `view` is seen. */
export function barAt(place: number, whole: number, view: number): number {
  return whole <= LONGEST ? place : (place / (whole - view)) * (LONGEST - view);
}

/** The place for which the bar stands there. A bar that is where it stood for `before` leaves it as it is. */
export function placeAt(bar: number, whole: number, view: number, before: number): number {
  if (Math.abs(bar - barAt(before, whole, view)) < 1) return before;
  return whole <= LONGEST ? bar : (bar / (LONGEST - view)) * (whole - view);
}
