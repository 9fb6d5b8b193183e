/** The words of the Explain view in Korean. */

import type { ExplainWords } from "./explain.en.ts";

const number = new Intl.NumberFormat("ko");

function cells(many: number): string {
  return `셀 ${number.format(many)}개`;
}

export const explainKo: ExplainWords = {
  title: (block) => `${block} 설명`,
  close: "페이지로 돌아가기",
  stepBack: "한 칸 뒤로",
  step: "한 칸 앞으로",
  play: "재생",
  pause: "일시 정지",
  pinned: "고정됨",
  oneRange: "줄마다 같은 색 범위",
  legend: { label: "표시의 뜻", from: "나온 곳", feeds: "가는 곳", winner: "이김", tie: "동점" },
  keys: "화살표로 이동, Enter로 고정, Escape로 해제, S로 한 칸씩, P로 재생",
  loading: "마지막 실행 결과를 살펴보는 중…",
  run: "실행",
  noWays: (op) => `${op}은(는) 어떤 셀들이 서로 이어지는지 알려 주지 않습니다.`,
  forward: "순방향",
  gradient: "기울기",
  secondGradient: "2차 기울기",
  addGradient: (block, input) => `${input}에 대한 ${block}의 기울기 추가`,
  noGradient: (op) => `${op}에는 블록 하나로 된 기울기가 없습니다.`,
  input: "입력",
  output: "출력",
  asVolume: "3차원",
  asMap: "지도",
  axes: "축",
  notHeld: (count) => `이 텐서에는 ${cells(count)}가 있습니다. 셀 뒤의 숫자는 고정할 때 가져옵니다.`,
  pointAt: "셀을 가리키거나 Tab과 화살표 키로 이동하세요.",

  rules: {
    sum: (from) => `${from}의 합`,
    mean: (from) => `${from}의 평균`,
    shares: (from) => `${from}에서 나눠 받은 몫의 합`,
    product: (from) => `${from}의 곱`,
    max: (from) => `${from}의 최댓값`,
    min: (from) => `${from}의 최솟값`,
    argmax: (from) => `${from}에서 최댓값의 위치`,
    argmin: (from) => `${from}에서 최솟값의 위치`,
    winners: (from) => `${from} 가운데 이 셀이 이긴 것`,
    "winner's": (from) => `${from}에서 이긴 셀이 가진 값`,
    close: (from) => `${from}에서 최댓값과 같은 것들의 합`,
    copy: (from) => `${from}의 복사`,
    apply: (from) => `${from}(으)로 만든 값`,
  },
  times: (regions) => regions.join(" × "),
  and: (regions) => regions.join(", "),
  nothing: "이어지는 셀이 없음",
  at: (cell) => `, 위치 ${cell}`,
  ties: (count) => `, 같은 값이 ${cells(count)} 더 있음`,
  feeds: (region) => `${region}(으)로 이어짐`,
  wins: (count, of) =>
    of === 0
      ? ""
      : count === 0
        ? ", 이긴 곳 없음"
        : `, ${number.format(of)}곳 중 ${number.format(count)}곳에서 이김`,
  unknown: "모름",

  contributions: "어디에서 왔는가",
  gradientOf: (pin) => `이 셀의 기울기, ${pin}`,
  leadsTo: "어디로 이어지는가",
  cell: "셀",
  product: "곱",
  share: "몫",
  sum: "누적 합",
  best: "지금까지 최선",
  running: "지금까지",
  adds: "더하는 값",
  counts: { wins: "이김", ties: "동점", loses: "", counts: "" },
  gives: "결과",
  more: (count) => `외 ${number.format(count)}개`,
  total: "합계",
  divided: (count) => `÷ ${number.format(count)}`,
  shown: "표시된 값",
  equal: "합계가 표시된 값과 같습니다.",
  unequal: (by) => `합계가 표시된 값과 ${by}만큼 다릅니다.`,
  onlyTheOp: "이 셀들로 무엇이 되는지는 연산만이 압니다.",
  clipped: (outside, window) =>
    `창의 셀 ${number.format(window)}개 가운데 ${number.format(outside)}개는 텐서 밖에 있어 세지 않습니다.`,
  divisor: (count) => `평균은 실제로 있는 ${cells(count)}로 냅니다.`,
  firstOfTies: (count) => `${cells(count)}의 크기가 같습니다. 행 우선 순서로 첫째를 택합니다.`,
  allOfTies: (count) => `${cells(count)}가 0.00001 이내로 최댓값과 같습니다. 저마다 기울기 전부를 받습니다.`,
  cutShort: (count) => `여기서 더하기에는 너무 많습니다. 처음 ${number.format(count)}개입니다.`,
  differences: "TensorFlow와 다른 점",

  check: "유한 차분으로 확인",
  checking: "확인하는 중…",
  checked: (given, slope) => `기울기 ${given}, 경사 ${slope}`,
  agree: "서로 맞습니다.",
  disagree: "서로 맞지 않습니다.",
  notValid: "여기에는 견줄 경사가 없습니다.",
};
