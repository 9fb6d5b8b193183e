import { type Texts, texts } from "../text/index.ts";
import { type ViewWords, viewEn } from "../text/view.en.ts";
import { viewKo } from "../text/view.ko.ts";
import { useSettings } from "./settings.ts";

const ALL = { en: viewEn, ko: viewKo };

/** The words of the language that is chosen. */
export function useWords(): ViewWords {
  return ALL[useSettings((settings) => settings.language)];
}

/** The words of commands, refusals and labels. */
export function useTexts(): Texts {
  return texts[useSettings((settings) => settings.language)];
}

/** The same outside of React. */
export function words(): ViewWords {
  return ALL[useSettings.getState().language];
}
