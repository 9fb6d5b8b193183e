import { type ExplainWords, explainEn } from "../../text/explain.en.ts";
import { explainKo } from "../../text/explain.ko.ts";
import { useSettings } from "../settings.ts";

const ALL = { en: explainEn, ko: explainKo };

export function useExplainWords(): ExplainWords {
  return ALL[useSettings((settings) => settings.language)];
}
