import {
  createContext,
  type KeyboardEvent,
  type ReactElement,
  type Ref,
  useContext,
  useId,
  useRef,
  useState,
} from "react";

/** The tabIndex of widgets: -1 in blocks, since the canvas is one tab stop. */
export const TabIndex = createContext(0);

/** Formats and parses plain text. */
export const asText = { format: (value: string) => value, read: (value: string) => ({ value }) };

/** Formats and parses a list of names; `wrong` gives the error of a name. */
export function asNames(wrong: (name: string) => string | undefined): {
  format(names: readonly string[]): string;
  read(typed: string): ParseResult<readonly string[]>;
} {
  return {
    format: (names) => names.join(", "),
    read: (typed) => {
      const names = typed.split(/[\s,]+/).filter((each) => each !== "");
      const error = names.map(wrong).find((each) => each !== undefined);
      return error === undefined ? { value: names } : { error };
    },
  };
}

export type ParseResult<T> = { value: T } | { error: string };

interface Props<T> {
  label: string;
  value: T;
  format(value: T): string;
  /** Parses the text: a value or an error. */
  read(text: string): ParseResult<T>;
  onChange(value: T): void;
  /** Whether a value is no other one; those with the same text if it is left out. */
  isSame?(one: T, other: T): boolean;
  /** The placeholder. */
  hint?: string;
  className?: string;
  /** The id of a visible label. */
  labelledBy?: string;
  disabled?: boolean;
  size?: number;
  field?: Ref<HTMLInputElement>;
  /** The value after an arrow key up or down. */
  step?(value: T, by: number): T;
}

/** A text field that is validated while typing, and committed on blur or Enter. */
export function ValidatedField<T>(props: Props<T>): ReactElement {
  const { value, format, read, onChange, step } = props;
  const isSame = props.isSame ?? ((one: T, other: T) => format(one) === format(other));
  const [typed, setTyped] = useState<string | null>(null);
  const cancelled = useRef(false);
  const message = useId();
  const tabIndex = useContext(TabIndex);
  const result = typed === null ? null : read(typed);
  const error = result !== null && "error" in result ? result.error : null;

  function commit() {
    if (result !== null && "value" in result && !isSame(result.value, value)) onChange(result.value);
    if (error === null) setTyped(null);
  }
  function key(event: KeyboardEvent<HTMLInputElement>) {
    if (event.key === "Enter") commit();
    else if (event.key === "Escape") {
      // What leaves the field with this key must not commit it.
      cancelled.current = true;
      setTyped(null);
    } else if (step !== undefined && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      const now = result !== null && "value" in result ? result.value : value;
      setTyped(null);
      onChange(step(now, (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1)));
    }
  }
  return (
    <span className={`entry ${props.className ?? ""}`}>
      <input
        ref={props.field}
        className="field"
        type="text"
        tabIndex={tabIndex}
        spellCheck={false}
        autoComplete="off"
        {...(props.labelledBy === undefined
          ? { "aria-label": props.label }
          : { "aria-labelledby": props.labelledBy })}
        aria-invalid={error !== null}
        aria-describedby={error === null ? undefined : message}
        value={typed ?? format(value)}
        placeholder={props.hint}
        disabled={props.disabled}
        size={props.size}
        onChange={(event) => {
          const text = event.target.value;
          cancelled.current = false;
          setTyped(text === format(value) ? null : text);
        }}
        onFocus={(event) => event.target.select()}
        onBlur={() => {
          if (!cancelled.current) commit();
          cancelled.current = false;
          setTyped(null);
        }}
        onKeyDown={key}
      />
      {error !== null && (
        <span className="entry-error" role="alert" id={message}>
          {error}
        </span>
      )}
    </span>
  );
}
