/** A finger that rests opens the menu. Some browsers tell of it themselves; those of iPads and iPhones never do. */

const DELAY = 600;
const MOVE_TOLERANCE = 10;

export class LongPress {
  /** Whether the finger that is down has rested. */
  fired = false;
  private timer = 0;
  private from: PointerEvent | null = null;

  constructor(private readonly onLongPress: (event: PointerEvent) => void) {}

  down(event: PointerEvent): void {
    this.end();
    if (event.pointerType !== "touch" || !event.isPrimary) return;
    this.from = event;
    this.timer = window.setTimeout(() => {
      this.fired = true;
      this.onLongPress(event);
    }, DELAY);
  }

  move({ clientX, clientY }: PointerEvent): void {
    const { from } = this;
    if (from && Math.hypot(clientX - from.clientX, clientY - from.clientY) > MOVE_TOLERANCE) this.stop();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.stop();
    this.fired = false;
  }
}
