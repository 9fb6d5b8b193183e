/** Names of blocks and other things on a page, and of pages. */

/** As pages.build says; and not digits alone, which JavaScript would put before all other keys. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*(\/[A-Za-z0-9][A-Za-z0-9_.-]*)*$/;

export type NameError = "form" | "digits" | "taken";

/** What is wrong with a name; nothing if it can be used. */
export function nameError(name: string, taken: Readonly<Record<string, unknown>>): NameError | undefined {
  if (!NAME.test(name)) return "form";
  if (/^\d+$/.test(name)) return "digits";
  return Object.hasOwn(taken, name) ? "taken" : undefined;
}

/** The name itself if it can be used, or with the first number behind it that makes it so. */
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

/** The path of a page below the folder, with its ending if that was left out; nothing if there can be no such page. */
export function pagePath(typed: string): string | undefined {
  const stem = typed.trim().replace(/(\.page)?(\.json)?$/, "");
  const wrong = stem.includes("\\") || stem.split("/").some((part) => /^\.{0,2}$/.test(part));
  return wrong ? undefined : `${stem}.page.json`;
}
