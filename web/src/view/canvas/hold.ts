/** A finger that rests opens the menu. Some browsers tell of it themselves; those of iPads and iPhones never do. */

const REST = 600;
const SLOP = 10;

export class Hold {
  /** Whether the finger that is down has rested. */
  held = false;
  private timer = 0;
  private from: PointerEvent | null = null;

  constructor(private readonly rested: (event: PointerEvent) => void) {}

  down(event: PointerEvent): void {
    this.end();
    if (event.pointerType !== "touch" || !event.isPrimary) return;
    this.from = event;
    this.timer = window.setTimeout(() => {
      this.held = true;
      this.rested(event);
    }, REST);
  }

  move({ clientX, clientY }: PointerEvent): void {
    const { from } = this;
    if (from && Math.hypot(clientX - from.clientX, clientY - from.clientY) > SLOP) this.stop();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.stop();
    this.held = false;
  }
}
