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
  private held = false;
  private readonly listeners = new Set<Listener>();

  get now(): Cursor | null {
    return this.at;
  }

  /** Whether it stays where it is until it is released. */
  get pinned(): boolean {
    return this.held;
  }

  /** Moves it, unless it is pinned. */
  move(to: Cursor | null): void {
    if (this.held || same(this.at, to)) return;
    this.at = to;
    this.tell();
  }

  /** Moves it although it is pinned, and it stays so. */
  carry(to: Cursor): void {
    if (same(this.at, to)) return;
    this.at = to;
    this.tell();
  }

  /** Pins it at a cell; at the cell where it is pinned, releases it. */
  pin(to: Cursor): void {
    this.held = !(this.held && same(this.at, to));
    this.at = to;
    this.tell();
  }

  /** Pins it at a cell, wherever it was. */
  keep(to: Cursor): void {
    if (this.held && same(this.at, to)) return;
    this.held = true;
    this.at = to;
    this.tell();
  }

  release(): void {
    if (!this.held) return;
    this.held = false;
    this.tell();
  }

  clear(): void {
    this.held = false;
    this.move(null);
  }

  /** Calls back whenever it has moved, or was pinned or released. */
  onChange(call: Listener): () => void {
    this.listeners.add(call);
    return () => this.listeners.delete(call);
  }

  private tell(): void {
    for (const call of this.listeners) call();
  }
}

function same(a: Cursor | null, b: Cursor | null): boolean {
  return a === b || (a?.page === b?.page && a?.pin === b?.pin && String(a?.cell) === String(b?.cell));
}

export const cursor = new SharedCursor();
