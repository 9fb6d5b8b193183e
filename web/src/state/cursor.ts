/**
 * The cell that is looked at, shared by all that show tensors. It moves with the pointer, many times a second, so that
 * it is kept outside React's state: who shows it listens.
 */

export interface Cursor {
  readonly page: number;
  /** The tensor, as `Look` takes it. */
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

  /** Whether it stays where it is until it is released. */
  get pinned(): boolean {
    return this.isPinned;
  }

  /** Moves it, unless it is pinned. */
  hover(to: Cursor | null): void {
    if (this.isPinned || same(this.at, to)) return;
    this.at = to;
    this.notify();
  }

  /** Moves it although it is pinned, and it stays so. */
  moveTo(to: Cursor): void {
    if (same(this.at, to)) return;
    this.at = to;
    this.notify();
  }

  /** Pins it at a cell; at the cell where it is pinned, releases it. */
  togglePin(to: Cursor): void {
    this.isPinned = !(this.isPinned && same(this.at, to));
    this.at = to;
    this.notify();
  }

  /** Pins it at a cell, wherever it was. */
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

  /** Calls back whenever it has moved, or was pinned or released. */
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
