/** A ref callback that scrolls an element into view when it is mounted. */
export function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
