import type { ReactElement } from "react";
import { useStrings } from "../strings.ts";

interface Props {
  id: string;
  typed: string;
  /** The path that was typed; undefined if it is invalid. */
  path: string | undefined;
  /** The error of the path. */
  fault?: string | undefined;
  onType(typed: string): void;
}

/** The field for the path of a page file. The extension is optional. */
export function PathField({ id, typed, path, fault, onType }: Props): ReactElement {
  const t = useStrings();
  const wrong = path === undefined ? t.pathRule : fault;
  return (
    <>
      <label htmlFor={id}>{t.pathInFolder}</label>
      <input
        id={id}
        className="field mono"
        value={typed}
        // biome-ignore lint/a11y/noAutofocus: the dialog is opened to type here.
        autoFocus
        aria-invalid={wrong !== undefined}
        onFocus={(event) => event.target.select()}
        onChange={(event) => onType(event.target.value)}
      />
      {wrong !== undefined ? (
        <p className="bad small">{wrong}</p>
      ) : (
        path !== typed && <p className="soft small mono">{path}</p>
      )}
    </>
  );
}
