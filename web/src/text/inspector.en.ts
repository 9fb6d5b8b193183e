/** The words of the inspector in English. The other dictionaries have the same keys, or the type check fails. */

export const inspectorEn = {
  mapOf: (pin: string) =>
    `Map of ${pin}: arrows move from cell to cell, Page Up and Page Down from slice to slice`,
};

export type InspectorWords = typeof inspectorEn;
