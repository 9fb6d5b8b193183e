import { type CoreStrings, en } from "./en.ts";
import { ko } from "./ko.ts";

export type Language = "en" | "ko";

export const coreStrings: Readonly<Record<Language, CoreStrings>> = { en, ko };

export type { CoreStrings };
