/** Korean: running, and the runs of a page. */

import type { RunsStrings } from "./runs.en.ts";

const number = new Intl.NumberFormat("ko");
const moment = new Intl.DateTimeFormat("ko", { timeStyle: "medium" });

export const runsKo: RunsStrings = {
  runs: "실행 기록",
  runLabels: {
    once: "한 번 실행",
    steps: (steps) => `${number.format(steps)}스텝 실행`,
    until: (output) => `${output}까지 실행`,
  },
  blocksRan: (ran, of, problems) =>
    `블록 ${number.format(of)}개 중 ${number.format(ran)}개 실행, 문제 ${number.format(problems)}개`,
  none: "아직 실행하지 않았습니다. 페이지를 실행하면 여기에 기록됩니다.",
  kept: "실행 기록은 페이지가 열려 있는 동안, 변수와 스냅샷은 프로세스가 끝날 때까지 유지됩니다.",
  dropped: (many, most) =>
    `오래된 실행 ${number.format(many)}개를 지웠습니다. 최대 ${number.format(most)}개와 스냅샷이 있는 실행만 유지합니다.`,
  snapshotCount: (many, most, bytes) =>
    `스냅샷 ${number.format(many)}/${number.format(most)}개${many ? `, ${bytes}` : ""}`,
  run: "실행",
  runNumber: (run) => `실행 ${number.format(run)}`,
  settings: "설정",
  modes: {
    once: "한 번",
    steps: (steps) => `${number.format(steps)}스텝`,
    until: (output) => `${output}까지`,
    free: "계속",
  },
  to: (names) => `${names}까지`,
  seed: (seed) => `시드 ${seed}`,
  automatic: "변경 후 자동",
  edited: "도중에 편집됨",
  started: "시작",
  time: (date) => moment.format(date),
  duration: "시간",
  end: "결과",
  ends: { "": "실행 중", done: "완료", incomplete: "일부만 실행", failed: "실패", stopped: "취소됨" },
  stepsDone: "스텝",
  fromTo: (first, last) => `${number.format(first)}~${number.format(last)}`,
  lastValue: "마지막 값",
  memory: "메모리",
  inTrends: "추세에 표시",
  showInTrends: (run) => `실행 ${run}의 곡선을 추세에 표시`,
  compareAs: { a: (run) => `실행 ${run}을 A로 비교`, b: (run) => `실행 ${run}을 B로 비교` },
  snapshot: "스냅샷",
  snapshotAt: (step, bytes) => `${number.format(step)}스텝, ${bytes}`,
  restore: "복원",
  restoreRun: (run) => `실행 ${run}의 변수 복원`,
  deleteSnapshot: (run) => `실행 ${run}의 스냅샷 삭제`,
  blocksOf: (run) => `실행 ${run}의 블록`,
  timedIn: (steps) => `시간을 잰 ${number.format(steps)}스텝의 평균입니다.`,
  costs: { block: "블록", seconds: "스텝당 시간", bytes: "메모리" },
  share: "비율",
  flame: (name, time, share) => `${name}: ${time}, ${share}`,
  moreBlocks: (many) => `외 ${number.format(many)}개`,
  noBlocks: "블록에 대해 알려진 것이 없습니다.",
  compared: (a, b) => `실행 ${a}과 실행 ${b}`,
  endComparison: "비교 끝내기",
  changes: "페이지의 변경",
  noChanges: "페이지가 같습니다.",
  curves: "곡선",
  noCurves: "두 실행의 곡선이 모두 있는 추세가 없습니다.",
  weights: "변수",
  compareVariable: (pin) => `인스펙터에서 ${pin} 비교`,
  noWeights: (runs) => `스냅샷이 없습니다: ${runs}. 변수를 비교하려면 실행한 뒤 스냅샷을 만드세요.`,
  noVariables: "페이지에 변수가 없습니다.",
};
