import {
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";

export interface MenuItem {
  id: string;
  label: string;
  keys?: string | undefined;
  icon?: ReactNode;
  disabled?: boolean;
  /** Set for checkable items. */
  checked?: boolean | undefined;
  /** Whether a separator is above it. */
  line?: boolean;
  run(): void;
}

interface Props {
  label: string;
  items: MenuItem[];
  /** The position of its corner, in window pixels. */
  x: number;
  y: number;
  onClose(): void;
}

/** A popup menu with the usual keyboard navigation. */
export function Menu({ label, items, x, y, onClose }: Props): ReactElement {
  const ref = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement);

  useLayoutEffect(() => {
    const menu = ref.current;
    if (menu === null) return;
    const { width, height } = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    enabled(menu)[0]?.focus();
  }, [x, y]);

  useEffect(() => {
    const outside = (event: PointerEvent) => {
      if (!ref.current?.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [onClose]);

  function close() {
    onClose();
    if (before.current instanceof HTMLElement) before.current.focus();
  }
  function key(event: KeyboardEvent) {
    event.stopPropagation();
    const all = enabled(ref.current);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const places: Record<string, number> = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    const place = places[event.key];
    if (place !== undefined) all[place]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key.length === 1) {
      const letter = event.key.toLowerCase();
      const next = [...all.slice(at + 1), ...all.slice(0, at + 1)];
      next.find((item) => item.textContent?.trim().toLowerCase().startsWith(letter))?.focus();
    } else return;
    event.preventDefault();
  }
  return (
    <div className="menu" role="menu" aria-label={label} ref={ref} onKeyDown={key} tabIndex={-1}>
      {items.map((item) => (
        <button
          key={item.id}
          type="button"
          role={item.checked === undefined ? "menuitem" : "menuitemradio"}
          {...(item.checked === undefined ? {} : { "aria-checked": item.checked })}
          className={item.line ? "menu-item line" : "menu-item"}
          disabled={item.disabled ?? false}
          tabIndex={-1}
          onClick={() => {
            close();
            item.run();
          }}
        >
          <span className="menu-icon">{item.checked ? "✓" : item.icon}</span>
          <span className="menu-label">{item.label}</span>
          {item.keys !== undefined && <span className="menu-keys">{item.keys}</span>}
        </button>
      ))}
    </div>
  );
}

function enabled(menu: HTMLElement | null): HTMLElement[] {
  return menu === null ? [] : [...menu.querySelectorAll<HTMLElement>("button:not(:disabled)")];
}
