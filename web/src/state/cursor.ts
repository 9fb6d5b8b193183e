/**
 * The cell cursor, shared by all views of tensors. It moves with the pointer, many times a second, so that it is kept
 * outside of React's state: views subscribe.
 */

export interface Cursor {
  readonly page: number;
  /** The tensor, "block:pin". */
  readonly pin: string;
  readonly cell: readonly number[];
}

type Listener = () => void;

class SharedCursor {
  private at: Cursor | null = null;
  private isPinned = false;
  private readonly listeners = new Set<Listener>();

  get current(): Cursor | null {
    return this.at;
  }

  /** Whether it ignores the pointer until it is released. */
  get pinned(): boolean {
    return this.isPinned;
  }

  /** Moves the cursor with the pointer, unless it is pinned. */
  hover(to: Cursor | null): void {
    if (this.isPinned || same(this.at, to)) return;
    this.at = to;
    this.notify();
  }

  /** Moves the cursor by keys; if it is pinned it stays so. */
  moveTo(to: Cursor): void {
    if (same(this.at, to)) return;
    this.at = to;
    this.notify();
  }

  /** Pins the cursor at a cell, or releases it if it is pinned there. */
  togglePin(to: Cursor): void {
    this.isPinned = !(this.isPinned && same(this.at, to));
    this.at = to;
    this.notify();
  }

  /** Pins the cursor at a cell. */
  pin(to: Cursor): void {
    if (this.isPinned && same(this.at, to)) return;
    this.isPinned = true;
    this.at = to;
    this.notify();
  }

  release(): void {
    if (!this.isPinned) return;
    this.isPinned = false;
    this.notify();
  }

  clear(): void {
    this.isPinned = false;
    this.hover(null);
  }

  /** Subscribes to moves, pinning and release. */
  onChange(call: Listener): () => void {
    this.listeners.add(call);
    return () => this.listeners.delete(call);
  }

  private notify(): void {
    for (const call of this.listeners) call();
  }
}

function same(a: Cursor | null, b: Cursor | null): boolean {
  return a === b || (a?.page === b?.page && a?.pin === b?.pin && String(a?.cell) === String(b?.cell));
}

export const cursor = new SharedCursor();
