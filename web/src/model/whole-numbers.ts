/** Lists of whole numbers, such as shapes, as people type them. */

const NUMBER = String.raw`[+-]?\d+`;
const UNKNOWN = String.raw`\?|None|null`;
const SEPARATOR = String.raw`(?:\s*[,;x×*]\s*|\s+)`;
const BRACKETS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Parses `1x4x4`, `(1, 4, 4)`, `[1,4,4]`, `1 4 4` and the like; undefined if the text is no such list. With `unknown`
 * an element may be `?` or `None`, which is null.
 */
export function parseWholeNumbers(text: string, unknown = false): (number | null)[] | undefined {
  const inner = withoutBrackets(text.trim());
  if (inner === undefined) return undefined;
  if (inner === "") return [];
  const element = unknown ? `(?:${NUMBER}|${UNKNOWN})` : NUMBER;
  if (!new RegExp(`^${element}(?:${SEPARATOR}${element})*$`, "i").test(inner)) return undefined;
  const numbers = inner
    .split(new RegExp(SEPARATOR, "i"))
    .map((each) => (/\d/.test(each) ? Number(each) : null));
  return numbers.every((each) => each === null || Number.isSafeInteger(each)) ? numbers : undefined;
}

/** The text between brackets, without a comma at its end; the text itself if it has none; undefined if one is missing. */
function withoutBrackets(text: string): string | undefined {
  const close = BRACKETS[text[0] ?? ""];
  if (close !== undefined && !(text.length > 1 && text.endsWith(close))) return undefined;
  const inner = close === undefined ? text : text.slice(1, -1);
  return inner.replace(/,\s*$/, "").trim();
}
