import { type FormEvent, type ReactElement, useState } from "react";
import { elementCount } from "../../model/indexing.ts";
import type { ImportedArray } from "../../net/generated.ts";
import { currentPage } from "../active-page.ts";
import { type ArraySource, addConstants, uploaded } from "../export/dropped-files.ts";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

interface Props {
  source: ArraySource;
  arrays: readonly ImportedArray[];
}

/** Asks which part of each array of a file is wanted; all of it unless somebody says so. */
export function ImportDialog({ source, arrays }: Props): ReactElement {
  const t = useStrings();
  const [parts, setParts] = useState<Record<string, string>>({});
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  async function take(event: FormEvent) {
    event.preventDefault();
    const page = currentPage();
    if (page === undefined || busy) return;
    setBusy(true);
    const answer = await uploaded(page.page, source, parts);
    setBusy(false);
    if (typeof answer === "string") setFault(answer);
    else {
      ui.closeDialog();
      addConstants(answer, source.at);
    }
  }
  return (
    <Dialog
      title={t.importTitle(source.name)}
      onClose={ui.closeDialog}
      actions={
        <>
          <CloseButton />
          <button type="submit" form="import" className="button main" disabled={busy}>
            {busy ? t.reading(source.name) : t.importTake}
          </button>
        </>
      }
    >
      <form id="import" onSubmit={(event) => void take(event)}>
        <p className="soft">{t.importAbout}</p>
        {arrays.map(({ name, dtype, shape }) => (
          <label key={name} className="import-line">
            <span>
              <strong>{name}</strong> <span className="mono">{`${dtype} [${shape.join(", ")}]`}</span>{" "}
              <span className="soft">{t.importElements(elementCount(shape))}</span>
            </span>
            <input
              className="field mono"
              aria-label={t.importPart(name)}
              placeholder={shape.map(() => ":").join(", ")}
              value={parts[name] ?? ""}
              onChange={(event) => setParts({ ...parts, [name]: event.target.value })}
            />
          </label>
        ))}
        {fault !== "" && (
          <p className="bad small" role="alert">
            {fault}
          </p>
        )}
      </form>
    </Dialog>
  );
}
