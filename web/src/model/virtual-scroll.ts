/** Scroll bars of what is longer than an element can be: beyond that length they move in larger steps. */

/** Browsers have no longer elements. */
const MAX_ELEMENT_SIZE = 4_000_000;

/** How long the element is. */
export function scrollLength(whole: number): number {
  return Math.min(whole, MAX_ELEMENT_SIZE);
}

/** Where the bar stands for a place in the whole, of which `view` is seen. */
export function scrollOffset(place: number, whole: number, view: number): number {
  return whole <= MAX_ELEMENT_SIZE ? place : (place / (whole - view)) * (MAX_ELEMENT_SIZE - view);
}

/** The place for which the bar stands there. A bar that is where it stood for `before` leaves it as it is. */
export function contentOffset(bar: number, whole: number, view: number, before: number): number {
  if (Math.abs(bar - scrollOffset(before, whole, view)) < 1) return before;
  return whole <= MAX_ELEMENT_SIZE ? bar : (bar / (MAX_ELEMENT_SIZE - view)) * (whole - view);
}
