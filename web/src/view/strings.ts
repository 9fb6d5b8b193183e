/** The dictionaries in the language that the user has chosen. */

import { type ExplainStrings, explainEn } from "../text/explain.en.ts";
import { explainKo } from "../text/explain.ko.ts";
import { type CoreStrings, coreStrings } from "../text/index.ts";
import { type InspectorStrings, inspectorEn } from "../text/inspector.en.ts";
import { inspectorKo } from "../text/inspector.ko.ts";
import { type RunsStrings, runsEn } from "../text/runs.en.ts";
import { runsKo } from "../text/runs.ko.ts";
import { type ViewStrings, viewEn } from "../text/view.en.ts";
import { viewKo } from "../text/view.ko.ts";
import { useSettings } from "./settings.ts";

const VIEW = { en: viewEn, ko: viewKo };
const INSPECTOR = { en: inspectorEn, ko: inspectorKo };
const RUNS = { en: runsEn, ko: runsKo };
const EXPLAIN = { en: explainEn, ko: explainKo };

const useLanguage = () => useSettings((settings) => settings.language);

export function useStrings(): ViewStrings {
  return VIEW[useLanguage()];
}

export function useCoreStrings(): CoreStrings {
  return coreStrings[useLanguage()];
}

export function useInspectorStrings(): InspectorStrings {
  return INSPECTOR[useLanguage()];
}

export function useRunsStrings(): RunsStrings {
  return RUNS[useLanguage()];
}

export function useExplainStrings(): ExplainStrings {
  return EXPLAIN[useLanguage()];
}

/** The same outside of React. */
export function strings(): ViewStrings {
  return VIEW[useSettings.getState().language];
}
