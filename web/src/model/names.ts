/** Names of blocks and other items on a page, and paths of pages. */

/** As pages require; and not digits alone, which JavaScript would order before all other keys. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*(\/[A-Za-z0-9][A-Za-z0-9_.-]*)*$/;

export type NameError = "form" | "digits" | "taken";

/** The error of a name; undefined if it is valid and free. */
export function nameError(name: string, taken: Readonly<Record<string, unknown>>): NameError | undefined {
  if (!NAME.test(name)) return "form";
  if (/^\d+$/.test(name)) return "digits";
  return Object.hasOwn(taken, name) ? "taken" : undefined;
}

/** The name, or the name with the first number that makes it free. */
export function uniqueName(wanted: string, taken: (name: string) => boolean): string {
  if (!taken(wanted) && !/^\d+$/.test(wanted)) return wanted;
  const [, stem, number] = /^(.*?)(?:_(\d+))?$/.exec(wanted) as unknown as [
    string,
    string,
    string | undefined,
  ];
  for (let next = number === undefined ? 2 : Number(number) + 1; ; next++) {
    const name = `${stem}_${next}`;
    if (!taken(name)) return name;
  }
}

/** The path of a page below the folder, with its extension; undefined if it is invalid. */
export function pagePath(typed: string): string | undefined {
  const stem = typed.trim().replace(/(\.page)?(\.json)?$/, "");
  const wrong = stem.includes("\\") || stem.split("/").some((part) => /^\.{0,2}$/.test(part));
  return wrong ? undefined : `${stem}.page.json`;
}
