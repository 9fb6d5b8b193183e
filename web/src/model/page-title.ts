/** Titles of pages, made from what is on them where they have none. */

import { localizedText, type PageDocument } from "./document.ts";

const MAX_OPS = 3;
const MAX_LENGTH = 60;

/** Ops that most pages have, and that say little about one. */
const COMMON = new Set(["Const", "Placeholder", "VariableV2"]);

/** The title of a page, or the ops of its blocks, or the first line of its first note; empty if it has nothing. */
export function pageTitle(document: PageDocument, language: string): string {
  const { title, titles, blocks = {}, notes = {} } = document;
  return localizedText(language, title, titles) || opsText(blocks) || noteText(notes, language);
}

function opsText(blocks: NonNullable<PageDocument["blocks"]>): string {
  const ops = [...new Set(Object.values(blocks).map(({ op }) => op ?? ""))].filter((op) => op !== "");
  const telling = ops.filter((op) => !COMMON.has(op));
  const shown = telling.length > 0 ? telling : ops;
  const more = shown.length - MAX_OPS;
  return [...shown.slice(0, MAX_OPS), ...(more > 0 ? [`+${more}`] : [])].join(", ");
}

function noteText(notes: NonNullable<PageDocument["notes"]>, language: string): string {
  const [note] = Object.values(notes);
  const text = note === undefined ? "" : localizedText(language, note.text, note.texts);
  const [line = ""] = text.replace(/^[#>*\s]+/, "").split("\n");
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}
