import { type KeyboardEvent, type ReactElement, useEffect, useId, useRef, useState } from "react";

export interface ListBoxItem {
  id: string;
  name: string;
  detail?: string;
  /** Why it is disabled. */
  why?: string | undefined;
}

interface Props {
  label: string;
  choices: readonly ListBoxItem[];
  onChoose(id: string): void;
}

/** A list box with type-ahead: arrows or letters move, Enter or a click chooses. */
export function ListBox({ label, choices, onChoose }: Props): ReactElement {
  const [at, setAt] = useState(0);
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: "", when: 0 });
  useEffect(() => ref.current?.focus(), []);
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [id, at]);
  const choose = (place: number) => {
    const choice = choices[place];
    if (choice !== undefined && choice.why === undefined) onChoose(choice.id);
  };
  function key(event: KeyboardEvent) {
    const last = choices.length - 1;
    const places: Record<string, number> = {
      ArrowDown: Math.min(at + 1, last),
      ArrowUp: Math.max(at - 1, 0),
      Home: 0,
      End: last,
    };
    const place = places[event.key];
    if (place !== undefined) setAt(place);
    else if (event.key === "Enter") choose(at);
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
      const now = Date.now();
      typed.current = {
        text: (now - typed.current.when < 800 ? typed.current.text : "") + event.key.toLowerCase(),
        when: now,
      };
      const found = choices.findIndex((choice) =>
        choice.name
          .replace(/^[^\p{L}\p{N}]+/u, "")
          .toLowerCase()
          .startsWith(typed.current.text),
      );
      if (found >= 0) setAt(found);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return (
    <div
      className="choice-list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={`${id}-${at}`}
      ref={ref}
      onKeyDown={key}
    >
      {choices.map((choice, place) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys.
        // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus.
        <div
          key={choice.id}
          id={`${id}-${place}`}
          role="option"
          aria-selected={place === at}
          aria-disabled={choice.why !== undefined}
          onPointerMove={() => setAt(place)}
          onClick={() => choose(place)}
        >
          <span className="mono">{choice.name}</span>
          <span className="soft small">{choice.why ?? choice.detail}</span>
        </div>
      ))}
    </div>
  );
}
