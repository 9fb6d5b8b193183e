/** How long ago something was, in words of a language. */

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

export function ageText(format: Intl.RelativeTimeFormat, at: Date, now = Date.now()): string {
  const seconds = Math.max(0, (now - at.getTime()) / 1000);
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ["second", 1];
  // Seconds would be wrong as soon as they are read.
  return unit === "second" ? format.format(0, "second") : format.format(-Math.floor(seconds / size), unit);
}
