import type { Untidy } from "../model/layout.ts";
import { tidy } from "../model/tidy.ts";

self.onmessage = ({ data }: MessageEvent<Untidy>) => self.postMessage(tidy(data));
