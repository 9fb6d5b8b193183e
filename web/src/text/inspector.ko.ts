import type { InspectorWords } from "./inspector.en.ts";

export const inspectorKo: InspectorWords = {
  mapOf: (pin) => `${pin}의 맵: 화살표로 셀 사이를, Page Up과 Page Down으로 단면 사이를 이동합니다`,
};
