import { dagreLayout } from "../model/dagre-layout.ts";
import type { LayoutInput } from "../model/layout.ts";

self.onmessage = ({ data }: MessageEvent<LayoutInput>) => self.postMessage(dagreLayout(data));
