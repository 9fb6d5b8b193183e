import { type InspectorWords, inspectorEn } from "../../text/inspector.en.ts";
import { inspectorKo } from "../../text/inspector.ko.ts";
import { useSettings } from "../settings.ts";

const ALL = { en: inspectorEn, ko: inspectorKo };

export function useInspectorWords(): InspectorWords {
  return ALL[useSettings((settings) => settings.language)];
}
