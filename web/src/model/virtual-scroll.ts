/** Virtual scrolling of content longer than a browser's largest element: the scroll offset is scaled. */

/** Browsers limit the size of elements. */
const MAX_ELEMENT_SIZE = 4_000_000;

/** The size of the scrolled element. */
export function scrollLength(whole: number): number {
  return Math.min(whole, MAX_ELEMENT_SIZE);
}

/** The scroll offset for a content offset, with `view` visible. */
export function scrollOffset(place: number, whole: number, view: number): number {
  return whole <= MAX_ELEMENT_SIZE ? place : (place / (whole - view)) * (MAX_ELEMENT_SIZE - view);
}

/** The content offset for a scroll offset; `before` if the scroll offset is still that of it. */
export function contentOffset(bar: number, whole: number, view: number, before: number): number {
  if (Math.abs(bar - scrollOffset(before, whole, view)) < 1) return before;
  return whole <= MAX_ELEMENT_SIZE ? bar : (bar / (MAX_ELEMENT_SIZE - view)) * (whole - view);
}
