import { en, type Texts } from "./en.ts";
import { ko } from "./ko.ts";

export type Language = "en" | "ko";

export const texts: Readonly<Record<Language, Texts>> = { en, ko };

export type { Texts };
