/** Long press, which opens the context menu by touch. iOS has no contextmenu event. */

const DELAY = 600;
const MOVE_TOLERANCE = 10;

export class LongPress {
  /** Whether the current touch was a long press. */
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
